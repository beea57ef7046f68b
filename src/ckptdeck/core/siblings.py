"""Checkpoints of one run look alike: names that differ only in their numbers, and sizes that hardly differ."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from statistics import median

from ckptdeck.core.sighting import Sighting

_NUMBER = re.compile(r"\d+")
_ENOUGH = 4
_AGREEING = 0.05
_MOST = 0.75
_FAR = 0.10


class Siblings:
    """Bytes on disk of everything that is there, is no link and is not being written, by what names look like."""

    def __init__(self, sightings: Iterable[Sighting]) -> None:
        self._sizes: dict[str, dict[str, int]] = {}
        self._agreed: dict[str, float | None] = {}
        for sighting in sightings:
            if sighting.identity is None or sighting.link or sighting.held or sighting.moved:
                continue
            if sighting.identity.size > 0:
                self._sizes.setdefault(sibling_key(sighting.name), {})[sighting.name] = sighting.identity.size

    def usual_size(self, name: str) -> int | None:
        """The median size of the siblings of `name`, itself left out; None without any."""
        sizes = self._sizes.get(sibling_key(name), {})
        others = [size for other, size in sizes.items() if other != name]
        return round(median(others)) if others else None

    def strays_from(self, name: str, size: int) -> int | None:
        """The siblings' median when they agree with each other and `size` is far from it, else None.

        Agreement: four or more of them, three in four within 5 % of the median. Far: more than 10 % off.
        """
        key = sibling_key(name)
        if key not in self._agreed:
            self._agreed[key] = _agreed_size(list(self._sizes.get(key, {}).values()))
        middle = self._agreed[key]
        if middle is None or abs(size - middle) <= _FAR * middle:
            return None
        return round(middle)


@lru_cache(maxsize=1 << 17)
def sibling_key(name: str) -> str:
    """The same for all names that differ only in their numbers."""
    return _NUMBER.sub("#", name)


def _agreed_size(sizes: list[int]) -> float | None:
    if len(sizes) < _ENOUGH:
        return None
    middle = median(sizes)
    agreeing = sum(abs(size - middle) <= _AGREEING * middle for size in sizes)
    return middle if agreeing >= _MOST * len(sizes) else None
