"""The keys in force, as sentences, footer, help and palette name them."""

from __future__ import annotations

import re

from ckptdeck.tui.actions import BY_ID, Action, Place, hidden, refused
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_names import shown_key
from ckptdeck.tui.view_model.view import Lock

_SHARED = (Place.EVERYWHERE, Place.LIST)


def binding_id(action: Action, place: Place) -> str:
    """What Textual, and the operator's file, call the keys of an action at a place it is at home."""
    return f"{place.name.lower()}.{action.id}"


def keys_of(keys: KeyMap, action: Action, place: Place) -> tuple[str, ...]:
    """The keys of an action at a place it is at home, by Textual's names."""
    return keys.rebound.get(binding_id(action, place), action.keys)


def shown_keys(keys: KeyMap, action: Action, place: Place) -> str:
    """All keys of an action, as a person at `place` reads them."""
    own = keys.rebound.get(binding_id(action, _home(action, place)))
    return action.shown if own is None else " ".join(map(shown_key, own))


def key_word(keys: KeyMap, place: Place, *actions: str) -> str:
    """The first key of the first of the actions that is at home at `place`, or everywhere, or else of the first."""
    known = [BY_ID[action] for action in actions]
    action = next((one for one in known if {place, *_SHARED} & set(one.places)), known[0])
    return shown_keys(keys, action, place).split()[0]


def _home(action: Action, place: Place) -> Place:
    return next((home for home in (place, *_SHARED) if home in action.places), action.places[0])


def with_keys(text: str, keys: KeyMap, place: Place) -> str:
    """`text` with `{action}`, or `{action|action}` for what has another name at another place, turned into keys."""
    return re.sub(r"\{([a-z_|]+)\}", lambda found: key_word(keys, place, *found[1].split("|")), text)


def refusal(action: Action, lock: Lock, keys: KeyMap) -> str:
    """Why the action cannot be used now, "" when it can."""
    if hidden(action, lock):
        return f"READ-ONLY: there is no {action.label} here. Start the console without --read-only to change files."
    if refused(action, lock):
        unlock = key_word(keys, Place.EVERYWHERE, "unlock")
        return (
            f"LOCKED, look only: {action.label} would change files. Press {unlock} to unlock;"
            " every plan is still shown first."
        )
    return ""
