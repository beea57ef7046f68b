"""How far a whole job is, how fast it goes and how long it will take, from the progress of its single items."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ckptdeck.core.progress import Progress

BYTE_PHASES = frozenset({"hash", "copy", "read back"})
"""Phases whose figures are bytes of the checkpoint going by; others only say what is being waited for."""

_WINDOW = 10.0
"""Seconds of recent past a rate is taken over."""
_SHORTEST = 0.5
"""Seconds that must have passed before a rate means anything."""


class Meter:
    """Bytes done over all items of one job. Not safe for several threads; the job runner guards it.

    `passes` says how often the bytes of a named checkpoint go by (2 for a copy that is read back, 1 where it is not
    named); an item counts as half done when half of all its passes are. Items come one after the other, so what is
    reported belongs to the same item until that has its result, whatever name its file goes by just then.
    """

    def __init__(self, total: int, passes: Mapping[str, int]) -> None:
        self._total = total
        self._passes = passes
        self._finished = 0
        self._current = 0.0
        self._passes_now: int | None = None
        self._phase = ("", "")
        self._earlier = 0
        self._latest = 0
        self._worked = 0.0
        self._samples: deque[tuple[float, float]] = deque()

    @property
    def done(self) -> int:
        """Bytes, never more than the total."""
        return min(self._total, self._finished + int(self._current))

    def take(self, progress: Progress, at: float) -> None:
        """One report of one item; `at` on the monotonic clock."""
        if progress.phase not in BYTE_PHASES:
            return
        if self._passes_now is None:
            self._passes_now = self._passes.get(progress.name, 1)
        phase = (progress.phase, progress.side)
        if phase != self._phase:
            self._earlier += self._latest
            self._phase = phase
        self._latest = progress.done
        passed = (self._earlier + self._latest) / self._passes_now
        share = max(self._current, min(passed, float(progress.total)))
        self._worked += share - self._current
        self._current = share
        self._samples.append((at, self._worked))
        while at - self._samples[0][0] > _WINDOW:
            self._samples.popleft()

    def item_ended(self, size: int) -> None:
        """An item has its result; `size` is what it stands for in the total."""
        self._finished += size
        self._next_item()

    def forget_pace(self) -> None:
        """After a pause: the time that went by says nothing about the rate."""
        self._samples.clear()

    @property
    def bytes_per_second(self) -> float | None:
        if len(self._samples) < 2:
            return None
        (began, before), (ended, after) = self._samples[0], self._samples[-1]
        return (after - before) / (ended - began) if ended - began >= _SHORTEST else None

    @property
    def eta(self) -> float | None:
        """Seconds left."""
        rate = self.bytes_per_second
        return (self._total - self.done) / rate if rate else None

    def _next_item(self) -> None:
        self._passes_now, self._phase = None, ("", "")
        self._earlier = self._latest = 0
        self._current = 0.0
