"""Long work in threads of its own: one job of a lane at a time, each with a state that its own thread sets.

Cancelling and pausing are requests. A job is `cancelling` until its thread has really come back, and `paused` only
once the thread stands still. A paused job leaves its lane to others and queues up again when it goes on.

The threads are daemons. `stop` is where the program waits for them, for a bounded time; were they not, the interpreter
would wait for them without bound after the terminal was given back: for ever when a job is paused, or sits in an fsync
of a disk that does not answer. Cutting a thread off there is what a power cut does, and the core is built so that it
leaves nothing under a wrong name: the next start finishes or discards the part.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from ckptdeck.core.errors import Cancelled, CkptdeckError, Refused, UsageError, from_os_error
from ckptdeck.core.plans.plan import ItemResult, PlanItem
from ckptdeck.core.progress import CancelToken, Clock, Effort, Progress
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.meter import Meter
from ckptdeck.monitor.snapshot import Job, JobState

OnResult = Callable[[ItemResult], None]
Work = Callable[[Effort, OnResult], None]
"""Does it, telling each item's result. Raises Cancelled when told to stop, CkptdeckError when it failed."""

TELL_EVERY = 0.2
"""Seconds between two pictures of the same running job, at least."""
_HISTORY = 100
"""Jobs that are over and still listed, at most."""
_RESULTS = 20_000
"""Results of jobs that are over and still listed, at most; the newest job keeps all of its own."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a job is to do, and what is said about it."""

    action: str
    title: str
    command: str
    lane: str
    work: Work
    total_size: int = 0
    bytes_of: Callable[[PlanItem], int] = lambda item: item.size
    """What an item that has ended counts of `total_size`."""
    items: int = 0
    passes: Mapping[str, int] = field(default_factory=dict)
    """See Meter."""
    bytes_per_second: float | None = None
    if_we_quit: str = ""


def _is_over(_effort: Effort, _on_result: OnResult) -> None:
    """In place of the work of a job that has ended."""


class _Task:
    """A job in the making; every field is guarded by the runner's condition."""

    def __init__(self, job: Job, order: Order) -> None:
        self.job = job
        self.order = order
        self.token = CancelToken()
        self.meter = Meter(order.total_size, order.passes)
        self.results: list[ItemResult] = []
        self.progress: Progress | None = None
        self.pause_wanted = False
        self.thread: threading.Thread | None = None
        self.told_at: float | None = None


