"""The footer and the help page, made from the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich.cells import cell_len

from ckptdeck.tui.actions import Action, Group, Place, offered, refused
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word, shown_keys, with_keys
from ckptdeck.tui.view_model.glyphs import FLIGHTS, STATES, VERDICTS, Mark
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, fit, line, pad, spread, width_of, wrap
from ckptdeck.tui.view_model.view import Lock

_COLUMN = 9
"""Cells of the keys in the help page; an action with more of them moves its own line."""


def footer_line(place: Place, lock: Lock, width: int, keys: KeyMap, wanted: Sequence[str] = ()) -> Line:
    """As many keys as fit, always in the same order; those of the lowest rank go first, `?` and `q` never.

    What is under the cursor asks for the `wanted` actions: they stay longest.
    """
    actions = [action for action in offered(place, lock) if action.rank or action.id in wanted]
    by_need = sorted(actions, key=lambda action: _need(action, wanted))
    for kept in range(len(by_need), 0, -1):
        pieces = _hints([action for action in actions if action in by_need[:kept]], place, lock, keys)
        if width_of(pieces) <= width:
            return fit(pieces, width)
    return BLANK


def _need(action: Action, wanted: Sequence[str]) -> tuple[float, int]:
    """Help and the way out come first, then what the row asks for, then the rest by rank."""
    if action.id in wanted:
        return (2.5, wanted.index(action.id))
    return (action.rank or 99, 0)


def _hints(actions: Sequence[Action], place: Place, lock: Lock, keys: KeyMap) -> Line:
    """The three groups from left to right, with a rule between them."""
    groups = [[action for action in actions if action.group is group] for group in Group]
    pieces: list[Piece] = []
    for group in filter(None, groups):
        pieces += [Piece("│", Ink.OFF)] if pieces else []
        pieces += [piece for action in _ends_last(group) for piece in _key(action, place, lock, keys)]
    return tuple(pieces)


def _ends_last(actions: Iterable[Action]) -> list[Action]:
    """Help and the way out at the right end, where hands look for them."""
    return sorted(actions, key=lambda action: -min(action.rank or 9, 3))


def planning_line(label: str, width: int, keys: KeyMap) -> Line:
    """In place of the footer while a plan is being made."""
    key = Piece(f" {key_word(keys, Place.PLANNING, 'give_up')} ", Ink.KEY, "app.give_up")
    way_out = line(key, Piece("Give up ", Ink.PLAIN, "app.give_up"))
    return spread(line(Piece(f" planning {label} …", Ink.BUSY)), way_out, width)


def _key(action: Action, place: Place, lock: Lock, keys: KeyMap) -> Line:
    key = key_word(keys, place, action.id)
    label = "Lock" if action.id == "unlock" and lock is Lock.UNLOCKED else action.label
    off = refused(action, lock)
    call = f"screen.{action.id}" if Place.EVERYWHERE not in action.places else f"app.{action.id}"
    return (
        Piece(f" {key} ", Ink.OFF if off else Ink.KEY, call),
        Piece(f"{label} ", Ink.OFF if off else Ink.PLAIN, call),
    )


def help_lines(place: Place, lock: Lock, width: int, keys: KeyMap) -> tuple[Line, ...]:
    """All keys, those of the screen one came from first; then what the glyphs and the verdicts mean."""
    lines: list[Line] = []
    places = [place, *(other for other in (Place.LIST, Place.EVERYWHERE) if other is not place)]
    for section in places:
        actions = [action for action in offered(section, lock) if section in action.places]
        lines += [line(Piece(str(section), Ink.STRONG)), *_keys(actions, section, lock, width, keys), BLANK]
    lines += [line(Piece("States of a copy", Ink.STRONG))]
    told = partial(with_keys, keys=keys, place=place)
    lines += _meanings((*STATES.values(), *FLIGHTS.values()), told, width)
    lines += [BLANK, line(Piece("Verdicts over both sides", Ink.STRONG)), *_meanings(VERDICTS.values(), told, width)]
    lines += [BLANK, *wrap(line(Piece(_MOUSE, Ink.MUTED)), width)]
    return tuple(lines)


def _meanings(marks: Iterable[Mark], told: Callable[[str], str], width: int) -> list[Line]:
    lines: list[Line] = []
    for mark in marks:
        head = line(Piece(f"  {mark.glyph or ' '} {pad(mark.word, 14)}", mark.ink))
        lines += _hanging(head, line(told(mark.meaning)), width)
    return lines


_MOUSE = (
    "Text selection: hold shift while dragging, or start with --no-mouse. Copying goes through the terminal (OSC 52)."
)


def _keys(actions: Iterable[Action], place: Place, lock: Lock, width: int, keys: KeyMap) -> list[Line]:
    lines: list[Line] = []
    for action in actions:
        off = refused(action, lock)
        shown = shown_keys(keys, action, place)
        column = pad(shown, max(_COLUMN, cell_len(shown) + 1))
        head = line(Piece(f"  {column}", Ink.OFF if off else Ink.KEY))
        twin = Piece(f"  ckptdeck {action.command}" if action.command else "", Ink.MUTED)
        lines += _hanging(head, line(action.help + (" (locked)" if off else ""), twin), width)
    return lines


def _hanging(head: Line, text: Line, width: int) -> list[Line]:
    column = width_of(head)
    first, *rest = wrap(text, max(10, width - column))
    return [(*head, *first), *((Piece(" " * column), *part) for part in rest)]
