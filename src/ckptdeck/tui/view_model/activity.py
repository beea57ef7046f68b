"""Who did what, and how it ended: one line each, and all of one with the line for a shell that does it again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckptdeck.core.amounts import counted
from ckptdeck.monitor.snapshot import LogEntry
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import CURSOR
from ckptdeck.tui.view_model.line import Ink, Line, Piece, brief, line, pad, spread, width_of, wrap
from ckptdeck.tui.view_model.rows import words_wanted
from ckptdeck.tui.view_model.view import View

_WITH_WHO = 90
"""Terminals with fewer columns name who did it under the list only."""
_WHO = 20
_OUTCOME = 10
_OUTCOME_INKS = {
    "done": Ink.GOOD, "failed": Ink.BAD, "skipped": Ink.WARN, "cancelled": Ink.WARN, "started": Ink.BUSY,
}  # fmt: skip


NO_COMMAND = "No command of a shell did this."


def key_of(entry: LogEntry) -> str:
    return f"{entry.at}/{entry.text}/{entry.outcome}"


def filter_log(entries: Iterable[LogEntry], query: str) -> tuple[LogEntry, ...]:
    """Entries that hold every word of `query`; a word with a leading `-` must not be there."""
    wanted = words_wanted(query)
    return tuple(entry for entry in entries if wanted.let_through(f"{entry.text} {entry.outcome} {entry.who}".lower()))


def activity_lead(shown: Sequence[LogEntry], view: View, query: str, width: int) -> tuple[Line, ...]:
    """How much there is, and how much of it went wrong."""
    if not view.snapshot.log:
        return ()
    failed = sum(entry.outcome == "failed" for entry in shown)
    words = f" {counted(len(shown), 'operation')}" + (f" of {len(view.snapshot.log):,}" if query else "")
    pieces = [Piece(words, Ink.STRONG)]
    pieces.append(Piece(f", {failed} failed", Ink.BAD) if failed else Piece(", none failed", Ink.MUTED))
    return wrap(tuple(pieces), width - 1)


def activity_head(width: int) -> Line:
    who = pad("who", _WHO) if width >= _WITH_WHO else ""
    return spread(line("   ", Piece(f"{pad('when', 7)}{pad('result', _OUTCOME + 1)}{who}what", Ink.MUTED)), (), width)


def activity_line(entry: LogEntry, view: View, width: int, *, cursor: bool) -> Line:
    """When, how it ended, by whom where there is room, and what."""
    ink = _OUTCOME_INKS.get(entry.outcome, Ink.PLAIN)
    left = line(
        Piece(CURSOR if cursor else " ", Ink.ACCENT),
        "  ",
        Piece(pad(measures.since(view.now, entry.at), 7), Ink.MUTED),
        Piece(f"{pad(entry.outcome, _OUTCOME)} ", ink),
    )
    if width >= _WITH_WHO:
        left = (*left, Piece(f"{pad(entry.who.partition(' pid ')[0], _WHO - 1)} ", Ink.MUTED))
    return spread((*left, Piece(brief(entry.text, width - width_of(left) - 1))), (), width)


def activity_detail(entry: LogEntry | None, view: View, width: int) -> tuple[Line, ...]:
    """The whole of it; the command line, where there is one, is what the copy key copies."""
    if entry is None:
        return ()
    lines = [
        line(Piece(f" {entry.text}", Ink.STRONG)),
        line(" ", Piece(entry.outcome or "no result", _OUTCOME_INKS.get(entry.outcome, Ink.PLAIN)),
             Piece(f"  {measures.moment(entry.at, view.zone)} by {entry.who}", Ink.MUTED)),
    ]  # fmt: skip
    if entry.command:
        copy = Piece(key_word(view.keys, Place.ACTIVITY, "copy_command"), Ink.KEY, "screen.copy_command")
        lines.append(line(" ", copy, f"  {entry.command}"))
    else:
        lines.append(line(" ", Piece(NO_COMMAND, Ink.MUTED)))
    return tuple(part for whole in lines for part in wrap(whole, width - 1, indent="    "))
