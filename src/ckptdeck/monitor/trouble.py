"""What needs a person: one survey in, sentences out, worst first. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from ckptdeck.core.amounts import counted
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.states import BAD, CANDIDATES, Condition, FlightState, Role, State, Verdict
from ckptdeck.core.survey import Side, Step, Survey

FEW_FIT = 2
"""Fewer free places than this on a side are trouble: the next save may be the one that fails."""

_HOPE = CANDIDATES | {State.VERIFIED}


class Rank(IntEnum):
    """How bad, worst first."""

    SIDE = 0
    RESUME = 1
    LOST = 2
    CONTENT = 3
    DOUBT = 4
    SPACE = 5
    WRITING = 6
    SETTING = 7


Finding = tuple[Rank, str]


def find_trouble(survey: Survey) -> tuple[str, ...]:
    """One sentence for everything that needs a person, worst first, newest first among equals.

    Candidates, foreign names, copies a retention removed and a mirror that lags behind are none.
    """
    findings = [
        *_sides(survey),
        *_resume(survey),
        *_steps(survey),
        *_flights(survey),
        *_space(survey),
    ]
    return tuple(text for _, text in sorted(findings, key=lambda finding: finding[0]))


def _sides(survey: Survey) -> Iterator[Finding]:
    for side in survey.sides:
        inventory = side.inventory
        if inventory.condition in (Condition.OK, Condition.UNINITIALISED):
            continue
        why = f": {inventory.why}" if inventory.why else ""
        yield Rank.SIDE, f"{side.role} {visible(inventory.root)} is {inventory.condition.words}{why}"


def _resume(survey: Survey) -> Iterator[Finding]:
    states = {c.state for side in survey.sides for c in side.checkpoints if c.sighting.identity is not None}
    states.discard(State.FOREIGN)
    if survey.resume is None and states and not states & _HOPE:
        yield Rank.RESUME, "No checkpoint on either side can be resumed from"


def _steps(survey: Survey) -> Iterator[Finding]:
    for step in survey.steps:
        name = visible(step.name)
        if step.verdict is Verdict.DIVERGED:
            yield Rank.CONTENT, f"{name} differs between the sides and both match their own records: {step.reason}"
        elif step.verdict is Verdict.LOST:
            yield Rank.LOST, f"{name} is whole on no side: {step.reason}"
        yield from _copies(survey, step)


def _copies(survey: Survey, step: Step) -> Iterator[Finding]:
    for side in survey.sides:
        checkpoint = step.on(side.role)
        if checkpoint is None or not side.inventory.condition.readable:
            continue
        rank = _rank(checkpoint)
        if rank is not None:
            yield rank, _sentence(checkpoint, side)


def _rank(checkpoint: Checkpoint) -> Rank | None:
    if checkpoint.state in BAD:
        return Rank.CONTENT
    if checkpoint.state in (State.MISSING, State.CHANGED, State.SUSPECT, State.UNREADABLE):
        return Rank.DOUBT
    if checkpoint.state is State.UNSAFE_WRITE:
        return Rank.WRITING
    return None


def _sentence(checkpoint: Checkpoint, side: Side) -> str:
    name = visible(checkpoint.name)
    if checkpoint.state is State.UNSAFE_WRITE:
        return f"{name} on {side.role} is being written under its final name: {checkpoint.reason}"
    return f"{name} on {side.role} is {checkpoint.state}: {checkpoint.reason}"


def _flights(survey: Survey) -> Iterator[Finding]:
    for side in survey.sides:
        for flight in side.inventory.in_flight:
            if flight.state is FlightState.STALE:
                yield Rank.WRITING, _left_behind(flight, side, "left by a writer that is gone")
            elif flight.state is FlightState.READY:
                yield Rank.WRITING, _left_behind(flight, side, "complete but not named yet; recover can finish it")


def _left_behind(flight: InFlight, side: Side, what: str) -> str:
    reason = f": {flight.reason}" if flight.reason else ""
    return f"{visible(flight.name)} on {side.role} is {what}{reason}"


def _space(survey: Survey) -> Iterator[Finding]:
    for role in Role:
        projection = survey.space.get(role)
        if projection is not None and projection.fits is not None and projection.fits < FEW_FIT:
            yield Rank.SPACE, f"{role} has room for {_count(projection.fits)}: {projection.basis}"
    if survey.shared_device:
        yield Rank.SETTING, "mirror is on the same device as primary: one dead disk takes both"


def _count(fits: int) -> str:
    return "no further checkpoint" if fits < 1 else counted(fits, "more checkpoint")
