"""How long work tells what it does, and how it is told to stop or to slow down."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from ckptdeck.core.errors import Cancelled
from ckptdeck.core.values import dataclass


class Clock(Protocol):
    """Time as the core sees it: always passed in, so that a year runs in a test."""

    def now(self) -> float:
        """Wall clock, seconds since 1970 (UTC)."""

    def monotonic(self) -> float:
        """A clock that only moves forward, in seconds; for intervals and rates."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One step forward in a long piece of work. Sizes in bytes."""

    phase: str
    """What is being done: "hash", "copy", "read back", "sync"."""
    name: str
    """The checkpoint."""
    side: str
    done: int
    total: int


Report = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """A report nobody listens to."""


class CancelToken:
    """Set from another thread; the working thread looks at it between chunks."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises Cancelled when somebody asked to stop."""
        if self._event.is_set():
            raise Cancelled("Cancelled", next_step="What was unfinished has no final name; the next run continues")


@dataclass(frozen=True, slots=True)
class Effort:
    """How one piece of long work behaves: who is told, who may stop it, how fast it may go."""

    report: Report = silent
    cancel: CancelToken | None = None
    bytes_per_second: float | None = None
    """None: as fast as it goes."""

    def check(self) -> None:
        if self.cancel is not None:
            self.cancel.check()


UNHURRIED = Effort()


class Pacer:
    """Keeps a stream of bytes at or under the rate of an effort, and asks while it waits whether to go on."""

    def __init__(self, clock: Clock, effort: Effort) -> None:
        self._clock = clock
        self._effort = effort
        self._started: float | None = None
        self._bytes = 0

    def spend(self, count: int) -> None:
        """Accounts for `count` bytes and waits as long as the rate asks for. Raises Cancelled."""
        rate = self._effort.bytes_per_second
        if rate is None:
            return
        now = self._clock.monotonic()
        if self._started is None:
            self._started = now
        self._bytes += count
        due = self._started + self._bytes / rate
        if due < now - 1.0:  # time that was not used, as in a pause, is not made up for by a burst
            self._started, self._bytes = now, 0
        while (left := due - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, 1.0))
            self._effort.check()
