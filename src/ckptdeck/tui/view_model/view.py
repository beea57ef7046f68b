"""Everything a screen is painted from: one snapshot, the time, and how the console stands to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import tzinfo
from enum import StrEnum

from ckptdeck.core.sighting import InFlight
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.survey import Step, Survey
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.snapshot import Job, JobState, Snapshot
from ckptdeck.tui.key_map import AS_BUILT, KeyMap


class Lock(StrEnum):
    """Whether actions that change files may be asked for."""

    LOCKED = "LOCKED"
    UNLOCKED = "UNLOCKED"
    READ_ONLY = "READ-ONLY"


@dataclass(frozen=True, slots=True)
class View:
    """`now` is wall clock seconds; `zone` None means local time. Make one with `look`."""

    snapshot: Snapshot
    now: float
    zone: tzinfo | None
    lock: Lock
    busy: Mapping[tuple[str, str], Job] = field(default_factory=dict)
    """(checkpoint name, side) → the job that works on it at this moment."""
    planning: str = ""
    """The action whose plan is being thought over at this moment."""
    keys: KeyMap = AS_BUILT
    """The keys that sentences name."""

    @property
    def survey(self) -> Survey | None:
        return self.snapshot.survey

    @property
    def working(self) -> tuple[Job, ...]:
        """Jobs that are not over, the running ones first."""
        unfinished = [job for job in self.snapshot.jobs if not job.state.over]
        return tuple(sorted(unfinished, key=lambda job: (job.state is JobState.QUEUED, job.id)))

    def silent_since(self, side: Role) -> float | None:
        """When the file system of `side` last answered; None while it does."""
        activity = self.snapshot.activity.get(side)
        return None if activity is None else activity.silent_since


def look(
    snapshot: Snapshot, now: float, zone: tzinfo | None, lock: Lock, planning: str = "", keys: KeyMap = AS_BUILT
) -> View:
    """The view of a snapshot at `now`."""
    busy = {
        (job.progress.name, job.progress.side): job
        for job in snapshot.jobs
        if job.progress is not None and job.state in (JobState.RUNNING, JobState.PAUSED, JobState.CANCELLING)
    }
    return View(snapshot, now, zone, lock, busy, planning, keys)


def bare(survey: Survey) -> bool:
    """True when a readable side has no control directory yet: day one."""
    return any(side.inventory.condition is Condition.UNINITIALISED for side in survey.sides)


def flights(survey: Survey) -> tuple[tuple[Role, InFlight], ...]:
    """What is in flight on both sides, newest step first."""
    found = [(side.role, flight) for side in survey.sides for flight in side.inventory.in_flight]
    return tuple(sorted(found, key=lambda pair: -1 if pair[1].step is None else pair[1].step, reverse=True))


def step_of_resume(survey: Survey) -> Step | None:
    """The row of the resume point."""
    if survey.resume is None:
        return None
    return next((step for step in survey.steps if step.name == survey.resume.name), None)
