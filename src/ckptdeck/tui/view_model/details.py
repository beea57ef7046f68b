"""What is known about the checkpoint under the cursor: one sentence, or the whole pane."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.states import FINDINGS, Role, State
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.cells import verdict_ink
from ckptdeck.tui.view_model.glyphs import FLIGHTS, STATES
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, brief, line, spread, width_of, wrap
from ckptdeck.tui.view_model.members import member_count, member_facts
from ckptdeck.tui.view_model.rows import Entry
from ckptdeck.tui.view_model.view import View

WITH_PANE = 120
"""Terminals with as many columns have a pane for the row under the cursor."""
FACT = 13
"""Cells of the name of a fact in the pane, its margin included."""


def detail_lines(entry: Entry | None, view: View, width: int, limit: int) -> tuple[Line, ...]:
    """The short form: the side that has most to say, in at most `limit` lines.

    What is wrong anywhere takes the last one while the row itself is well. On a wide terminal a pane tells of the row.
    """
    trouble = () if entry is not None and entry.troubled else trouble_lines(view, width)
    if entry is None or width >= WITH_PANE:
        return trouble_lines(view, width)
    if trouble and limit < 2:
        return trouble
    lines = (*wrap(_sentence(entry), width - 2, indent=" ", limit=limit - len(trouble)), *trouble)
    telling = _telling_side(entry)
    record = "" if telling is None else _record_text(telling[1], view)
    return (*lines, line(Piece(f" {record}", Ink.MUTED))) if record and len(lines) < limit else lines


def trouble_lines(view: View, width: int) -> tuple[Line, ...]:
    """The worst trouble in one line, and how many more a key tells of; nothing when there is none."""
    trouble = view.snapshot.trouble
    if not trouble:
        return ()
    key = Piece(f" {key_word(view.keys, Place.OVERVIEW, 'problems')} ", Ink.KEY, "screen.problems")
    more = line(key, Piece(f"{len(trouble) - 1} more ", Ink.MUTED)) if trouble[1:] else ()
    told = line(Piece(" ! ", Ink.BAD), brief(trouble[0], width - width_of(more) - 4))
    return (spread(told, more, width, gap=1),)


def _sentence(entry: Entry) -> Line:
    name = Piece(f" {visible(entry.key, 60)}", Ink.STRONG)
    for side in Role:
        flight = entry.flight(side)
        if flight is not None:
            return line(name, f" on {side}: {_flight_text(flight)}")
    pair = entry.pair
    if pair is None:
        roles = " and ".join(str(role) for role in entry.foreign)
        return line(name, f" on {roles}: no checkpoint of a known kind; shown, never touched")
    telling = _telling_side(entry)
    if telling is None:
        return line(name, f"  {pair.reason}")
    side, checkpoint = telling
    said = checkpoint.reason if checkpoint.state in FINDINGS else pair.reason or checkpoint.reason
    return line(name, f" on {side}: {said}" if checkpoint.state in FINDINGS else f"  {said}")


def _telling_side(entry: Entry) -> tuple[Role, Checkpoint] | None:
    found = [(side, checkpoint) for side in Role if (checkpoint := entry.on(side)) is not None]
    bad = [pair for pair in found if pair[1].state in FINDINGS]
    return next(iter(bad or found), None)


def _flight_text(flight: InFlight) -> str:
    writer = flight.writer
    if writer is None or str(writer.pid) in flight.reason:
        return flight.reason
    return f"{flight.reason}; writer {writer.shown(24)}"


def _record_text(checkpoint: Checkpoint, view: View) -> str:
    record = checkpoint.sighting.record
    members = member_count(checkpoint)
    if record is None:
        return members
    made = f"{record.origin} {measures.since(view.now, record.recorded_at)} ago"
    return f"record {record.digest[:8]}  {measures.size(record.size)}  {made}" + (f"  {members}" if members else "")


def pane_lines(
    entry: Entry | None, view: View, width: int, fates: Mapping[Role, str], *, history: int = 5
) -> tuple[Line, ...]:
    """The long form for the pane at the right: record against reality, members, structure, evidence, what the
    retention says (`fates`, by side), and so many lines of history."""
    if entry is None:
        return ()
    text = [line(Piece(visible(entry.key), Ink.STRONG))]
    text.append(line(Piece(entry.verdict, verdict_ink(entry)), f"  {entry.pair.reason}" if entry.pair else ""))
    for side in Role:
        if entry.on(side) is None and entry.flight(side) is None:
            continue
        text += [BLANK, *_side_lines(entry, side, view)]
        if side in fates:
            text.append(_fact("prune", fates[side]))
    said = _history(entry, view, history)
    if said:
        text += [BLANK, line(Piece("history", Ink.MUTED)), *said]
    return tuple(part for whole in text for part in (wrap(whole, width, indent=_indent(whole)) if whole else (BLANK,)))


def _indent(whole: Line) -> str:
    """Facts hang under their value, everything else under its margin."""
    return " " * FACT if whole[0].width == FACT else "  "


def _side_lines(entry: Entry, side: Role, view: View) -> list[Line]:
    checkpoint, flight = entry.on(side), entry.flight(side)
    if checkpoint is None:
        assert flight is not None
        mark = FLIGHTS[flight.state]
        return [_side_head(side, mark.glyph, mark.word, mark.ink), line(f"  {_flight_text(flight)}")]
    mark = STATES[checkpoint.state]
    lines = [_side_head(side, mark.glyph, mark.word, mark.ink)]
    if checkpoint.reason:
        lines.append(line(f"  {checkpoint.reason}"))
    lines += [_fact(name, value) for name, value in _facts(checkpoint, view)]
    if flight is not None:
        lines.append(_fact("part", _flight_text(flight)))
    return lines


def _side_head(side: Role, glyph: str, word: str, ink: Ink) -> Line:
    return line(Piece(f"{side!s:<9}", Ink.MUTED), Piece(f"{glyph} {word}", ink))


def _fact(name: str, value: str) -> Line:
    return line(Piece(f"  {name}".ljust(FACT), Ink.MUTED), value)


def _facts(checkpoint: Checkpoint, view: View) -> list[tuple[str, str]]:
    """(name, value) of what is recorded, what is there and what proves it."""
    seen = checkpoint.sighting
    facts: list[tuple[str, str]] = []
    if seen.identity is not None:
        facts.append(("size", f"{seen.identity.size:,} bytes"))
        facts.append(("saved", measures.moment(seen.identity.mtime_ns / 1e9, view.zone)))
    if seen.record is not None:
        record = seen.record
        if seen.identity is None or record.size != seen.identity.size:
            facts.append(("recorded", f"{record.size:,} bytes"))
        facts.append(("digest", f"{record.algorithm} {record.digest[:16]}"))
        made = f"{record.origin} {measures.since(view.now, record.recorded_at)} ago on {visible(record.host, 24)}"
        facts.append(("record", made))
        facts += [("metric", f"{visible(key, 20)} {value:g}") for key, value in record.metrics.items()]
    facts += member_facts(checkpoint, view)
    if seen.structure is not None:
        facts.append(("structure", seen.structure.text))
        if seen.structure.loader_says:
            facts.append(("loaders", seen.structure.loader_says))
    if checkpoint.verified_at is not None:
        evidence = f", evidence {checkpoint.evidence}" if checkpoint.evidence else ""
        facts.append(("verified", f"{measures.since(view.now, checkpoint.verified_at)} ago{evidence}"))
    return facts + _ties(checkpoint)


def _ties(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """What holds it in its place."""
    seen = checkpoint.sighting
    facts: list[tuple[str, str]] = []
    if seen.pinned is not None:
        facts.append(("pinned", visible(seen.pinned) or "without a reason"))
    if seen.pointed_at_by is not None:
        facts.append(("pointer", f"{visible(seen.pointed_at_by)} points at it"))
    if seen.link is not None:
        facts.append(("link", f"to {visible(seen.link)}"))
    if seen.writer is not None:
        facts.append(("writer", seen.writer.shown(24)))
    if seen.error is not None and checkpoint.state is not State.UNREADABLE:
        facts.append(("error", seen.error))
    return facts


def _history(entry: Entry, view: View, limit: int) -> list[Line]:
    """What the log says of this name, newest first."""
    name = re.compile(rf"(?<![\w.-]){re.escape(visible(entry.key))}(?!\w)")
    about = [said for said in view.snapshot.log if name.search(said.text)][:limit]
    return [
        line(Piece(f"  {measures.since(view.now, said.at):>4} ", Ink.MUTED), f"{said.text} {said.outcome}".rstrip())
        for said in about
    ]
