"""Whether something was cut short and nobody goes on with it: then the recovery screen opens by itself, once."""

from __future__ import annotations

from ckptdeck.core.states import FlightState
from ckptdeck.core.survey import Survey
from ckptdeck.tui.view_model.view import View, flights

SURE_AFTER = 5.0
"""Seconds that bookkeeping must have looked unfinished: a deletion or a publish of another process passes through such
a state. A part is surer, its lock tells whether its writer lives."""


class InterruptionWatch:
    """What is cut short in this session by its own operator is no news to them."""

    def __init__(self) -> None:
        self._told = False
        self._seen: Survey | None = None
        self._since: float | None = None
        self._asked: tuple[Survey, bool] | None = None
        """Of very many names it is asked once for each survey, and not each second."""

    def due(self, view: View) -> bool:
        """True when the recovery screen should open now. Stays True until `told`."""
        survey = view.survey
        if self._told or survey is None or view.working:
            self._since = None
            return False
        if _leftover_parts(survey, _cut_here(view)):
            return True
        if not self._is_unfinished(survey):
            self._since = None
        elif self._since is None:
            self._seen, self._since = survey, view.now
        return self._since is not None and self._seen is not survey and view.now - self._since >= SURE_AFTER

    def _is_unfinished(self, survey: Survey) -> bool:
        if self._asked is None or self._asked[0] is not survey:
            self._asked = survey, _unfinished_bookkeeping(survey)
        return self._asked[1]

    def told(self) -> None:
        """It has opened, by itself or by a key."""
        self._told = True


def _cut_here(view: View) -> frozenset[tuple[str, str]]:
    """(checkpoint, side) that jobs of this console stopped at."""
    stopped = [job.progress for job in view.snapshot.jobs if job.progress is not None]
    return frozenset((progress.name, progress.side) for progress in stopped)


def _leftover_parts(survey: Survey, cut_here: frozenset[tuple[str, str]]) -> bool:
    return any(
        flight.ours
        and flight.state in (FlightState.STALE, FlightState.READY)
        and cut_here.isdisjoint({(flight.target, role.value), (flight.name, role.value)})
        for role, flight in flights(survey)
    )


def _unfinished_bookkeeping(survey: Survey) -> bool:
    """A deletion without an end, or an announced checkpoint that is not recorded yet."""
    for side in survey.sides:
        if side.inventory.removing or side.inventory.orphan_next:
            return True
        staged = {flight.target for flight in side.inventory.in_flight}
        if any(s.next_record is not None and s.name not in staged and not s.held for s in side.inventory.sightings):
            return True
    return False
