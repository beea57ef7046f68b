"""Files numbered by rank or index: which are missing of a series whose end nobody states.

A killed save shows here first: the ranks that had little to write are done, rank 0 is not. A disk that only one of
several nodes writes to holds a block of ranks of that node, which is no gap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ckptdeck.core.probes.tree import some
from ckptdeck.core.values import dataclass

_HIGHEST_RANK = 1_000_000
"""What is numbered higher is numbered by something else, such as a date."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing of a series."""

    count: int
    first: tuple[int, ...]
    """The lowest missing numbers, three at most."""

    def names(self, name_of: Callable[[int], str]) -> str:
        """The missing ones by name: "rng_state_0.pth, rng_state_1.pth, rng_state_2.pth and 4 more"."""
        shown = some([name_of(number) for number in self.first])
        return shown + (f" and {self.count - len(self.first):,} more" if self.count > len(self.first) else "")


def find_gap(numbers: Collection[int], count: int | None = None) -> Gap | None:
    """What is missing of 0 to `count` - 1, or where nobody states a count, of 0 to the highest number."""
    if not numbers or max(numbers) > _HIGHEST_RANK or (count is not None and count > _HIGHEST_RANK):
        return None
    there = set(numbers)
    start = 0 if count is not None else _first_of_node(there)
    end = max(there) + 1 if count is None else count
    missing = end - start - sum(1 for number in there if start <= number < end)
    if missing <= 0:
        return None
    first: list[int] = []
    number = start
    while len(first) < min(missing, _SHOWN):
        if number not in there:
            first.append(number)
        number += 1
    return Gap(missing, tuple(first))


def _first_of_node(there: set[int]) -> int:
    """Where a series may begin: at 0, or with the ranks of one node, whose first is a multiple of their number."""
    first, last = min(there), max(there)
    length = last - first + 1
    alone = length == 1 and first == 1  # of two ranks the second; nodes of one rank each are rare
    return first if first % length == 0 and not alone else 0
