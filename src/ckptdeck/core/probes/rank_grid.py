"""Files of a grid of ranks, such as tensor by pipeline parallelism: every combination has its file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice, product

from ckptdeck.core.probes.ranks import find_gap

_LARGEST_GRID = 1 << 20
_SHOWN = 3

Place = tuple[int, ...]


def missing_places(places: Collection[Place]) -> tuple[int, list[Place]]:
    """How many places of the grid are empty, and the first of them. All places have the same number of axes."""
    if not places:
        return 0, []
    axes = [_axis({place[index] for place in places}) for index in range(len(next(iter(places))))]
    size = 1
    for axis in axes:
        size *= len(axis)
    there = set(places)
    if size == len(there) or size > _LARGEST_GRID:
        return 0, []
    return size - len(there), list(islice((place for place in product(*axes) if place not in there), _SHOWN))


def _axis(numbers: set[int]) -> Sequence[int]:
    """From the first to the last rank, and up to the first where those before it are missing."""
    gap = find_gap(numbers)
    first = min(numbers) if gap is None else min(*numbers, *gap.first)
    last = max(numbers)
    return range(first, last + 1) if last - first < _LARGEST_GRID else sorted(numbers)
