"""One row of the pair table as a line: columns for a width, the cells of both sides, the heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ckptdeck.core.states import NOT_THERE, Role, State, Verdict
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.snapshot import Job, JobState
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import CHOSEN, CURSOR, DOWN, FLIGHTS, STATES, VERDICTS, Mark
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line, pad, spread
from ckptdeck.tui.view_model.rows import Entry, Order
from ckptdeck.tui.view_model.view import View

GAP = "  "
VERDICT = 11
SIDE_FULL = 24
"""Cells a side wants before further columns get room: `✗ TRUNCATED 1.82/2.47G`."""
SIDE_ROOMY, SIDE_MOST = 30, 40
"""Cells a side has before the rate gets a column of its own, which is empty most of the time, and at most."""
FOLD_BELOW = 72
"""Below this width both sides share one column."""
PHASES = {"hash": "hashing", "copy": "copying", "read back": "reading back", "sync": "syncing"}


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells; 0 for a column that is not shown. `side` is the width of each side, or of the folded one."""

    label: int
    digits: int
    side: int
    size: int = 0
    saved: int = 0
    rate: int = 0
    folded: bool = False
    single: bool = False
    """There is no mirror: one side column."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one side of a row says."""

    mark: Mark
    word: str
    note: str = ""
    """Age, or figures; shown at the right end of the cell."""
    note_ink: Ink = Ink.MUTED


_NOT_SEEN = Cell(Mark("?", "not seen", Ink.WARN), "not seen")


