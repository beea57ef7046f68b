"""The keys of an operator's file, checked against the registry before any screen opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_letters, digits

from ckptdeck.core.errors import UsageError
from ckptdeck.core.safe_text import visible
from ckptdeck.tui.actions import BY_ID, REGISTRY, Action, Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_names import key_name, shown_key, types_text
from ckptdeck.tui.key_words import binding_id, keys_of

_WITHOUT_LIST = (Place.SPACE, Place.DETAIL, Place.STORY)
_WITH_LIST = (
    Place.OVERVIEW, Place.IN_FLIGHT, Place.JOBS, Place.QUARANTINE, Place.RECOVERY, Place.ACTIVITY,
)  # fmt: skip
MEETINGS: tuple[tuple[Place, ...], ...] = (
    *((place, Place.LIST, Place.EVERYWHERE) for place in _WITH_LIST),
    *((place, Place.EVERYWHERE) for place in _WITHOUT_LIST),
    *((place, Place.DIALOG) for place in (Place.REVIEW, Place.QUIT, Place.HELP)),
)
"""Places whose keys are in force at the same time."""

_CANCEL = {"enter": "enter presses the button that changes nothing"}
_TAKEN: Mapping[Place, Mapping[str, str]] = {
    Place.REVIEW: {
        **_CANCEL,
        **dict.fromkeys(
            (*digits, "backspace", "delete"), "a review takes a number with the digits, backspace and delete"
        ),
    },
    Place.QUIT: _CANCEL,
}
"""Keys that a dialog keeps for itself, and what for."""
_WAYS_OUT = ("clear", "back", "close")
"""What may share its key with giving up a plan, which comes first while one is made."""


class _Misfit(Exception):
    """What is wrong with the entry for a binding, and what to write instead."""

    def __init__(self, binding: str, what: str, next_step: str) -> None:
        super().__init__(what)
        self.binding, self.what, self.next_step = binding, what, next_step


def key_map_of(written: Mapping[str, tuple[str, ...]], path: str) -> KeyMap:
    """The keys `written` in the file at `path`: `place.action`, or `action` for every place it is at home, → keys.

    Raises UsageError, naming file and entry, for an action or a key that there is not, for a key that would mean two
    things where it is pressed, and for one by which a question could be answered before it is read.
    """
    rebound: dict[str, tuple[str, ...]] = {}
    entries: dict[str, str] = {}
    try:
        for entry in sorted(written, key=lambda entry: "." in entry):  # one place says more than all of them
            names = _names_of(entry, written[entry])
            for binding in _bindings_of(entry):
                rebound[binding], entries[binding] = names, entry
        keys = KeyMap(rebound)
        if rebound:
            _check(keys)
    except _Misfit as wrong:
        entry = entries.get(wrong.binding, wrong.binding)
        raise UsageError(f"{visible(path)}: keys.{visible(entry)}: {wrong.what}", next_step=wrong.next_step) from None
    return keys


def _names_of(entry: str, written: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(key_name(key) for key in written))
    except ValueError as error:
        raise _Misfit(entry, str(error), "Choose another key") from error


def _bindings_of(entry: str) -> list[str]:
    """Ids of the bindings that an entry is about."""
    where, dot, name = entry.rpartition(".")
    places = {place.name.lower(): place for place in Place}
    if dot and where not in places:
        raise _Misfit(entry, f"there is no place {visible(where)}", f"Places are {', '.join(places)}")
    here = [action for action in REGISTRY if not dot or places[where] in action.places]
    action = next((one for one in here if one.id == name), None)
    if action is None and name in BY_ID:
        homes = " or ".join(f"{place.name.lower()}.{name}" for place in BY_ID[name].places)
        raise _Misfit(
            entry, f"{name} is no action of {where}", f"Write {homes}, or {name} for everywhere it is at home"
        )
    if action is None:
        allowed = f"Actions{f' of {where}' if dot else ''} are {', '.join(one.id for one in here)}"
        raise _Misfit(entry, f"there is no action {visible(name)}", allowed)
    return [binding_id(action, places[where])] if dot else [binding_id(action, place) for place in action.places]


def _check(keys: KeyMap) -> None:
    for places in MEETINGS:
        _check_meeting(keys, places)
    _check_giving_up(keys)
    _check_answers(keys)


def _bound(keys: KeyMap, *places: Place) -> Iterator[tuple[str, Action, str]]:
    """(key, action, binding) of all that is at home at the places; what was rebound comes last, so that it is what
    does not fit."""
    found = [
        (action, binding_id(action, place), place) for place in places for action in REGISTRY if place in action.places
    ]
    for action, binding, place in sorted(found, key=lambda one: one[1] in keys.rebound):
        for key in keys_of(keys, action, place):
            yield key, action, binding


def _check_meeting(keys: KeyMap, places: tuple[Place, ...]) -> None:
    """No key may mean two things, or what a dialog keeps for itself."""
    holders: dict[str, str] = {}
    for key, _, binding in _bound(keys, *places):
        taken = _TAKEN.get(places[0], {}).get(key)
        if taken is not None:
            raise _Misfit(binding, f"{shown_key(key)} is not free here: {taken}", _free(keys, places))
        holder = holders.setdefault(key, binding)
        if holder != binding:
            what = f"{shown_key(key)} is the key of {holder} already, and both are in force at the same time"
            raise _Misfit(
                binding, what, f"Give {holder} another key too, or choose another here. {_free(keys, places)}"
            )


def _free(keys: KeyMap, places: tuple[Place, ...]) -> str:
    used = {key for key, _, _ in _bound(keys, *places)} | set(keys_of(keys, BY_ID["confirm"], Place.REVIEW))
    return f"Letters that are free: {' '.join(letter for letter in ascii_letters if letter not in used)}"


def _check_giving_up(keys: KeyMap) -> None:
    """It comes before everything else, also before a line that is being typed."""
    screens = (*_WITH_LIST, *_WITHOUT_LIST, Place.LIST, Place.EVERYWHERE)
    holders = {key: binding for key, action, binding in _bound(keys, *screens) if action.id not in _WAYS_OUT}
    for key, _, binding in _bound(keys, Place.PLANNING):
        if types_text(key):
            what = f"{shown_key(key)} writes into a line that is being typed, before which this key comes"
            raise _Misfit(binding, what, "Choose a key that writes nothing, such as escape, f9 or ctrl+g")
        if key in holders:
            blamed = binding if binding in keys.rebound else holders[key]
            what = f"{shown_key(key)} would be the key of both {holders[key]} and {binding}, which comes first"
            raise _Misfit(blamed, what, "Choose another key")


def _check_answers(keys: KeyMap) -> None:
    """The key that says yes is none that asks: whoever presses one twice has read nothing."""
    bound = list(_bound(keys, *Place))
    for answer, asks in (("confirm", {one.id for one in REGISTRY if one.plan}), ("stop_and_quit", {"leave"})):
        asking = {key: binding for key, action, binding in bound if action.id in asks}
        for key, action, binding in bound:
            if action.id == answer and key in asking:
                what = f"{shown_key(key)} would both ask, as {asking[key]}, and say yes, as {binding}"
                blamed = binding if binding in keys.rebound else asking[key]
                raise _Misfit(blamed, what, "Choose another key for one of them")
