"""When the interpreter looks through all of its objects for garbage: while nobody is at the keys.

Such a look stops every thread, and over the pictures of 10,000 checkpoints it takes up to a second. Hardly anything
here refers to itself, so it can wait; young objects are looked through as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET = 20.0
"""Seconds without a key after which nobody is at the keys."""
EVERY = 600.0
"""Seconds between two looks, at least."""
LONGEST = 3600.0
"""Seconds after which it is done whoever types."""
_YOUNG = (5_000, 10)
"""New objects after which the youngest are looked through, and how often before those that are a little older: 5 ms."""
_NEVER = 1_000_000


class Collecting:
    """Ask `look` now and then; tell `key` of every key."""

    def __init__(self, monotonic: Callable[[], float], collect: Callable[[], object] = gc.collect) -> None:
        self._monotonic = monotonic
        self._collect = collect
        self._looked_at = self._key_at = monotonic()

    def key(self) -> None:
        self._key_at = self._monotonic()

    def look(self) -> None:
        """Collects when it is time."""
        now = self._monotonic()
        waited = now - self._looked_at
        if waited >= LONGEST or (waited >= EVERY and now - self._key_at >= QUIET):
            self._collect()
            self._looked_at = self._monotonic()


@contextmanager
def only_young_objects() -> Iterator[None]:
    """While it lasts, the interpreter by itself looks through young objects alone; what was loaded so far counts as
    there for good."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_YOUNG, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