def columns_for(width: int, entries: Sequence[Entry], *, single: bool) -> Columns:
    """How `width` cells are divided for these rows."""
    folded = width < FOLD_BELOW
    digits = max((len(entry.label) for entry in entries if entry.label.isdigit()), default=4)
    longest = max((len(entry.label) for entry in entries if not entry.foreign), default=9)
    label = max(4, digits, min(longest, 9 if folded else 16 if width < 100 else 24))
    label = min(label, max(4, width - VERDICT - 16))
    room = width - 3 - label - len(GAP) - VERDICT - len(GAP)
    sides = 1 if folded or single else 2
    extras = {"size": 0, "saved": 0, "rate": 0}
    for name, cells, least in (("size", 6, SIDE_FULL), ("saved", 5, SIDE_FULL), ("rate", 7, SIDE_ROOMY)):
        if not folded and room - sides * (least + len(GAP)) >= cells + len(GAP):
            extras[name] = cells
            room -= cells + len(GAP)
    side = max(4, room // sides - (len(GAP) if sides == 2 else 0))
    left_over = sides * max(0, side - SIDE_MOST)
    label += max(0, min(left_over, max((len(entry.label) for entry in entries), default=0) - label))
    return Columns(label, digits, min(side, SIDE_MOST), folded=folded, single=single, **extras)


def head_line(columns: Columns, order: Order, width: int) -> Line:
    """The column heads; the one that sorts wears a mark, which may stand in the gap."""
    named = {Order.NEWEST: "step", Order.OLDEST: "step", Order.WORST: "verdict", Order.LARGEST: "size"}
    heads = [("step", columns.label)]
    heads += [("size", columns.size)] if columns.size else []
    heads += [("saved", columns.saved)] if columns.saved else []
    if columns.folded:
        both = "primary+mirror" if columns.side >= 14 else "both"
        heads.append(("primary" if columns.single else both, columns.side))
    else:
        heads += [(str(role), columns.side) for role in ((Role.PRIMARY,) if columns.single else Role)]
    heads += [("rate", columns.rate)] if columns.rate else []
    heads.append(("verdict", VERDICT))
    shown = []
    for name, cells in heads:
        sorts = named[order] == name and order is not Order.NEWEST
        text = name + DOWN if sorts else name
        taken = max(cells, min(len(text), cells + 1)) if sorts else cells
        right = name in ("size", "saved", "rate") or (name == "step" and columns.label == columns.digits)
        shown.append(pad(pad(text, taken, right=right), cells + len(GAP)))
    return fit(line("   ", Piece("".join(shown).rstrip(), Ink.MUTED)), width)


def row_line(entry: Entry, view: View, columns: Columns, width: int, *, cursor: bool, chosen: bool) -> Line:
    """The whole row in exactly `width` cells."""
    pieces = [
        Piece(CURSOR if cursor else " ", Ink.ACCENT),
        Piece(CHOSEN if chosen else " ", Ink.ACCENT),
        Piece(" "),
        _label(entry, columns),
    ]
    if columns.size and not entry.foreign:
        pieces += [Piece(GAP), Piece(pad(measures.size(entry.size) if entry.size else "", columns.size, right=True))]
    if columns.saved and not entry.foreign:
        saved = "" if entry.saved_at is None else measures.since(view.now, entry.saved_at)
        pieces += [Piece(GAP), Piece(pad(saved, columns.saved, right=True), Ink.MUTED)]
    pieces += _sides(entry, view, columns)
    if columns.rate:
        pieces += [Piece(GAP), Piece(pad(rate_of(entry, view), columns.rate, right=True), Ink.BUSY)]
    pieces += [Piece(GAP), Piece(pad(entry.verdict, VERDICT), verdict_ink(entry))]
    return fit(tuple(pieces), width)


def verdict_ink(entry: Entry) -> Ink:
    if entry.pair is not None:
        return VERDICTS[entry.pair.verdict].ink
    if entry.foreign:
        return Ink.MUTED
    return Ink.BUSY if entry.verdict == Verdict.IN_FLIGHT else Ink.WARN


def _label(entry: Entry, columns: Columns) -> Piece:
    if entry.foreign:  # it has no figures, and takes their room
        figures = sum(cells + len(GAP) for cells in (columns.size, columns.saved) if cells)
        return Piece(pad(entry.label, columns.label + figures), Ink.MUTED)
    text = entry.label.rjust(columns.digits) if entry.label.isdigit() else entry.label
    return Piece(pad(text, columns.label), Ink.STRONG)


def _sides(entry: Entry, view: View, columns: Columns) -> list[Piece]:
    if columns.folded:
        return [Piece(GAP), *_folded(entry, view, columns)]
    roles = (Role.PRIMARY,) if columns.single else tuple(Role)
    return [
        piece
        for role in roles
        for piece in (Piece(GAP), *_side(cell_of(entry, role, view, rate=not columns.rate), columns.side))
    ]


def _side(cell: Cell, width: int) -> Line:
    """Glyph, word, and the note at the right end; what does not fit is the note."""
    word_ink = Ink.PLAIN if cell.mark.ink is Ink.GOOD else cell.mark.ink  # what is well stays quiet
    head = line(Piece(cell.mark.glyph, cell.mark.ink), " ", Piece(cell.word, word_ink))
    return spread(head, line(Piece(cell.note, cell.note_ink)), width, gap=1)


def _folded(entry: Entry, view: View, columns: Columns) -> Line:
    """Both sides in one column: two glyphs, then the words of the side that has more to say."""
    cells = [cell_of(entry, role, view) for role in ((Role.PRIMARY,) if columns.single else Role)]
    telling = max(cells, key=lambda cell: _LOUDNESS[cell.mark.ink])
    marks = [Piece(cell.mark.glyph, cell.mark.ink) for cell in cells]
    words = telling.word
    if columns.side >= 40 and len(cells) == 2 and cells[0].word != cells[1].word:
        words = f"{cells[0].word} / {cells[1].word}"
    room = columns.side - len(cells) - 1
    if len(words) > room:
        words = next((part for part in (words.rpartition(" ")[0], words.split(" ")[0]) if len(part) <= room), "")
    return fit((*marks, Piece(" "), Piece(words, telling.mark.ink)), columns.side)


_LOUDNESS = {
    Ink.BAD: 5, Ink.WARN: 4, Ink.BUSY: 3, Ink.ACCENT: 3, Ink.PLAIN: 2, Ink.GOOD: 1, Ink.MUTED: 0,
}  # fmt: skip


def cell_of(entry: Entry, side: Role, view: View, *, rate: bool = True) -> Cell:
    """What `side` says about the row: work in progress first, then a part (with its `rate`), then the state."""
    job = view.busy.get((entry.key, side))
    if job is not None:
        return _job_cell(job)
    cell = _seen_cell(entry, side, view, rate=rate)
    return cell if view.silent_since(side) is None else _recalled(cell)


def _recalled(cell: Cell) -> Cell:
    """What a side said before it went silent: quiet, and with a mark, whatever it was."""
    if not cell.word or cell == _NOT_SEEN:
        return cell
    return Cell(replace(cell.mark, ink=Ink.MUTED), f"{cell.word.rstrip('?')}?", cell.note)


def _seen_cell(entry: Entry, side: Role, view: View, *, rate: bool) -> Cell:
    flight = entry.flight(side)
    if flight is not None:
        done = measures.percent(flight.size, flight.expected_size or 0)
        mark = FLIGHTS[flight.state]
        if flight.final_name:
            mark = STATES[State.UNSAFE_WRITE]
        figures = [measures.rate(flight.bytes_per_second)] if rate and flight.bytes_per_second else []
        if flight.bytes_per_second and flight.expected_size:
            left = max(0, flight.expected_size - flight.size) / flight.bytes_per_second
            figures.append(measures.age(left))
        return Cell(mark, f"{mark.word} {done}".rstrip(), " ".join(figures), Ink.BUSY)
    if side in entry.foreign:
        return Cell(STATES[State.FOREIGN], "foreign")
    return _state_cell(entry, side, view)


def _state_cell(entry: Entry, side: Role, view: View) -> Cell:
    checkpoint = entry.on(side)
    survey = view.survey
    looked_at = None if survey is None else survey.side(side)
    if looked_at is not None and not looked_at.inventory.condition.readable:
        told = checkpoint is not None and checkpoint.state is not State.UNREADABLE
        if view.silent_since(side) is None or not told:
            return _NOT_SEEN
    if checkpoint is None:
        if entry.foreign:
            return Cell(STATES[State.FOREIGN], "")
        return Cell(STATES[State.ABSENT], "absent")
    mark = STATES[checkpoint.state]
    record, identity = checkpoint.sighting.record, checkpoint.sighting.identity
    if checkpoint.state is State.VERIFIED and checkpoint.verified_at is not None:
        return Cell(mark, mark.word, measures.since(view.now, checkpoint.verified_at))
    expected = record.size if record else None
    if expected is None and checkpoint.sighting.structure is not None:
        expected = checkpoint.sighting.structure.expected_size
    if checkpoint.state is State.TRUNCATED and identity is not None and expected is not None:
        return Cell(mark, mark.word, measures.of_size(identity.size, expected), Ink.BAD)
    if identity is None or checkpoint.state in NOT_THERE:
        return Cell(mark, mark.word)
    return Cell(mark, mark.word, measures.since(view.now, identity.mtime_ns / 1e9))


def _job_cell(job: Job) -> Cell:
    assert job.progress is not None
    word = "paused" if job.state is JobState.PAUSED else PHASES.get(job.progress.phase, job.progress.phase)
    done = measures.percent(job.progress.done, job.progress.total)
    return Cell(Mark("▸", word, Ink.BUSY), f"{word} {done}".rstrip(), seconds_left(job), Ink.BUSY)


def seconds_left(job: Job) -> str:
    """How long the item in work still takes, "" when it cannot be told."""
    if job.progress is None or not job.bytes_per_second:
        return ""
    return measures.age(max(0, job.progress.total - job.progress.done) / job.bytes_per_second)


def rate_of(entry: Entry, view: View) -> str:
    """Bytes per second of whatever is being done to the row."""
    for side in Role:
        job = view.busy.get((entry.key, side))
        if job is not None and job.bytes_per_second:
            return measures.rate(job.bytes_per_second)
        flight = entry.flight(side)
        if flight is not None and flight.bytes_per_second:
            return measures.rate(flight.bytes_per_second)
    return ""
