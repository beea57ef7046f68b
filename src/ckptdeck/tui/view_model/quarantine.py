"""What is set aside: one line each, the story of one, and what all of it costs."""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Quarantined
from ckptdeck.core.states import NOT_THERE, Kind, Role
from ckptdeck.core.survey import Survey
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import CURSOR, STATES
from ckptdeck.tui.view_model.line import Ink, Line, Piece, brief, line, pad, spread, width_of, wrap
from ckptdeck.tui.view_model.view import View

Found = tuple[Role, Quarantined]

_WITH_REASON = 72
"""Terminals with fewer columns tell the reason under the list only."""
_WITH_SIDE = 48
"""Terminals with fewer columns give a side its first letter."""


def set_aside(survey: Survey) -> tuple[Found, ...]:
    """Everything in quarantine on both sides, newest first."""
    found = [(side.role, one) for side in survey.sides for one in side.inventory.quarantine]
    return tuple(sorted(found, key=lambda pair: -pair[1].at))


def quarantine_lead(view: View, width: int) -> tuple[Line, ...]:
    """How much lies there, and that it still fills the disk."""
    found = () if view.survey is None else set_aside(view.survey)
    if not found:
        return ()
    per_side = [
        f"{measures.size(sum(one.size for role, one in found if role is side))} on the {side}"
        for side in Role
        if any(role is side for role, _ in found)
    ]
    words = f" {counted(len(found), 'artifact')}: {', '.join(per_side)}. "
    whole = line(Piece(words, Ink.STRONG), "Setting aside is a rename: nothing is freed until it is purged.")
    return wrap(whole, width - 1, indent=" ")


def quarantine_head(width: int) -> Line:
    side = "side" if width >= _WITH_SIDE else ""
    left = line("   ", Piece(f"{pad(side, _side_cells(width))}{pad('name', _name_cells(width))}", Ink.MUTED))
    if width >= _WITH_REASON:
        left = (*left, Piece("  why", Ink.MUTED))
    return spread(left, line(Piece("  size  since", Ink.MUTED), " "), width)


def quarantine_line(role: Role, one: Quarantined, view: View, width: int, *, cursor: bool) -> Line:
    """Side, name, why where there is room, size, and how long it has been there."""
    name = visible(one.name) + ("/" if one.kind is Kind.DIRECTORY else "")
    side = str(role) if width >= _WITH_SIDE else role[0].upper()
    left = line(Piece(CURSOR if cursor else " ", Ink.ACCENT), "  ", Piece(pad(side, _side_cells(width)), Ink.MUTED))
    left = (*left, Piece(pad(name, _name_cells(width)), Ink.STRONG))
    age = measures.since(view.now, one.at)
    right = line(pad(measures.size(one.size), 6, right=True), Piece(pad(age, 7, right=True), Ink.MUTED), " ")
    room = width - width_of(left) - width_of(right) - 3
    if width >= _WITH_REASON and room > 0:
        left = (*left, Piece("  "), Piece(pad(brief(visible(one.reason), room), room)))
    return spread(left, right, width, gap=1)


def _side_cells(width: int) -> int:
    return 9 if width >= _WITH_SIDE else 2


def _name_cells(width: int) -> int:
    if width >= _WITH_REASON:
        return max(14, min(28, width // 4))
    return max(6, width - _side_cells(width) - 19)


def quarantine_detail(found: Found | None, view: View, width: int) -> tuple[Line, ...]:
    """Why it was set aside, since when, and what has its name now: what one must know to purge it or put it back."""
    if found is None:
        return ()
    role, one = found
    moment = f"since {measures.moment(one.at, view.zone)}, {measures.size(one.size)}"
    lines = [
        line(Piece(f" {visible(one.name)}", Ink.STRONG), f" of the {role}  ", Piece(moment, Ink.MUTED)),
        line(f" {visible(one.reason)}"),
        line(Piece(" now  ", Ink.MUTED), *_name_now(one, view)),
        line(Piece(f" id   {visible(one.id)}", Ink.MUTED)),
    ]
    return tuple(part for whole in lines for part in wrap(whole, width - 1, indent="   "))


def _name_now(one: Quarantined, view: View) -> Line:
    """The evidence that counts today: whether a whole copy of the same name is there."""
    if not one.named:
        return line(Piece("its note is lost, so nobody knows its name; only its id", Ink.WARN))
    pieces: list[Piece] = []
    for side in () if view.survey is None else view.survey.sides:
        there = side.find(one.name)
        pieces.append(Piece(f"{'; ' if pieces else ''}{side.role} "))
        if there is None or there.state in NOT_THERE:
            pieces.append(Piece("has none of its name", Ink.WARN))
            continue
        mark = STATES[there.state]
        age = "" if there.verified_at is None else f" {measures.since(view.now, there.verified_at)}"
        pieces.append(Piece(f"{mark.glyph} {mark.word}{age}", mark.ink))
    return tuple(pieces)
