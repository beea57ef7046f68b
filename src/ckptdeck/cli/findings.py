"""Which exit code a picture of the two sides deserves: 7 beats 1 beats 0."""

from __future__ import annotations

from ckptdeck.core.states import FINDINGS, Condition, FlightState, Verdict
from ckptdeck.core.survey import Side, Survey

ALL_WELL = 0
FOUND = 1
VOLUME = 7


def exit_code_of(survey: Survey) -> int:
    """7 when a side cannot be read or is not for certain the set it should be, 1 when something needs a person, else 0.

    Candidates, foreign names, removed copies, a lagging mirror and unsafe writes are no findings.
    """
    if volume_code(survey):
        return VOLUME
    if any(map(_has_finding, survey.sides)):
        return FOUND
    if any(step.verdict is Verdict.DIVERGED for step in survey.steps):
        return FOUND
    return ALL_WELL


def volume_code(survey: Survey) -> int:
    """7 when a side cannot be read or is not for certain the set it should be, else 0."""
    conditions = {side.inventory.condition for side in survey.sides}
    return ALL_WELL if conditions <= {Condition.OK, Condition.UNINITIALISED} else VOLUME


def _has_finding(side: Side) -> bool:
    left = (FlightState.STALE, FlightState.READY)
    return (
        any(checkpoint.state in FINDINGS for checkpoint in side.checkpoints)
        or any(flight.state in left for flight in side.inventory.in_flight)
        or any(warning.code == "damaged-record" for warning in side.inventory.warnings)
    )
