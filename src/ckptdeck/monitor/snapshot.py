"""What the console gets from the engine: immutable pictures, and the few verbs it may say back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from ckptdeck.core.plans.plan import ItemResult, Plan
from ckptdeck.core.progress import Progress
from ckptdeck.core.samples import Sample
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.log import LogEntry as LogEntry

if TYPE_CHECKING:
    from concurrent.futures import Future

Answer = TypeVar("Answer")


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    """Asked to stop; the thread is still inside a call that cannot be interrupted."""
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        return self in (JobState.CANCELLED, JobState.DONE, JobState.FAILED)


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of long work. Times are wall clock seconds, rates bytes per second."""

    id: int
    action: str
    title: str
    command: str
    """The same as a line for a shell."""
    state: JobState
    lane: str
    """Jobs of one lane (a device) run one after the other."""
    submitted_at: float
    started_at: float | None = None
    ended_at: float | None = None
    progress: Progress | None = None
    total_done: int = 0
    total_size: int = 0
    """Bytes that have to go by, over all items of the job; 0 where only names change."""
    items: int = 0
    """How many results it will have."""
    bytes_per_second: float | None = None
    eta: float | None = None
    """Seconds left, None when it cannot be told."""
    results: tuple[ItemResult, ...] = ()
    error: str = ""
    """Why it failed, one paragraph, with the next step."""
    if_we_quit: str = ""
    """What happens to it when the console ends: "continues at the next start"."""


@dataclass(frozen=True, slots=True)
class SideActivity:
    """How the looking at one side goes."""

    scanning: bool = False
    silent_since: float | None = None
    """Wall clock time since which the file system has not answered; None while it does."""
    watching: str = "polling"
    """"events" when the kernel tells about changes, else "polling"."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything the console paints. `version` grows by one with every change."""

    version: int
    taken_at: float
    title: str
    """The run's id, or the primary's directory name."""
    survey: Survey | None
    """None until the first scan ended."""
    primary: str
    mirror: str | None
    """The directories as given."""
    activity: Mapping[Role, SideActivity] = field(default_factory=dict)
    samples: Mapping[Role, tuple[Sample, ...]] = field(default_factory=dict)
    """The space of each volume so far, oldest first."""
    jobs: tuple[Job, ...] = ()
    """Newest first."""
    log: tuple[LogEntry, ...] = ()
    """Newest first, bounded."""
    trouble: tuple[str, ...] = ()
    """What needs a person, one sentence each, worst first."""
    error: str = ""
    """Why there is no survey at all, when the scan itself failed."""


class Engine(Protocol):
    """The console's only counterpart. No method blocks on a file system."""

    def start(self) -> None:
        """Begins scanning and watching in threads of its own."""

    def stop(self, timeout: float) -> bool:
        """Asks every job to stop at a safe point and waits at most `timeout` seconds; True when all have."""

    def snapshot(self) -> Snapshot:
        """The newest picture; returns at once."""

    def rescan(self) -> None:
        """Looks again now."""

    def plan(self, action: str, names: Sequence[str] = (), **options: str) -> Plan:
        """Computes a plan over the newest survey (pure). Raises CkptdeckError with the reason when there is none.

        Of 10,000 checkpoints it takes about a second: a loop that paints has it asked with `ask`."""

    def ask(self, subject: str, question: Callable[[], Answer]) -> Future[Answer]:
        """Has a pure question answered in a thread of the engine; of each subject the newest one (desk.py)."""

    def submit(self, plan: Plan, confirmed_count: int | None = None) -> int:
        """Queues the plan; the job's id. A plan with a count is only carried out with that number confirmed."""

    def verify(self, names: Sequence[str] = ()) -> int:
        """Queues hashing of the named checkpoints, newest first, as one job per side; all recorded ones when empty.

        The id of the first job. Raises UsageError when nothing of it is recorded.
        """

    def cancel(self, job: int) -> None: ...

    def pause(self, job: int) -> None: ...

    def resume(self, job: int) -> None: ...

    def command_line(self, plan: Plan) -> str:
        """The plan as a line for a shell, directories included."""
