"""Jobs, what is in flight, and the last line of the log."""

from __future__ import annotations

from ckptdeck.core.plans.plan import Outcome, outcomes_text
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import InFlight
from ckptdeck.core.states import Kind, Role
from ckptdeck.monitor.snapshot import Job, JobState
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import CURSOR, FLIGHTS, JOBS, bar
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, fit, line, pad, spread, width_of, wrap
from ckptdeck.tui.view_model.view import View

_STATE = 14
"""Cells of the first column: `unsafe-write`, and a gap."""
_OUTCOME_INKS = {
    Outcome.DONE: Ink.GOOD,
    Outcome.SKIPPED: Ink.WARN,
    Outcome.FAILED: Ink.BAD,
    Outcome.CANCELLED: Ink.MUTED,
}


def strip_line(view: View, width: int) -> Line:
    """The job that runs, with its progress; when none does, the last thing that happened and its command line."""
    if view.working:
        return _working_line(view.working[0], len(view.working) - 1, width)
    if not view.snapshot.log:
        return fit(BLANK, width)
    last = view.snapshot.log[0]
    said = f"{last.text}  {last.outcome}".rstrip()
    left = line(" ", Piece(measures.clock(last.at, view.zone), Ink.MUTED), " ", said)
    return spread(left, line(Piece(last.command, Ink.MUTED), " "), width)


def _working_line(job: Job, waiting: int, width: int) -> Line:
    mark = JOBS[job.state]
    right = [*_figures(job, wide=width >= 70), Piece(f"  +{waiting} more" if waiting else ""), Piece(" ")]
    left = line(" ", Piece(f"{mark.glyph} ", mark.ink), job.title)
    room = width - width_of(right) - 2
    return spread(fit(left, max(8, room)), tuple(right), width)


def _figures(job: Job, *, wide: bool) -> tuple[Piece, ...]:
    """Bar, percent, rate and time left of a job as far as they are known."""
    if job.state is JobState.QUEUED:
        return (Piece(JOBS[job.state].word, JOBS[job.state].ink),)
    if job.total_done >= job.total_size:  # no bytes are waited for: names are what is left to change
        done = f"{len(job.results):,} of {job.items:,}" if job.items > 1 else ""
        word = "" if job.state is JobState.RUNNING and done else JOBS[job.state].word
        return (Piece(f"{done} {word}".strip(), JOBS[job.state].ink),)
    fraction = job.total_done / job.total_size
    pieces = [*bar(fraction, 16, JOBS[job.state].ink), Piece(" ")] if wide else []
    pieces.append(Piece(pad(measures.percent(job.total_done, job.total_size), 4, right=True)))
    if job.state is not JobState.RUNNING:
        return (*pieces, Piece(f" {JOBS[job.state].word}", JOBS[job.state].ink))
    if job.bytes_per_second:
        pieces.append(Piece(f" {measures.rate(job.bytes_per_second)}"))
    if job.eta is not None:
        pieces.append(Piece(f" {measures.span(job.eta)}"))
    return tuple(pieces)


def job_head(width: int) -> Line:
    return spread(
        line("   ", Piece(f"{pad('state', _STATE)}what", Ink.MUTED)), line(Piece("progress", Ink.MUTED), " "), width
    )


def job_line(job: Job, width: int, *, cursor: bool) -> Line:
    mark = JOBS[job.state]
    left = line(
        Piece(CURSOR if cursor else " ", Ink.ACCENT), "  ", Piece(pad(f"{mark.glyph} {mark.word}", _STATE), mark.ink)
    )
    right = () if job.state.over else (*_figures(job, wide=width >= 70), Piece(" "))
    if job.state.over:
        right = line(Piece(_summary(job), Ink.MUTED), " ")
    room = width - width_of(left) - width_of(right) - 1
    return spread((*left, Piece(pad(job.title, max(4, room)))), right, width, gap=1)


def _summary(job: Job) -> str:
    """How it ended: `3 done, 1 failed`."""
    took = ""
    if job.started_at is not None and job.ended_at is not None:
        took = f" in {measures.span(job.ended_at - job.started_at)}"
    return (outcomes_text(job.results) or str(job.state)) + took


