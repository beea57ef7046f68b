"""The first lines: who, the answer to "can I resume", and what must be said beside it."""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import CANDIDATES, Condition, FlightState, Role, State, Verdict
from ckptdeck.core.survey import ResumePoint, Survey
from ckptdeck.monitor.snapshot import Job
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.cells import seconds_left
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, fit, line, pad, spread, spread_first, width_of, wrap
from ckptdeck.tui.view_model.view import Lock, View, bare, step_of_resume

_LOCK_INK = {Lock.LOCKED: Ink.STRONG, Lock.UNLOCKED: Ink.WARN, Lock.READ_ONLY: Ink.STRONG}


def header_line(view: View, width: int, screen: str = "") -> Line:
    """` ckptdeck RUN   LOCKED   2 trouble   14:32:07`; `screen` names one that is not the overview."""
    clock = Piece(measures.clock(view.now, view.zone), Ink.MUTED)
    trouble = len(view.snapshot.trouble)
    alarm = Piece(f"{trouble} trouble", Ink.BAD) if trouble else Piece("no trouble", Ink.GOOD)
    if view.survey is None:
        alarm = Piece("scanning", Ink.BUSY) if not view.snapshot.error else Piece("no survey", Ink.BAD)
    right = line(alarm, "   ", clock, " ")
    lock = Piece(view.lock, _LOCK_INK[view.lock])
    room = width - width_of(right) - lock.width - 4
    title = visible(view.snapshot.title) + (f" · {screen}" if screen else "")
    left = [Piece(" ckptdeck ", Ink.MUTED), Piece(title, Ink.STRONG)]
    if width_of(left) > room:
        left = [Piece(" "), Piece(pad(title, max(4, min(len(title), room - 1))), Ink.STRONG)]
    middle = max(width_of(left) + 2, (width - lock.width) // 2)
    if middle + lock.width + 2 + width_of(right) > width:
        middle = width_of(left) + 1
    left += [Piece(" " * (middle - width_of(left))), lock]
    return spread_first(tuple(left), (right, line(alarm, " ")), width, gap=1)


def resume_line(view: View, width: int) -> Line:
    """The first answer: the step, how sure that is, and when the next save is due."""
    answer = resume_answer(view, Place.OVERVIEW)
    upcoming = _next_save(view)
    return spread(answer, (*upcoming, Piece(" ")) if upcoming else (), width)


def resume_answer(view: View, place: Place) -> Line:
    """`RESUME 2500  whole on both sides, verified 3m ago`, or why there is no answer yet, read at `place`."""
    survey = view.survey
    if survey is None:
        words = view.snapshot.error or f"scanning {visible(view.snapshot.primary)} …"
        return _resume("?", Ink.BUSY if not view.snapshot.error else Ink.BAD, words)
    if survey.resume is None:
        return _no_resume(survey, key_word(view.keys, place, "adopt"))
    point = survey.resume
    label = visible(point.name) if point.step is None else str(point.step)
    job = next((job for (name, _), job in view.busy.items() if name == point.name and not point.certain), None)
    if job is not None:
        return _resume(f"{label}?", Ink.WARN, _checking(job, point.verified_at, view.now))
    if not point.certain:
        return _resume(
            f"{label}?", Ink.WARN, f"{_unproven(point, survey, view.now)}; {_proof(point, survey, view.keys, place)}"
        )
    step = step_of_resume(survey)
    where = "both sides" if step is not None and step.verdict is Verdict.SAFE else str(point.side)
    words = f"whole on {where}"
    if point.verified_at is not None:
        words += f", verified {measures.since(view.now, point.verified_at)} ago"
    return _resume(label, Ink.GOOD, words)


def _resume(label: str, ink: Ink, words: str) -> Line:
    return line(" ", Piece("RESUME", Ink.STRONG), " ", Piece(label, ink), "  ", words)


def _checking(job: Job, at: float | None, now: float) -> str:
    assert job.progress is not None
    done = measures.percent(job.progress.done, job.progress.total)
    left = seconds_left(job)
    before = "" if at is None else f"verified {measures.since(now, at)} ago; "
    return f"checking {done}{f', {left}' if left else ''} ({before}size and structure fit)"


def _unproven(point: ResumePoint, survey: Survey, now: float) -> str:
    claim = {
        State.SIZE_ONLY: "right size, content not proven",
        State.STRUCTURE_OK: "structure complete, no record",
        State.VERIFIED: "verified, receipt no longer stands",
    }.get(point.state, str(point.state))
    if point.verified_at is not None:
        claim += f" (verified {measures.since(now, point.verified_at)} ago)"
    return f"{claim} on {point.side}"


def _proof(point: ResumePoint, survey: Survey, keys: KeyMap, place: Place) -> str:
    if bare(survey) or point.state is State.STRUCTURE_OK:
        return f"{key_word(keys, place, 'adopt')} records it"
    return f"{key_word(keys, place, 'verify')} proves it"


def _no_resume(survey: Survey, adopt: str) -> Line:
    unreadable = [side for side in survey.sides if not side.inventory.condition.readable]
    if unreadable:
        return _resume("?", Ink.BAD, f"{' and '.join(str(side.role) for side in unreadable)} cannot be read")
    there = [checkpoint for side in survey.sides for checkpoint in side.present]
    if not there:
        return _resume("none", Ink.PLAIN, "nothing saved yet: a fresh run")
    for step in survey.steps:
        for checkpoint in (step.primary, step.mirror):
            if step.step is not None and checkpoint is not None and checkpoint.state in CANDIDATES:
                words = f"{checkpoint.state}, nothing is proven yet; {adopt} records it"
                return _resume(f"{step.step}?", Ink.WARN, words)
    return _resume("NONE", Ink.BAD, f"{counted(len(there), 'checkpoint')}, none of them whole")


def _next_save(view: View) -> Line:
    survey = view.survey
    if survey is None or not survey.primary.inventory.condition.readable:
        return BLANK
    flights = survey.primary.inventory.in_flight
    if any(f.state is FlightState.LIVE and (f.target, Role.PRIMARY) not in view.busy for f in flights):
        return line(Piece("saving now", Ink.BUSY))
    interval = survey.space[Role.PRIMARY].interval if Role.PRIMARY in survey.space else None
    saved = survey.primary.last_save
    if not interval or saved is None:
        return BLANK
    left = saved + interval - view.now
    if left >= 0:
        return line(Piece(f"next save in about {measures.span(left)}", Ink.MUTED))
    usual = f"usual {measures.span(interval)}"
    ink = Ink.WARN if -left > interval else Ink.MUTED
    return line(Piece(f"no save for {measures.span(view.now - saved)} ({usual})", ink))


def notice_lines(view: View, width: int, *, all_trouble: bool, limit: int) -> tuple[Line, ...]:
    """What must be said beside the figures: a side that is not there, day one, and, when asked for, all trouble."""
    survey = view.survey
    notices: list[Line] = []
    if survey is not None:
        for side in survey.sides:
            condition = side.inventory.condition
            if condition in (Condition.OK, Condition.UNINITIALISED) or not (condition.readable or survey.steps):
                continue  # nothing is wrong, or it stands in place of the rows
            if side.inventory.why:
                notices.append(line(Piece(f" {side.role}: ", Ink.BAD), side.inventory.why))
        if bare(survey) and not notices:
            notices.append(_day_one(survey, view))
    if all_trouble:
        notices += [line(Piece(" ! ", Ink.BAD), sentence) for sentence in view.snapshot.trouble]
        if not view.snapshot.trouble:
            notices.append(line(Piece(" no trouble", Ink.GOOD)))
    wrapped = [part for notice in notices for part in wrap(notice, width - 1, indent="   ")]
    if len(wrapped) > limit:
        wrapped[limit - 1] = fit((*wrapped[limit - 1], Piece(" " * width)), width - 1)
    return tuple(wrapped[:limit])


def _day_one(survey: Survey, view: View) -> Line:
    there = [checkpoint for side in survey.sides for checkpoint in side.present]
    primary = survey.primary.present
    held = f"{counted(len(primary), 'checkpoint')}, {measures.size(sum(c.size for c in primary))}"
    if view.lock is Lock.READ_ONLY or not there:
        return line(Piece(" Nothing is recorded here yet, and nothing is created by looking.", Ink.ACCENT))
    goal = "record and mirror" if survey.mirror is not None else "record"
    adopt = Piece(key_word(view.keys, Place.OVERVIEW, "adopt"), Ink.KEY)
    return line(Piece(" Nothing is recorded yet. ", Ink.ACCENT), adopt, f" plans to {goal} {held}")
