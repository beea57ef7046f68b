"""Jobs: lanes, states set by the thread itself, pausing, cancelling, figures, and an end that is always told."""

from __future__ import annotations

import errno
import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from ckptdeck.core.errors import NoSpace, Refused, UsageError
from ckptdeck.core.plans.plan import Outcome
from ckptdeck.core.progress import Effort, Progress
from ckptdeck.monitor.job_runner import TELL_EVERY, JobRunner, OnResult, Order, Work
from ckptdeck.monitor.snapshot import Job, JobState
from tests.monitor.making import GUARD, StandingClock, result


class Board:
    """A runner whose pictures are kept, and can be waited for."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self.pictures: list[tuple[Job, ...]] = []
        self.ended: list[Job] = []
        self._told = threading.Condition()
        self.runner = JobRunner(self.clock, self._take, ended=self.ended.append)

    def _take(self, jobs: tuple[Job, ...]) -> None:
        with self._told:
            self.pictures.append(jobs)
            self._told.notify_all()

    def job(self, number: int) -> Job:
        return next(job for job in self.pictures[-1] if job.id == number)

    def until(self, number: int, *states: JobState) -> Job:
        with self._told:
            assert self._told.wait_for(lambda: self.job(number).state in states, GUARD), self.job(number)
            return self.job(number)

    def states_of(self, number: int) -> list[JobState]:
        """Every state the job was seen in, in order, without repetitions."""
        seen: list[JobState] = []
        for picture in self.pictures:
            for job in picture:
                if job.id == number and seen[-1:] != [job.state]:
                    seen.append(job.state)
        return seen


class Gated:
    """Work that goes chunk by chunk, one for each permission given."""

    def __init__(self, chunks: int = 1) -> None:
        self.chunks = chunks
        self.begun = threading.Event()
        self._may = threading.Semaphore(0)

    def allow(self, chunks: int = 1) -> None:
        self._may.release(chunks)

    def __call__(self, effort: Effort, on_result: OnResult) -> None:
        self.begun.set()
        for chunk in range(self.chunks):
            assert self._may.acquire(timeout=GUARD)
            effort.check()
            effort.report(Progress("copy", "x.pt", "mirror", chunk + 1, self.chunks))


@pytest.fixture
def board() -> Board:
    return Board()


def order(work: Work, *, lane: str = "device 1", total: int = 0) -> Order:
    return Order("mirror", "mirror x.pt", "ckptdeck mirror", lane, work, total_size=total)


def nothing(_effort: Effort, _on_result: OnResult) -> None:
    return


def test_a_job_goes_from_queued_over_running_to_done(board: Board) -> None:
    number = board.runner.submit(order(nothing))
    done = board.until(number, JobState.DONE)
    assert board.states_of(number) == [JobState.QUEUED, JobState.RUNNING, JobState.DONE]
    assert done.started_at == done.ended_at == board.clock.now()
    assert board.ended == [done]


def test_one_lane_is_worked_in_order_and_another_one_beside_it(board: Board) -> None:
    first, second, other = Gated(), Gated(), Gated()
    numbers = [board.runner.submit(order(work)) for work in (first, second)]
    elsewhere = board.runner.submit(order(other, lane="device 2"))
    assert first.begun.wait(GUARD)
    assert other.begun.wait(GUARD)
    assert board.job(numbers[1]).state is JobState.QUEUED
    assert not second.begun.is_set()
    first.allow()
    assert second.begun.wait(GUARD)
    assert board.job(numbers[0]).state is JobState.DONE
    second.allow()
    other.allow()
    board.until(numbers[1], JobState.DONE)
    board.until(elsewhere, JobState.DONE)


def test_a_cancelled_job_is_cancelling_until_its_thread_came_back(board: Board) -> None:
    work = Gated(chunks=2)
    number = board.runner.submit(order(work))
    assert work.begun.wait(GUARD)
    board.runner.cancel(number)
    assert board.job(number).state is JobState.CANCELLING
    board.runner.cancel(number)
    assert board.job(number).state is JobState.CANCELLING
    work.allow()
    assert board.until(number, JobState.CANCELLED).error == ""


def test_a_cancel_that_comes_too_late_does_not_undo_what_was_done(board: Board) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def last_fsync(_effort: Effort, _on_result: OnResult) -> None:
        begun.set()
        assert may_end.wait(GUARD)

    number = board.runner.submit(order(last_fsync))
    assert begun.wait(GUARD)
    board.runner.cancel(number)
    may_end.set()
    assert board.until(number, JobState.DONE, JobState.CANCELLED).state is JobState.DONE


def test_a_queued_job_that_is_cancelled_never_runs(board: Board) -> None:
    first, second = Gated(), Gated()
    running = board.runner.submit(order(first))
    queued = board.runner.submit(order(second))
    board.runner.cancel(queued)
    assert board.job(queued).state is JobState.CANCELLED
    first.allow()
    board.until(running, JobState.DONE)
    assert not second.begun.is_set()
    assert [job.id for job in board.ended] == [queued, running]


def test_a_paused_job_stands_still_leaves_its_lane_and_goes_on_when_it_is_free(board: Board) -> None:
    work, visitor = Gated(chunks=2), Gated()
    number = board.runner.submit(order(work))
    assert work.begun.wait(GUARD)
    board.runner.pause(number)
    assert board.job(number).state is JobState.RUNNING, "it is paused only once it stands still"
    work.allow()
    board.until(number, JobState.PAUSED)
    other = board.runner.submit(order(visitor))
    assert visitor.begun.wait(GUARD)
    board.runner.resume(number)
    board.until(number, JobState.QUEUED)
    visitor.allow()
    board.until(other, JobState.DONE)
    board.until(number, JobState.RUNNING)
    work.allow()
    board.until(number, JobState.DONE)


def test_a_paused_job_can_be_cancelled(board: Board) -> None:
    work = Gated(chunks=2)
    number = board.runner.submit(order(work))
    board.runner.pause(number)
    work.allow(2)
    board.until(number, JobState.PAUSED)
    board.runner.cancel(number)
    board.until(number, JobState.CANCELLED)
    assert board.states_of(number)[-2:] == [JobState.CANCELLING, JobState.CANCELLED]


def test_a_job_that_waits_for_its_lane_again_can_be_cancelled(board: Board) -> None:
    work, visitor = Gated(chunks=2), Gated()
    number = board.runner.submit(order(work))
    board.runner.pause(number)
    work.allow(2)
    board.until(number, JobState.PAUSED)
    other = board.runner.submit(order(visitor))
    assert visitor.begun.wait(GUARD)
    board.runner.resume(number)
    board.until(number, JobState.QUEUED)
    board.runner.cancel(number)
    board.until(number, JobState.CANCELLED)
    visitor.allow()
    board.until(other, JobState.DONE)


def test_progress_is_told_at_most_five_times_a_second(board: Board) -> None:
    reports = 1000
    step = 0.001

    def busy(effort: Effort, _on_result: OnResult) -> None:
        for done in range(1, reports + 1):
            effort.report(Progress("copy", "x.pt", "mirror", done, reports))
            board.clock.advance(step)

    number = board.runner.submit(order(busy, total=reports))
    done = board.until(number, JobState.DONE)
    changes_of_state = 3
    assert 3 <= len(board.pictures) - changes_of_state <= reports * step / TELL_EVERY + 1
    assert done.total_done == reports
    assert done.progress is not None
    assert done.progress.done == reports


def test_rate_and_time_left_come_from_what_went_by(board: Board) -> None:
    def steady(effort: Effort, _on_result: OnResult) -> None:
        for done in range(0, 500, 100):
            effort.report(Progress("copy", "x.pt", "mirror", done, 1000))
            board.clock.advance(1.0)

    number = board.runner.submit(order(steady, total=1000))
    board.until(number, JobState.DONE)
    running = [p[0] for p in board.pictures if p[0].state is JobState.RUNNING and p[0].progress is not None]
    assert running[0].bytes_per_second is None
    assert running[0].eta is None
    assert running[-1].bytes_per_second == pytest.approx(100.0)
    assert running[-1].eta == pytest.approx(6.0)
    assert board.job(number).eta is None


def test_results_are_kept_and_count_for_the_whole_job(board: Board) -> None:
    def two(effort: Effort, on_result: OnResult) -> None:
        effort.report(Progress("copy", "a.pt", "mirror", 60, 100))
        on_result(result("a.pt", Outcome.FAILED, "no"))
        on_result(result("b.pt"))

    number = board.runner.submit(order(two, total=200))
    done = board.until(number, JobState.DONE)
    assert [r.item.name for r in done.results] == ["a.pt", "b.pt"]
    assert done.total_done == 200


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (lambda: NoSpace("Full", next_step="Free some space"), "Full. Free some space."),
        (lambda: OSError(errno.EIO, "Input/output error"), "mirror x.pt failed: Input/output error (EIO)."),
        (lambda: ZeroDivisionError("oops"), "This is a bug in ckptdeck: ZeroDivisionError: oops"),
    ],
)
def test_a_failure_is_told_and_frees_the_lane(board: Board, raised: Callable[[], Exception], told: str) -> None:
    def fail(_effort: Effort, _on_result: OnResult) -> None:
        raise raised()

    number = board.runner.submit(order(fail))
    assert board.until(number, JobState.FAILED).error.startswith(told)
    board.until(board.runner.submit(order(nothing)), JobState.DONE)


def test_stop_ends_everything_at_a_safe_point(board: Board) -> None:
    running, queued = Gated(chunks=2), Gated()
    numbers = [board.runner.submit(order(work)) for work in (running, queued)]
    assert running.begun.wait(GUARD)
    assert board.runner.stop(0) is False
    assert board.job(numbers[0]).state is JobState.CANCELLING
    assert board.job(numbers[1]).state is JobState.CANCELLED
    running.allow()
    assert board.runner.stop(GUARD) is True
    assert board.job(numbers[0]).state is JobState.CANCELLED
    with pytest.raises(Refused):
        board.runner.submit(order(nothing))


def test_no_job_keeps_the_process_alive(board: Board) -> None:
    """A thread in an fsync that does not return must not hold the shell's prompt back."""
    daemons: list[bool] = []

    def look(_effort: Effort, _on_result: OnResult) -> None:
        daemons.append(threading.current_thread().daemon)

    board.until(board.runner.submit(order(look)), JobState.DONE)
    assert daemons == [True]


