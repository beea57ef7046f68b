"""When the interpreter looks through all of its objects for garbage: between two keys.

Such a look stops every thread, and over the pictures of 10,000 checkpoints it takes long enough to be felt. It cannot
wait for long: a screen that was left is megabytes of objects that refer to each other.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from textual._styles_cache import StylesCache

QUIET = 1.0
"""Seconds without a key after which nobody waits for a frame."""
EVERY = 20.0
"""Seconds between two looks, at least."""
SHARE = 400
"""And at least so many times as long as the last one took."""
LONGEST = 5
"""So many times that long it waits for somebody who types."""
_YOUNG = (5_000, 10)
"""New objects after which the youngest are looked through, and how often before those that are a little older: 5 ms."""
_NEVER = 1_000_000


def collect() -> None:
    """Also what Textual keeps of the last thousand widgets, painted lines included: its cache of borders is known by
    the widget's own cache, and holds that."""
    StylesCache.get_inner_outer.cache_clear()
    gc.collect()


class Collecting:
    """Ask `look` every few seconds; tell `key` of every key."""

    def __init__(self, monotonic: Callable[[], float], collect: Callable[[], object] = collect) -> None:
        self._monotonic = monotonic
        self._collect = collect
        self._looked_at = self._key_at = monotonic()
        self._pause = EVERY

    def key(self) -> None:
        self._key_at = self._monotonic()

    def look(self) -> None:
        """Collects when it is time."""
        now = self._monotonic()
        waited = now - self._looked_at
        quiet = now - self._key_at >= QUIET
        if waited >= self._pause * (1 if quiet else LONGEST):
            self._collect()
            self._looked_at = self._monotonic()
            self._pause = max(EVERY, (self._looked_at - now) * SHARE)


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
