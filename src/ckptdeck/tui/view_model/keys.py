"""The footer and the help page, made from the registry."""

from __future__ import annotations

from collections.abc import Iterable

from ckptdeck.tui.actions import Action, Place, offered, refused
from ckptdeck.tui.view_model.glyphs import FLIGHTS, STATES
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, fit, line, pad, spread, width_of, wrap
from ckptdeck.tui.view_model.view import Lock


def footer_line(place: Place, lock: Lock, width: int) -> Line:
    """As many keys as fit, in the registry's order; those of the lowest rank go first, `?` and `q` never."""
    actions = [action for action in offered(place, lock) if action.rank]
    for kept in range(len(actions), 0, -1):
        ranks = sorted(action.rank for action in actions)[:kept]
        shown = _ends_last(action for action in actions if action.rank in ranks)
        pieces = tuple(piece for action in shown for piece in _key(action, lock))
        if width_of(pieces) <= width:
            return fit(pieces, width)
    return BLANK


def planning_line(label: str, width: int) -> Line:
    """In place of the footer while a plan is being made."""
    keys = line(Piece(" esc ", Ink.KEY, "app.give_up"), Piece("Give up ", Ink.PLAIN, "app.give_up"))
    return spread(line(Piece(f" planning {label} …", Ink.BUSY)), keys, width)


def _ends_last(actions: Iterable[Action]) -> list[Action]:
    """Help and the way out at the right end, where hands look for them."""
    return sorted(actions, key=lambda action: -min(action.rank, 3))


def _key(action: Action, lock: Lock) -> Line:
    key = action.shown.split()[0]
    label = "Lock" if action.id == "unlock" and lock is Lock.UNLOCKED else action.label
    off = bool(refused(action, lock))
    call = f"screen.{action.id}" if Place.EVERYWHERE not in action.places else f"app.{action.id}"
    return (
        Piece(f" {key} ", Ink.OFF if off else Ink.KEY, call),
        Piece(f"{label} ", Ink.OFF if off else Ink.PLAIN, call),
    )


def help_lines(place: Place, lock: Lock, width: int) -> tuple[Line, ...]:
    """All keys, those of the screen one came from first; then what the glyphs mean."""
    lines: list[Line] = []
    places = [place, *(other for other in (Place.LIST, Place.EVERYWHERE) if other is not place)]
    for section in places:
        actions = [action for action in offered(section, lock) if section in action.places]
        lines += [line(Piece(str(section), Ink.STRONG)), *_keys(actions, lock, width), BLANK]
    lines += [line(Piece("States", Ink.STRONG))]
    marks = [mark for mark in (*STATES.values(), *FLIGHTS.values()) if mark.meaning]
    for mark in marks:
        head = line(Piece(f"  {mark.glyph} {pad(mark.word, 14)}", mark.ink))
        lines += _hanging(head, mark.meaning, width)
    lines += [BLANK, *wrap(line(Piece(_MOUSE, Ink.MUTED)), width)]
    return tuple(lines)


_MOUSE = (
    "Text selection: hold shift while dragging, or start with --no-mouse. Copying goes through the terminal (OSC 52)."
)


def _keys(actions: Iterable[Action], lock: Lock, width: int) -> list[Line]:
    lines: list[Line] = []
    for action in actions:
        off = bool(refused(action, lock))
        head = line(Piece(f"  {pad(action.shown, 9)}", Ink.OFF if off else Ink.KEY))
        lines += _hanging(head, action.help + (" (locked)" if off else ""), width)
    return lines


def _hanging(head: Line, text: str, width: int) -> list[Line]:
    column = width_of(head)
    first, *rest = wrap(line(text), max(10, width - column))
    return [(*head, *first), *((Piece(" " * column), *part) for part in rest)]
