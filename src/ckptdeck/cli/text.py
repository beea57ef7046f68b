"""Everything people read on stdout. State is never told by colour alone: glyph, word, and then maybe a colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import counted, part_of_text, size_text, span_text
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.states import BAD, CANDIDATES, FINDINGS, Condition, FlightState, Role, State, Verdict
from ckptdeck.core.survey import Side, Step, Survey

if TYPE_CHECKING:
    from ckptdeck.core.verify import Verification

Paint = Callable[[str, str], str]
"""(text, "good" | "bad" | "warn" | "busy" | "faint" | "strong") → the text, maybe coloured."""

_TROUBLE_SHOWN = 12
_ROW_REASON = 100
"""Cells of a reason beside its row; it is told in full under TROUBLE and with --json."""
_CODES = {"good": "32", "bad": "31", "warn": "33", "busy": "36", "faint": "2", "strong": "1"}


def paint_plain(text: str, _ink: str) -> str:
    return text


def paint_ansi(text: str, ink: str) -> str:
    return f"\x1b[{_CODES[ink]}m{text}\x1b[0m" if text else text


def paint_for(terminal: Terminal) -> Paint:
    return paint_ansi if terminal.colour else paint_plain


@lru_cache
def state_words(state: State) -> tuple[str, str, str]:
    """(glyph, word, ink) of a state; what is bad is in capitals too."""
    if state is State.VERIFIED:
        return "+", state.value, "good"
    if state in BAD or state in (State.MISSING, State.UNREADABLE):
        return "x", state.value.upper(), "bad"
    if state in (State.CHANGED, State.SUSPECT, State.UNSAFE_WRITE):
        return "!", state.value, "warn"
    if state in (State.ABSENT, State.FOREIGN):
        return ".", state.value, "faint"
    if state in (State.REMOVED, State.RETIRED):
        return "-", state.value, "faint"
    return "?", state.value, "warn"


# --- status


def status_lines(survey: Survey, trouble: Sequence[str], paint: Paint = paint_plain) -> Iterator[str]:
    """The answer first, then what is wrong, both sides, what is being written, and a row per step."""
    yield resume_line(survey, paint)
    if trouble:
        yield ""
        yield paint(f"TROUBLE {len(trouble)}", "bad")
        for sentence in trouble[:_TROUBLE_SHOWN]:
            yield f"  {sentence}"
        if len(trouble) > _TROUBLE_SHOWN:
            yield f"  and {len(trouble) - _TROUBLE_SHOWN} more: the table below has them, --json all of it"
    yield ""
    yield from table([_side_cells(side, survey) for side in survey.sides], indent="")
    for side in survey.sides:
        for warning in side.inventory.warnings:
            yield f"  {side.role.value}: {warning.code} {warning.text}"
    flights = [(side.role, flight) for side in survey.sides for flight in side.inventory.in_flight]
    if flights:
        yield ""
        yield paint("IN FLIGHT", "strong")
        yield from table([_flight_cells(role, flight) for role, flight in flights], indent="  ")
    if survey.steps:
        yield ""
        yield from _step_table(survey, paint)
    unrecorded = sum(_lacks_record(step) for step in survey.steps)
    if unrecorded:
        yield ""
        yield f"{counted(unrecorded, 'checkpoint')} without a record: `ckptdeck adopt` proves and records what is whole"


def resume_line(survey: Survey, paint: Paint = paint_plain) -> str:
    point = survey.resume
    if point is not None:
        label = "RESUME " + (visible(point.name) if point.step is None else str(point.step))
        if point.certain:
            age = "" if point.verified_at is None else f" {_ago(survey.taken_at - point.verified_at)}"
            evidence = "" if point.evidence is None else f" ({point.evidence.value})"
            return paint(label, "good") + f"  {visible(point.path)}  verified{age} on {point.side.value}{evidence}"
        return (
            paint(label + "?", "warn")
            + f"  {visible(point.path)}  {point.state.value} on {point.side.value}, content not proven yet:"
            " `ckptdeck resume` hashes it"
        )
    checkpoints = sum(
        checkpoint.state not in (State.FOREIGN, State.ABSENT)
        for side in survey.sides
        for checkpoint in side.checkpoints
    )
    if any(not side.inventory.condition.readable for side in survey.sides):
        return paint("RESUME unknown", "bad") + "  a side cannot be read"
    if checkpoints:
        return paint("RESUME none", "bad") + f"  {counted(checkpoints, 'checkpoint')}, none proven whole"
    return paint("RESUME none", "strong") + "  nothing has been saved yet"


def _side_cells(side: Side, survey: Survey) -> list[str]:
    inventory = side.inventory
    cells = [side.role.value, visible(inventory.root)]
    if inventory.condition is not Condition.OK:
        cells.append(inventory.condition.value)
    if inventory.volume is not None:
        free = f"free {size_text(inventory.volume.free)}" + (" or less" if inventory.volume.optimistic else "")
        there = side.present
        held = sum(checkpoint.size for checkpoint in there)
        cells += [inventory.volume.fs_type, counted(len(there), "checkpoint"), size_text(held), free]
    projection = survey.space.get(side.role)
    if projection is not None:
        if projection.fits is not None:
            cells.append(f"{projection.fits:,} more fit")
        if projection.full_at is not None:
            cells.append(f"full in {span_text(projection.full_at - survey.taken_at)}")
    if inventory.quarantine:
        held = sum(entry.size for entry in inventory.quarantine)
        cells.append(f"{size_text(held)} in quarantine")
    return cells


def _flight_cells(role: Role, flight: InFlight) -> list[str]:
    expected = flight.expected_size
    size = part_of_text(flight.size, expected) if expected else size_text(flight.size)
    rate = "" if not flight.bytes_per_second else f"{size_text(flight.bytes_per_second)}/s"
    writer = "" if flight.writer is None else flight.writer.shown()
    return [f"~ {flight.state.value}", role.value, visible(flight.name), size, rate, writer, flight.reason]


def _step_table(survey: Survey, paint: Paint) -> Iterator[str]:
    heads = ["step", "name", "primary"] + (["mirror"] if survey.mirror is not None else []) + ["verdict", ""]
    rows: list[list[str]] = [heads]
    inks: list[str] = ["faint"]
    readable = [side.role for side in survey.sides if side.inventory.condition.readable]
    for step in survey.steps:
        label = "-" if step.step is None else str(step.step)
        cells = [_cell(side, step, survey.taken_at) for side in survey.sides]
        rows.append([label, visible(step.name), *cells, step.verdict.value, _row_reason(step, readable)])
        inks.append(_VERDICT_INKS.get(step.verdict, ""))
    for line, ink in zip(table(rows, indent=""), inks, strict=True):
        yield paint(line, ink) if ink else line


def _row_reason(step: Step, readable: Sequence[Role]) -> str:
    """In short, why a row is wrong or not done; of all others the columns say enough."""
    wrong = step.verdict in (Verdict.DIVERGED, Verdict.LOST, Verdict.IN_FLIGHT)
    for role in readable:
        copy = step.on(role)
        wrong = wrong or (copy is not None and copy.state in FINDINGS)
    return _shortened(step.reason, _ROW_REASON) if wrong else ""


def _shortened(text: str, width: int) -> str:
    """`text` as far as whole words of it fit."""
    if cell_width(text) <= width:
        return text
    while cell_width(text) > width - 1:
        head, blank, _ = text.rpartition(" ")
        text = head if blank else text[: len(text) - 1]
    return text.rstrip(" ;,:") + "…"


def _lacks_record(step: Step) -> bool:
    copies = [copy for copy in (step.primary, step.mirror) if copy is not None]
    return any(copy.state in CANDIDATES and copy.sighting.record is None for copy in copies)


def _cell(side: Side, step: Step, now: float) -> str:
    checkpoint = step.on(side.role)
    if checkpoint is None or checkpoint.state is State.ABSENT:
        flight = next((f for f in side.inventory.in_flight if f.target and f.target == step.name), None)
        return ". absent" if flight is None else _flight_cell(flight)
    glyph, word, _ink = state_words(checkpoint.state)
    detail = _detail(checkpoint, now)
    return f"{glyph} {word} {detail}" if detail else f"{glyph} {word}"


def _flight_cell(flight: InFlight) -> str:
    word = "part" if flight.state is FlightState.LIVE else f"part {flight.state.value}"
    if flight.expected_size:
        return f"~ {word} {min(99, 100 * flight.size // flight.expected_size)}%"
    return f"~ {word} {size_text(flight.size)}"


def _detail(checkpoint: Checkpoint, now: float) -> str:
    record = checkpoint.sighting.record
    if checkpoint.state in BAD and record is not None and record.size != checkpoint.size:
        return part_of_text(checkpoint.size, record.size)
    if checkpoint.verified_at is not None and checkpoint.state is State.VERIFIED:
        return span_text(now - checkpoint.verified_at)
    return size_text(checkpoint.size) if checkpoint.size else ""


_VERDICT_INKS = {
    **dict.fromkeys((Verdict.DIVERGED, Verdict.REPAIR, Verdict.LOST, Verdict.UNKNOWN), "bad"),
    **dict.fromkeys((Verdict.ADOPT, Verdict.AT_RISK), "warn"),
    Verdict.IN_FLIGHT: "busy",
    Verdict.RETIRED: "faint",
}


# --- verification


def verification_line(outcome: Verification, paint: Paint = paint_plain) -> str:
    glyph, word, ink = state_words(outcome.state)
    return paint(f"{glyph} {visible(outcome.name)} on {outcome.side.value} {word}", ink) + f"  {outcome.reason}"


def verify_summary(results: Sequence[Verification]) -> str:
    """`verify: 3 verified, 1 corrupt; 9.88 GB read`."""
    counts = [f"{n} {state.value}" for state in State if (n := sum(one.state is state for one in results))]
    read = sum(one.bytes_read for one in results)
    return f"verify: {', '.join(counts)}; {size_text(read)} read" if counts else "verify: nothing to hash"


# --- layout


def table(rows: Sequence[Sequence[str]], *, indent: str) -> Iterator[str]:
    """Rows with their cells aligned; the last cell of a row is as long as it is."""
    widths: list[int] = []
    for row in rows:
        for column, cell in enumerate(row[:-1]):
            width = len(cell) if cell.isascii() else cell_width(cell)
            if column == len(widths):
                widths.append(width)
            elif width > widths[column]:
                widths[column] = width
    for row in rows:
        padded = [
            cell.ljust(width) if cell.isascii() else cell + " " * (width - cell_width(cell))
            for cell, width in zip(row[:-1], widths, strict=False)
        ]
        yield (indent + "  ".join([*padded, *row[-1:]])).rstrip()


def cell_width(text: str) -> int:
    """How many terminal cells `text` takes: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _ago(seconds: float) -> str:
    return "in the future" if seconds < 0 else f"{span_text(seconds)} ago"
