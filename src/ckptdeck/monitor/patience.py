"""Which work rests after it failed, and for how long."""

from __future__ import annotations

from ckptdeck.core.progress import Clock

FIRST = 30.0
"""Seconds before work that failed is tried again; twice as long after each further failure."""
LONGEST = 1800.0
PAUSE = 10.0
"""Seconds before anything else is tried on a volume that has just failed."""
_KEPT = 1000


class Patience:
    """On the monotonic clock. Keys are the caller's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, tuple[float, float]] = {}
        """When it is due again, and how long it rested for that."""

    def failed(self, key: str) -> None:
        _, rested = self._until.pop(key, (0.0, FIRST / 2))
        self._set(key, min(rested * 2, LONGEST))

    def pause(self, key: str) -> None:
        """A short rest that does not grow."""
        self._set(key, PAUSE)

    def succeeded(self, *keys: str) -> None:
        for key in keys:
            self._until.pop(key, None)

    def rests(self, key: str) -> bool:
        return self._clock.monotonic() < self._until.get(key, (0.0, 0.0))[0]

    def _set(self, key: str, seconds: float) -> None:
        self._until[key] = self._clock.monotonic() + seconds, seconds
        while len(self._until) > _KEPT:
            del self._until[next(iter(self._until))]  # what failed longest ago
