"""Two pieces of work on the same sets, taking turns at calls on shared names in an order the test decides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.crash.faults import Call, FaultyFileSystem, Killed

Work = Callable[[FaultyFileSystem], object]

_PATIENCE = 30.0
"""Seconds after which an actor that neither pauses nor ends is called hung."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`first` makes `lead` shared calls, the other makes `answer`, then `first` ends and the other ends.

    That is two context switches before one of them is through. With `crash`, `first` dies instead of going on.
    """

    first: int
    lead: int
    answer: int
    crash: bool = False


class Actor:
    """One thread of work that pauses before its shared calls."""

    def __init__(self, work: Work, is_shared: Callable[[Call], bool]) -> None:
        self.fs = FaultyFileSystem(before=self._before)
        self.error: BaseException | None = None
        self.result: object = None
        self.done = False
        self._work = work
        self._is_shared = is_shared
        self._budget: int | None = 0
        self._doomed = False
        self._go = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def advance(self, shared_calls: int | None) -> None:
        """Lets it make that many shared calls (None: all that are left), and returns when it stands still."""
        if self.done:
            return
        self._budget = shared_calls
        self._go.release()
        if not self._paused.acquire(timeout=_PATIENCE):
            raise TimeoutError(f"hung after {self.fs.log[-1] if self.fs.log else 'no call'}")

    def crash(self) -> None:
        """Dies where it stands."""
        self._doomed = True
        self.advance(None)

    def _run(self) -> None:
        self._go.acquire()
        try:
            self.result = self._work(self.fs)
        except (Exception, Killed) as error:  # noqa: BLE001  # the test judges what the actor said
            self.error = error
        self.done = True
        self._paused.release()

    def _before(self, call: Call) -> None:
        if not self._is_shared(call):
            return
        if self._budget == 0:
            self._paused.release()
            self._go.acquire()
            if self._doomed:
                self.fs.die()
                return
        if self._budget is not None:
            self._budget -= 1


def play(works: tuple[Work, Work], schedule: Schedule, is_shared: Callable[[Call], bool]) -> tuple[Actor, Actor]:
    """Runs both to their end under `schedule`."""
    actors = (Actor(works[0], is_shared), Actor(works[1], is_shared))
    first, other = actors[schedule.first], actors[1 - schedule.first]
    first.advance(schedule.lead)
    other.advance(schedule.answer)
    if schedule.crash:
        first.crash()
    first.advance(None)
    other.advance(None)
    return actors


def shared_paths(logs: tuple[Sequence[Call], Sequence[Call]]) -> frozenset[str]:
    """Paths that both touch and at least one changes: only there does the order of two calls matter."""
    touched = [{path for call in log for path in call.paths} for log in logs]
    changed = {path for log in logs for call in log if call.changes for path in call.paths}
    return frozenset(touched[0] & touched[1] & changed)


def schedules(shared_calls: tuple[int, int], *, stride: int = 1) -> Iterator[Schedule]:
    """Every way to switch at most twice, whoever begins, and each of them again with a crash at the second switch."""
    for first in (0, 1):
        for lead in range(0, shared_calls[first] + 1, stride):
            for answer in range(0, shared_calls[1 - first] + 1, stride):
                yield Schedule(first, lead, answer)
                yield Schedule(first, lead, answer, crash=True)
