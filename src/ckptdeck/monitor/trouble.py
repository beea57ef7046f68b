"""What needs a person: one survey in, sentences out, worst first. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from ckptdeck.core.amounts import counted, moment_text, size_text
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.space import bytes_still_needed, room_on
from ckptdeck.core.states import BAD, CANDIDATES, Condition, FlightState, Role, State, Verdict
from ckptdeck.core.survey import Projection, Side, Survey
from ckptdeck.core.values import dataclass

FEW_FIT = 2
"""Fewer free places than this on a side are trouble: the next save may be the one that fails."""

_HOPE = CANDIDATES | {State.VERIFIED}


class Rank(IntEnum):
    """How bad, worst first."""

    SIDE = 0
    RESUME = 1
    NO_ROOM = 2
    """What is saved next, or is being saved, does not fit."""
    LOST = 3
    CONTENT = 4
    DOUBT = 5
    SPACE = 6
    DIRECT = 7
    """Somebody writes under a final name."""
    LEFT_OVER = 8
    SETTING = 9


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that needs a person."""

    rank: Rank
    key: tuple[str, ...]
    """What it is about: the same as long as only the figures in its words change."""
    text: str
    side: Role | None = None
    name: str | None = None


def find_trouble(survey: Survey) -> tuple[str, ...]:
    """The findings as one sentence each."""
    return tuple(finding.text for finding in find_findings(survey))


def find_findings(survey: Survey) -> tuple[Finding, ...]:
    """Everything that needs a person, worst first, newest first among equals.

    Candidates, foreign names, copies a retention removed and a mirror that lags behind are none.
    """
    findings = [
        *_sides(survey),
        *_resume(survey),
        *_steps(survey),
        *_flights(survey),
        *_space(survey),
    ]
    return tuple(sorted(findings, key=lambda finding: finding.rank))


def _sides(survey: Survey) -> Iterator[Finding]:
    for side in survey.sides:
        inventory = side.inventory
        if inventory.condition in (Condition.OK, Condition.UNINITIALISED):
            continue
        why = f": {inventory.why}" if inventory.why else ""
        text = f"{side.role} {visible(inventory.root)} is {inventory.condition.words}{why}"
        yield Finding(Rank.SIDE, ("side", side.role, inventory.condition), text, side.role)


def _resume(survey: Survey) -> Iterator[Finding]:
    states = {c.state for side in survey.sides for c in side.checkpoints if c.sighting.identity is not None}
    states.discard(State.FOREIGN)
    if survey.resume is None and states and not states & _HOPE:
        yield Finding(Rank.RESUME, ("resume",), "No checkpoint on either side can be resumed from")


def _steps(survey: Survey) -> Iterator[Finding]:
    readable = [side for side in survey.sides if side.inventory.condition.readable]
    for step in survey.steps:
        if step.verdict is Verdict.DIVERGED:
            text = f"{visible(step.name)} differs between the sides and both match their own records: {step.reason}"
            yield Finding(Rank.CONTENT, ("step", step.name, step.verdict), text, name=step.name)
        elif step.verdict is Verdict.LOST:
            text = f"{visible(step.name)} is whole on no side: {step.reason}"
            yield Finding(Rank.LOST, ("step", step.name, step.verdict), text, name=step.name)
        for side in readable:
            checkpoint = step.on(side.role)
            if checkpoint is not None and checkpoint.state in _RANKS:
                key = ("copy", side.role, checkpoint.name, checkpoint.state)
                text = _sentence(checkpoint, side)
                yield Finding(_RANKS[checkpoint.state], key, text, side.role, checkpoint.name)


_RANKS = {
    **dict.fromkeys(BAD, Rank.CONTENT),
    **dict.fromkeys((State.MISSING, State.CHANGED, State.SUSPECT, State.UNREADABLE), Rank.DOUBT),
    State.UNSAFE_WRITE: Rank.DIRECT,
}


def _sentence(checkpoint: Checkpoint, side: Side) -> str:
    name = visible(checkpoint.name)
    if checkpoint.state is State.UNSAFE_WRITE:
        return f"{name} on {side.role} is being written under its final name: {checkpoint.reason}"
    return f"{name} on {side.role} is {checkpoint.state}: {checkpoint.reason}"


def _flights(survey: Survey) -> Iterator[Finding]:
    for side in survey.sides:
        for flight in side.inventory.in_flight:
            if flight.state is FlightState.STALE:
                yield _left_behind(flight, side, "left by a writer that is gone")
            elif flight.state is FlightState.READY:
                yield _left_behind(flight, side, "complete but not named yet; recover can finish it")


def _left_behind(flight: InFlight, side: Side, what: str) -> Finding:
    reason = f": {flight.reason}" if flight.reason else ""
    text = f"{visible(flight.name)} on {side.role} is {what}{reason}"
    return Finding(Rank.LEFT_OVER, ("flight", side.role, flight.name, flight.state), text, side.role, flight.name)


def _space(survey: Survey) -> Iterator[Finding]:
    for side in survey.sides:
        projection = survey.space.get(side.role)
        overflow = _overflow(side, survey)
        if overflow is not None:
            yield overflow
        elif projection is not None and projection.fits == 0:
            yield _next_does_not_fit(side.role, projection, survey)
        elif projection is not None and projection.fits is not None and projection.fits < FEW_FIT:
            text = f"{side.role} has room for {counted(projection.fits, 'more checkpoint')}: {projection.basis}"
            yield Finding(Rank.SPACE, ("space", side.role, "few"), text, side.role)
    if survey.shared_device:
        text = "mirror is on the same device as primary: one dead disk takes both"
        yield Finding(Rank.SETTING, ("shared-device",), text)


def _overflow(side: Side, survey: Survey) -> Finding | None:
    """What is being written to the volume right now is larger than what is free there."""
    volume = side.inventory.volume
    if volume is None or not side.inventory.condition.readable or not bytes_still_needed(side):
        return None
    to_come = sum(bytes_still_needed(each) for each in (survey.sides if survey.shared_device else (side,)))
    if to_come <= volume.free:
        return None
    text = (
        f"what is being written to {side.role} does not fit: "
        f"{size_text(to_come)} are still to come, {size_text(volume.free)} are free"
    )
    return Finding(Rank.NO_ROOM, ("space", side.role, "overflow"), text, side.role)


def _next_does_not_fit(role: Role, projection: Projection, survey: Survey) -> Finding:
    due = ""
    if projection.full_at is not None:
        due = f", due {moment_text(projection.full_at)}" if projection.full_at > survey.taken_at else ", due now"
    size = "" if projection.checkpoint_size is None else f"it takes {size_text(projection.checkpoint_size)}, "
    left_there = size_text(max(0, room_on(survey, role) or 0))
    text = f"the next save does not fit on {role}{due}: {size}{left_there} are left beside the reserve"
    return Finding(Rank.NO_ROOM, ("space", role, "none"), text, role)