def job_detail(job: Job | None, view: View, width: int) -> tuple[Line, ...]:
    """Everything about one job: its command line, its error with the next step, what became of each item."""
    if job is None:
        return (line(" No job has run yet. Whatever is verified, copied or deleted shows up here."),)
    lines = [line(Piece(f" {job.command}", Ink.STRONG))]
    since = job.started_at or job.submitted_at
    word = "started" if job.started_at is not None else "waiting since"
    lines.append(line(Piece(f" {word} {measures.clock(since, view.zone)} on {visible(job.lane)}", Ink.MUTED)))
    if job.state is JobState.CANCELLING:
        lines.append(line(Piece(" Cancelling: it stops at the next safe point.", Ink.WARN)))
    if job.progress is not None and not job.state.over:
        step = f" {job.progress.phase} {visible(job.progress.name)} on {job.progress.side}"
        lines.append(line(f"{step}  {measures.of_size(job.progress.done, job.progress.total)}"))
    if job.error:
        lines.append(line(Piece(f" {job.error}", Ink.BAD)))
    if job.if_we_quit and not job.state.over:
        lines.append(line(Piece(" on quit  ", Ink.MUTED), job.if_we_quit))
    telling = sorted(job.results, key=lambda result: result.outcome is Outcome.DONE)
    lines += [
        line(
            Piece(f" {result.outcome!s:<9} ", _OUTCOME_INKS[result.outcome]),
            f"{visible(result.item.checkpoint)}  ",
            result.text,
        )
        for result in telling
    ]
    return tuple(part for whole in lines for part in wrap(whole, width - 1, indent="   "))


def flight_head(width: int) -> Line:
    left = line("   ", Piece(f"{pad('state', _STATE)}{pad('side', 9)}what", Ink.MUTED))
    return spread(left, line(Piece("written", Ink.MUTED), " "), width)


def flight_line(role: Role, flight: InFlight, width: int, *, cursor: bool) -> Line:
    """State, side, what it is for, bytes against what is expected, rate and time left."""
    mark = FLIGHTS[flight.state]
    word = "unsafe-write" if flight.final_name else str(flight.state)
    left = line(
        Piece(CURSOR if cursor else " ", Ink.ACCENT), "  ", Piece(pad(word, _STATE), mark.ink), pad(str(role), 9)
    )
    right = (*_flight_figures(flight, width), Piece(" "))
    room = width - width_of(left) - width_of(right) - 1
    target = visible(flight.target or flight.name) + ("/" if flight.kind is Kind.DIRECTORY else "")
    return spread((*left, Piece(pad(target, max(4, room)), Ink.STRONG)), right, width, gap=1)


def _flight_figures(flight: InFlight, width: int) -> tuple[Piece, ...]:
    expected = flight.expected_size
    ink = FLIGHTS[flight.state].ink
    pieces: list[Piece] = []
    if expected and width >= 70:
        pieces += [*bar(flight.size / expected, 12, ink), Piece(" ")]
    known = measures.of_size(flight.size, expected) if expected else measures.size(flight.size)
    pieces.append(Piece(pad(known, 11, right=True)))
    rate = flight.bytes_per_second
    if width >= 60:
        pieces.append(Piece(pad(measures.rate(rate) if rate else "", 8, right=True)))
        left = measures.age(max(0, expected - flight.size) / rate) if rate and expected else ""
        pieces.append(Piece(pad(left, 5, right=True)))
    return tuple(pieces)


def _expectation(flight: InFlight) -> str:
    """How many bytes are there, and where it is known from how many there will be."""
    if not flight.expected_size:
        return f"{flight.size:,} bytes so far"
    source = "announced" if flight.announced else "usual"
    return f"{flight.size:,} of {flight.expected_size:,} bytes ({source})"


def flight_detail(found: tuple[Role, InFlight] | None, view: View, width: int) -> tuple[Line, ...]:
    if found is None:
        return (line(" Nothing is being written, and no leftover part is on either side."),)
    role, flight = found
    lines = [line(Piece(f" {visible(flight.name)}", Ink.STRONG), f" on {role}"), line(f" {flight.reason}")]
    where = ", staged in the control directory" if flight.staged else ""
    lines.append(line(f" a {flight.kind}{where}; {_expectation(flight)}"))
    if flight.writer is not None:
        lines.append(line(f" writer {flight.writer.shown(32)} is alive"))
    else:
        lines.append(line(Piece(" no writer that this user may see", Ink.MUTED)))
    changed = measures.span(view.now - flight.mtime_ns / 1e9)
    lines.append(
        line(Piece(f" last changed {changed} ago; {'our own part' if flight.ours else 'not ours'}", Ink.MUTED))
    )
    if flight.final_name:
        words = " Written under its final name: a crash now leaves half a file that looks whole. Publish it atomically."
        lines.append(line(Piece(words, Ink.WARN)))
    return tuple(part for whole in lines for part in wrap(whole, width - 1, indent="   "))
