"""Two pieces of work on the same sets, taking turns at calls on shared names in an order the test decides."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.crash.faults import CHANGES, NAMING, Call, FaultyFileSystem, Killed

Work = Callable[[FaultyFileSystem], object]

_ON_NAMES = NAMING | {
    "open",
    "create",
    "unlink",
    "symlink",
    "make_directory",
    "remove_directory",
    "lstat",
    "list_directory",
    "read_link",
}
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

    def __init__(self, work: Work, pauses_at: Callable[[Call], bool]) -> None:
        self.fs = FaultyFileSystem(before=self._before)
        self.error: BaseException | None = None
        self.result: object = None
        self.done = False
        self._work = work
        self._pauses_at = pauses_at
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
        if not self._pauses_at(call):
            return
        if self._budget == 0:
            self._paused.release()
            self._go.acquire()
            if self._doomed:
                self.fs.die()
                return
        if self._budget is not None:
            self._budget -= 1


def play(works: tuple[Work, Work], schedule: Schedule, pauses_at: Callable[[Call], bool]) -> tuple[Actor, Actor]:
    """Runs both to their end under `schedule`, switching before calls that `pauses_at` picks."""
    actors = (Actor(works[0], pauses_at), Actor(works[1], pauses_at))
    first, other = actors[schedule.first], actors[1 - schedule.first]
    first.advance(schedule.lead)
    other.advance(schedule.answer)
    if schedule.crash:
        first.crash()
    first.advance(None)
    other.advance(None)
    return actors


def shared_paths(logs: tuple[Sequence[Call], Sequence[Call]]) -> frozenset[str]:
    """Paths that both look at or change and at least one changes: only there does the order of two calls matter."""
    touched = [{path for call in log for path in _touched(call)} for log in logs]
    changed = {path for log in logs for call in log for path in _changed(call)}
    return frozenset(touched[0] & touched[1] & changed)


def is_shared(call: Call, shared: frozenset[str]) -> bool:
    return not shared.isdisjoint(_touched(call))


def _touched(call: Call) -> frozenset[str]:
    """What a call on names sees or changes; "x/" stands for everything in the directory x. Nobody writes into a file
    another one reads, so calls on descriptors are private; a lock is not."""
    if call.name not in _ON_NAMES:
        return frozenset(call.paths) if call.name == "try_lock" else frozenset()
    return frozenset(call.paths) | _changed(call) | {f"{place}/" for path in call.paths for place in _on_the_way(path)}


def _changed(call: Call) -> frozenset[str]:
    """A name that comes or goes also changes the listing of its directory, and one of a directory all that is in it."""
    if call.name not in _ON_NAMES & CHANGES:
        return frozenset(call.paths) if call.name == "try_lock" else frozenset()
    inside = () if call.regular or call.name not in NAMING else (f"{path}/" for path in call.paths)
    return frozenset(call.paths) | {os.path.dirname(path) for path in call.paths} | frozenset(inside)


def _on_the_way(path: str) -> Iterator[str]:
    while path and path != "/":
        yield path
        path = os.path.dirname(path)


def schedules(shared_calls: tuple[int, int], *, stride: int = 1) -> Iterator[Schedule]:
    """Every way to switch at most twice, whoever begins, and each of them again with a crash at the second switch."""
    for first in (0, 1):
        for lead in range(0, shared_calls[first] + 1, stride):
            for answer in range(0, shared_calls[1 - first] + 1, stride):
                yield Schedule(first, lead, answer)
                yield Schedule(first, lead, answer, crash=True)
