"""Files whose names say their rank and of how many: `model_world_size_8_rank_3.pt` (verl), `rank3-of-8-...` (XLA)."""

from __future__ import annotations

import re
from collections import defaultdict

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.ranks import find_gap
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "ranks"

_NAMES = (
    re.compile(r"(?P<what>.+)_world_size_(?P<world>[0-9]{1,9})_rank_(?P<rank>[0-9]{1,9})(?P<end>\.[a-z]+)", re.ASCII),
    re.compile(r"rank(?P<rank>[0-9]{1,9})-of-(?P<world>[0-9]{1,9})-(?P<what>.+)(?P<end>\.[a-z]+)", re.ASCII),
)
_MOST_RANKS = 1_000_000
_SHAPES = ("{what}_world_size_{world}_rank_{rank}{end}", "rank{rank}-of-{world}-{what}{end}")
_MESSAGE = 'the trainer says "FileNotFoundError" on the rank whose file it is, and the others wait for it'


@dataclass(frozen=True, slots=True)
class _Series:
    """One kind of file of every rank."""

    shape: str
    what: str
    end: str

    def name(self, world: int, rank: int) -> str:
        return self.shape.format(what=self.what, world=world, rank=rank, end=self.end)


def judge_stated_ranks(tree: Tree) -> KindFinding | None:
    """None where no name states its rank. Raises the worst Damage of every directory."""
    damages = Damages()
    said: list[str] = []
    for directory, names in tree.directories.items():
        for series, by_world in _series(names).items():
            with damages.heard():
                said.append(_judge(directory, series, by_world))
    damages.raise_worst(())
    return KindFinding(FORMAT, some(said)) if said else None


def _series(names: list[str]) -> dict[_Series, dict[int, set[int]]]:
    """The ranks that are there, by their number."""
    found: dict[_Series, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for name in names:
        for pattern, shape in zip(_NAMES, _SHAPES, strict=True):
            match = pattern.fullmatch(name)
            if match and int(match["world"]) <= _MOST_RANKS:
                found[_Series(shape, match["what"], match["end"])][int(match["world"])].add(int(match["rank"]))
    return found


def _judge(directory: str, series: _Series, by_world: dict[int, set[int]]) -> str:
    """What was shown. Raises Damage.

    What is left of a run with another number of ranks is no gap beside a whole one.
    """
    most = max(by_world, key=lambda world: (len(by_world[world]), world))
    for world in (most, *by_world):
        if find_gap(by_world[world], world) is None:
            return f"{below(directory, series.what)} of all {counted(world, 'rank')}"
    missing = sorted(set(range(most)) - by_world[most])
    raise Damage(
        Structure.INCOMPLETE,
        f"not there: {below(directory, some([series.name(most, rank) for rank in missing]))}, of "
        f"{counted(most, 'rank')} by their names",
        loader_says=_MESSAGE,
    )