class JobRunner:
    """Runs orders. Every method returns at once, except `wait` and `stop`.

    `changed` gets all jobs, newest first, after every change of state and at most five times a second for progress;
    it is called with the runner's lock held and must neither block nor call back. `ended` gets a job just before it
    is seen to be over, on the job's own thread. `prepare` runs first thing on each job's thread.
    """

    def __init__(
        self,
        clock: Clock,
        changed: Callable[[tuple[Job, ...]], None],
        *,
        ended: Callable[[Job], None] = lambda _job: None,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self._clock = clock
        self._changed = changed
        self._ended = ended
        self._prepare = prepare
        self._turn = threading.Condition()
        self._tasks: dict[int, _Task] = {}
        self._over: deque[int] = deque()
        self._waiting: list[_Task] = []
        self._holders: dict[str, _Task] = {}
        self._numbers = itertools.count(1)
        self._closing = False

    def submit(self, order: Order) -> int:
        """Queues the order behind others of its lane; the job's id."""
        with self._turn:
            if self._closing:
                raise Refused("No new work is taken: the console is ending", guard="closing")
            job = Job(
                id=next(self._numbers),
                action=order.action,
                title=order.title,
                command=order.command,
                state=JobState.QUEUED,
                lane=order.lane,
                submitted_at=self._clock.now(),
                total_size=order.total_size,
                items=order.items,
                if_we_quit=order.if_we_quit,
            )
            task = _Task(job, order)
            self._tasks[job.id] = task
            self._waiting.append(task)
            self._tell(task)
            self._give_lanes()
            return job.id

    def cancel(self, job: int) -> None:
        """Asks the job to stop at its next safe point; nothing for one that is over."""
        with self._turn:
            task = self._find(job)
            never_ran = self._cancel(task)
        if never_ran:
            self._end(task, JobState.CANCELLED, "")

    def pause(self, job: int) -> None:
        """Asks the job to stand still between two chunks."""
        with self._turn:
            self._find(job).pause_wanted = True

    def resume(self, job: int) -> None:
        """Lets a paused job go on, as soon as its lane is free."""
        with self._turn:
            self._find(job).pause_wanted = False
            self._turn.notify_all()

    def wait(self, job: int, timeout: float) -> bool:
        """Waits at most `timeout` seconds of real time for the job; True when it is over."""
        with self._turn:
            task = self._find(job)
            return self._turn.wait_for(lambda: task.job.state.over, timeout)

    def stop(self, timeout: float) -> bool:
        """Cancels everything and waits at most `timeout` seconds of real time; True when nothing runs any more."""
        with self._turn:
            self._closing = True
            queued = [task for task in self._tasks.values() if self._cancel(task)]
        for task in queued:
            self._end(task, JobState.CANCELLED, "")
        with self._turn:
            return self._turn.wait_for(self._all_over, timeout)

    # --- on the job's own thread

    def _run(self, task: _Task) -> None:
        self._prepare()
        with self._turn:
            if task.job.state is JobState.QUEUED:
                task.job = replace(task.job, state=JobState.RUNNING)
            task.job = replace(task.job, started_at=self._clock.now())
            self._tell(task)
        state, error = self._outcome(task)
        self._end(task, state, error)

    def _outcome(self, task: _Task) -> tuple[JobState, str]:
        effort = Effort(
            report=lambda progress: self._report(task, progress),
            cancel=task.token,
            bytes_per_second=task.order.bytes_per_second,
        )
        try:
            task.token.check()
            task.order.work(effort, lambda result: self._take_result(task, result))
        except Cancelled:
            return JobState.CANCELLED, ""
        except CkptdeckError as error:
            return JobState.FAILED, str(error)
        except OSError as error:
            return JobState.FAILED, str(from_os_error(error, task.order.title))
        except Exception as error:  # noqa: BLE001 - a bug must end as a failed job, not as a thread that vanished
            return JobState.FAILED, f"This is a bug in ckptdeck: {type(error).__name__}: {error}"
        return JobState.DONE, ""

    def _report(self, task: _Task, progress: Progress) -> None:
        """Called between two chunks: the place where a job can stand still."""
        with self._turn:
            task.progress = progress
            task.meter.take(progress, self._clock.monotonic())
            self._tell_progress(task)
            if task.pause_wanted and not task.token.cancelled:
                self._stand_still(task)

    def _take_result(self, task: _Task, result: ItemResult) -> None:
        with self._turn:
            task.results.append(result)
            task.meter.item_ended(task.order.bytes_of(result.item))
            self._tell_progress(task)

    def _stand_still(self, task: _Task) -> None:
        """Until asked to go on and given the lane again, or to stop; a cancel is left for the work to notice."""
        self._leave_lane(task)
        self._set_state(task, JobState.PAUSED)
        self._turn.wait_for(lambda: task.token.cancelled or not task.pause_wanted)
        if not task.token.cancelled:
            self._waiting.append(task)
            self._set_state(task, JobState.QUEUED)
            self._give_lanes()
            self._turn.wait_for(lambda: task.token.cancelled or self._holders.get(task.order.lane) is task)
        if task.token.cancelled:
            return
        task.meter.forget_pace()
        self._set_state(task, JobState.RUNNING)

    def _end(self, task: _Task, state: JobState, error: str) -> None:
        with self._turn:
            over = replace(
                self._picture(task),
                state=state,
                error=error,
                ended_at=self._clock.now(),
                bytes_per_second=None,
                eta=None,
            )
        self._ended(over)
        with self._turn:
            task.job = over
            task.thread = None
            self._leave_lane(task)
            task.order = replace(task.order, work=_is_over)  # what it worked with holds a whole survey
            self._remember_over(task)
            self._changed(self._jobs())
            self._turn.notify_all()

    # --- with the lock held

    def _find(self, job: int) -> _Task:
        task = self._tasks.get(job)
        if task is None:
            raise UsageError(f"There is no job {job}", next_step="The jobs screen lists those that are known")
        return task

    def _cancel(self, task: _Task) -> bool:
        """True when the task never got a thread, so that the caller has to end it."""
        if task.job.state.over or task.token.cancelled:
            return False
        task.token.cancel()
        if task in self._waiting:
            self._waiting.remove(task)
        if task.thread is None:
            return True
        self._set_state(task, JobState.CANCELLING)
        self._turn.notify_all()
        return False

    def _give_lanes(self) -> None:
        for task in tuple(self._waiting):
            if task.order.lane in self._holders:
                continue
            self._holders[task.order.lane] = task
            self._waiting.remove(task)
            if task.thread is None:
                task.thread = threading.Thread(target=self._run, args=(task,), name=f"job {task.job.id}", daemon=True)
                task.thread.start()
        self._turn.notify_all()

    def _leave_lane(self, task: _Task) -> None:
        if self._holders.get(task.order.lane) is task:
            del self._holders[task.order.lane]
            self._give_lanes()

    def _all_over(self) -> bool:
        return all(task.job.state.over for task in self._tasks.values())

    def _remember_over(self, task: _Task) -> None:
        """Among those that are over, and drops what has been over for longest."""
        self._over.append(task.job.id)
        held = sum(len(self._tasks[job].results) for job in self._over)
        while len(self._over) > _HISTORY or (held > _RESULTS and len(self._over) > 1):
            dropped = self._tasks.pop(self._over.popleft())
            held -= len(dropped.results)

    def _set_state(self, task: _Task, state: JobState) -> None:
        task.job = replace(task.job, state=state)
        self._tell(task)

    def _tell_progress(self, task: _Task) -> None:
        now = self._clock.monotonic()
        if task.told_at is None or now - task.told_at >= TELL_EVERY:
            task.told_at = now
            self._tell(task)

    def _tell(self, task: _Task) -> None:
        task.job = self._picture(task)
        self._changed(self._jobs())

    def _picture(self, task: _Task) -> Job:
        running = task.job.state is JobState.RUNNING
        return replace(
            task.job,
            progress=task.progress,
            total_done=task.meter.done,
            bytes_per_second=task.meter.bytes_per_second if running else None,
            eta=task.meter.eta if running else None,
            results=tuple(task.results),
        )

    def _jobs(self) -> tuple[Job, ...]:
        return tuple(task.job for task in reversed(self._tasks.values()))