def test_the_thread_is_prepared_first() -> None:
    done: list[str] = []
    ended = threading.Event()
    runner = JobRunner(
        StandingClock(),
        lambda _jobs: None,
        ended=lambda _job: ended.set(),
        prepare=lambda: done.append(threading.current_thread().name),
    )
    runner.submit(order(lambda _effort, _on_result: done.append(threading.current_thread().name)))
    assert ended.wait(GUARD)
    assert done == ["job 1", "job 1"]


def test_an_unknown_job_is_said_to_be_unknown(board: Board) -> None:
    for verb in (board.runner.cancel, board.runner.pause, board.runner.resume):
        with pytest.raises(UsageError):
            verb(99)


def test_old_jobs_are_forgotten_and_running_ones_never(board: Board) -> None:
    work = Gated()
    running = board.runner.submit(order(work, lane="device 2"))
    for _ in range(110):
        board.until(board.runner.submit(order(nothing)), JobState.DONE)
    assert len(board.pictures[-1]) == 101
    assert board.job(running).state is JobState.RUNNING
    work.allow()
    board.until(running, JobState.DONE)


def test_a_job_that_is_over_holds_nothing_of_what_it_worked_with(board: Board) -> None:
    """A survey of 10,000 checkpoints, in a hundred jobs, for weeks."""

    class Picture:
        def work(self, _effort: Effort, _on_result: OnResult) -> None:
            pass

    picture = Picture()
    known = weakref.ref(picture)
    number = board.runner.submit(order(picture.work))
    board.until(number, JobState.DONE)
    del picture
    gc.collect()
    assert known() is None


def test_jobs_with_very_many_results_are_forgotten_earlier(board: Board) -> None:
    def many(_effort: Effort, on_result: OnResult) -> None:
        for _ in range(9_000):
            on_result(result("x.pt"))

    for _ in range(4):
        board.until(board.runner.submit(order(many)), JobState.DONE)
    assert [job.id for job in board.pictures[-1]] == [4, 3]
