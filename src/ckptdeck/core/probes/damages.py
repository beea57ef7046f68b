"""Everything that a layout's rules find wrong, so that the worst is said and not the first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.states import Structure

WORST_FIRST = (Structure.BROKEN, Structure.CUT, Structure.INCOMPLETE, Structure.SUSPECT)


class Damages:
    """What came up so far, in the order it did."""

    def __init__(self) -> None:
        self.found: list[Damage] = []

    def add(self, damage: Damage) -> None:
        self.found.append(damage)

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Goes on after a Damage raised inside."""
        try:
            yield
        except Damage as damage:
            self.add(damage)

    def raise_worst(self, judged: Iterable[str]) -> None:
        """The first of the worst kind, saying how many others there are and which files of the tree this answers for.

        Nothing when nothing came up.
        """
        if not self.found:
            return
        worst = min(self.found, key=lambda damage: WORST_FIRST.index(damage.structure))
        worst.further = sum(1 + damage.further for damage in self.found) - 1
        worst.judged = frozenset(judged).union(*(damage.judged for damage in self.found))
        raise worst
