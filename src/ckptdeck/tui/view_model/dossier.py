"""Everything about one checkpoint, to be read from top to bottom: the pane in full, every file of it, its history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ckptdeck.core.amounts import counted
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, RecordMember
from ckptdeck.core.states import Kind, MemberKind, Role, State
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.details import pane_lines
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, line, pad, wrap
from ckptdeck.tui.view_model.overview import path_of
from ckptdeck.tui.view_model.rows import Entry
from ckptdeck.tui.view_model.view import View

_MARGIN = 1
_HISTORY = 200
"""Entries of the log at most."""
_SIDE = 12
"""Cells for what a side has of a file."""


def dossier_lines(entry: Entry | None, view: View, width: int, fates: Mapping[Role, str]) -> tuple[Line, ...]:
    """What the pane says, with the path before it and the whole history after it. The files are `member_lines`."""
    if entry is None:
        return (BLANK, line(" It is on neither side any more."))
    path = None if view.survey is None else path_of(entry, view.survey)
    told = pane_lines(entry, view, width - 2 * _MARGIN, fates, history=_HISTORY)
    where = wrap(line(Piece(visible(path), Ink.MUTED)), width - 2 * _MARGIN) if path is not None else ()
    return tuple((Piece(" " * _MARGIN), *part) if part else BLANK for part in (*told[:1], *where, *told[1:]))


def member_lines(entry: Entry | None, width: int) -> tuple[Line, ...]:
    """Every file of a directory or a group, those first that are not as recorded; nothing for a single file."""
    sides = {role: one for role in Role if entry is not None and (one := entry.on(role)) is not None}
    sides = {role: one for role, one in sides.items() if one.sighting.kind is not Kind.FILE}
    if not sides:
        return ()
    rows = _rows(sides)
    title = f" {counted(len(rows), 'file')}, {measures.size(sum(size for _, size, _ in rows))}"
    names = max(12, width - _MARGIN - 2 - 8 - (_SIDE + 2) * len(sides))
    heads = "".join(f"  {pad(str(role), _SIDE)}" for role in sides)
    lines = [
        line(Piece(title, Ink.STRONG)),
        line(Piece(f"   {pad('file', names)}{pad('size', 7, right=True)}{heads}", Ink.MUTED)),
    ]
    for path, size, marks in rows:
        name = pad(visible(path, names), names)
        figures = pad(measures.size(size), 7, right=True)
        lines.append(line("   ", name, figures, *(Piece(f"  {pad(text, _SIDE)}", ink) for text, ink in marks)))
    return (BLANK, *lines)


Mark = tuple[str, Ink]


def _rows(sides: Mapping[Role, Checkpoint]) -> list[tuple[str, int, tuple[Mark, ...]]]:
    """(path, bytes, what each side has of it)."""
    there = {role: _sizes(one) for role, one in sides.items()}
    recorded = {role: _recorded(one) for role, one in sides.items()}
    paths = dict.fromkeys(path for known in (*recorded.values(), *there.values()) for path in known)
    rows = []
    for path in sorted(paths):
        marks = tuple(
            _mark(there[role].get(path), recorded[role].get(path), one, known=bool(recorded[role]))
            for role, one in sides.items()
        )
        size = max(sizes.get(path, 0) for sizes in (*recorded.values(), *there.values()))
        rows.append((path, size, marks))
    return sorted(rows, key=lambda row: all(ink is not Ink.BAD and ink is not Ink.WARN for _, ink in row[2]))


def _mark(now: int | None, recorded: int | None, checkpoint: Checkpoint, *, known: bool) -> Mark:
    """`known`: there is a record to compare with."""
    if now is None:
        nothing_there = checkpoint.sighting.identity is None
        return ("·", Ink.MUTED) if nothing_there or recorded is None else ("✗ not there", Ink.BAD)
    if not known:
        return ("there", Ink.PLAIN)
    if recorded is None:
        return ("+ unrecorded", Ink.WARN)
    if now != recorded:
        word = "short" if now < recorded else "more"
        return (f"✗ {measures.size(abs(recorded - now))} {word}", Ink.BAD)
    return ("✓", Ink.GOOD) if checkpoint.state is State.VERIFIED else ("=", Ink.PLAIN)


def _sizes(checkpoint: Checkpoint) -> dict[str, int]:
    identity = checkpoint.sighting.identity
    return {} if identity is None else {member.path: member.size for member in identity.files}


def _recorded(checkpoint: Checkpoint) -> dict[str, int]:
    record = checkpoint.sighting.record
    members: Iterable[RecordMember] = () if record is None else record.members
    return {member.path: member.size for member in members if member.kind is MemberKind.FILE}
