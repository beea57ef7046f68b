"""P15, D2: weights in several files. An index, written last, says which tensor lies in which of them.

`NNNNN-of-MMMMM` in a name counts on its own: without the index nothing loads them, and the save did not finish. An
index's `total_size` proves nothing: writers count tensors that share memory twice, or keep the figure of another model
(https://github.com/huggingface/huggingface_hub/issues/4221); it is told, not judged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.ranks import find_gap
from ckptdeck.core.probes.reading import Damage, TooLarge
from ckptdeck.core.probes.safetensors import EXTENSION, all_tensors
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "sharded-weights"

_INDEX = re.compile(r"(?P<stem>.+)\.(?:safetensors|bin)\.index(?:\.[^.]+)?\.json")
_SHARD = re.compile(
    r"(?P<stem>(?!shard-[0-9]).+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})(?P<end>\.safetensors|\.bin|\.gguf)",
    re.ASCII,
)
_LARGEST_TOTAL = 10**18
_COUNTED_BY_NAME = ".gguf"
"""Has no index: each file says itself of how many it is."""

_NO_INDEX_MESSAGE = 'from_pretrained says "does not appear to have a file named" for the index, which is written last'
_MISSING_MESSAGE = 'from_pretrained says "does not appear to have a file named" for the shard'
_KEYS_MESSAGE = (
    'from_pretrained says "Some weights were not initialized from the model checkpoint", among its notes, and fills '
    "them with random numbers"
)


def judge_weight_shards(tree: Tree) -> KindFinding | None:
    """None where there is neither an index nor a shard. Raises the worst Damage of every directory."""
    damages = Damages()
    said: list[str] = []
    judged: set[str] = set()
    for directory, names in tree.directories.items():
        indexes = [name for name in names if _INDEX.fullmatch(name)]
        for name in indexes:
            judged.add(below(directory, name))
            with damages.heard():
                said.append(_Index(tree, directory, name, damages).judge())
        with damages.heard():
            said += _judge_names(directory, names, indexes)
    damages.raise_worst(judged)
    return KindFinding(FORMAT, some(said, 2), frozenset(judged)) if said else None


@dataclass(frozen=True, slots=True)
class _Series:
    """Files whose names count: "model-00002-of-00003.safetensors"."""

    stem: str
    count: int
    end: str

    def missing(self, numbers: set[int]) -> str:
        """Those that are not there, by name; "" for none. Most writers count from 1, some from 0."""
        base = 0 if 0 in numbers else 1
        gap = find_gap({number - base for number in numbers}, self.count)
        return gap.names(lambda rank: f"{self.stem}-{rank + base:05d}-of-{self.count:05d}{self.end}") if gap else ""


class _Index:
    """An index and the shards it lists."""

    def __init__(self, tree: Tree, directory: str, name: str, damages: Damages) -> None:
        self.tree = tree
        self.directory = directory
        self.path = below(directory, name)
        self.damages = damages
        self.tensors = 0
        self.bytes: int | None = 0
        """Of all tensors; None when a shard could not tell."""

    def judge(self) -> str:
        """What was shown. Raises Damage; damages of the shards go to the list."""
        document = self.tree.json(self.path)
        if document is None:
            return f"{self.path} is too large for a quick look, so its shards are judged each alone"
        by_shard = self._listed(document)
        missing = [name for name in by_shard if not self.tree.has(below(self.directory, name))]
        if missing:
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"not there: {some([below(self.directory, name) for name in sorted(missing)])}, of "
                    f"{counted(len(by_shard), 'shard')} that {self.path} lists",
                    loader_says=_MISSING_MESSAGE,
                )
            )
        self._check_names(by_shard)
        for shard in sorted(set(by_shard).difference(missing)):
            with self.damages.heard():
                self._check_keys(below(self.directory, shard), by_shard[shard])
        return f"{counted(len(by_shard), 'shard')} with the tensors that {self.path} lists{self._total(document)}"

    def _listed(self, document: object) -> dict[str, set[str]]:
        match document:
            case {"weight_map": dict() as places} if all(isinstance(shard, str) for shard in places.values()):
                by_shard: dict[str, set[str]] = defaultdict(set)
                for key, shard in places.items():
                    by_shard[shard].add(key)
                return by_shard
        raise Damage(
            Structure.BROKEN,
            f"{self.path}: no table that says which tensor is in which file",
            loader_says="from_pretrained says \"KeyError: 'weight_map'\"",
        )

    def _check_names(self, listed: Iterable[str]) -> None:
        """The names that the index lists say themselves how many there are."""
        for series, numbers in _by_series(listed).items():
            if missing := series.missing(numbers):
                self.damages.add(
                    Damage(
                        Structure.SUSPECT,
                        f"{self.path} lists {len(numbers):,} of the {series.count:,} shards that their names count, "
                        f"and not {missing}",
                        loader_says=_KEYS_MESSAGE,
                    )
                )

    def _check_keys(self, path: str, listed: set[str]) -> None:
        """Compares with the header of a shard, where it has one; a damaged one is told by its own format."""
        if not path.endswith(EXTENSION):
            self.bytes = None
            return
        try:
            with self.tree.reader(path) as reader:
                spans = all_tensors(reader)
        except (Damage, TooLarge):
            self.bytes = None
            return
        if self.bytes is not None:
            self.bytes += sum(span.end - span.begin for span in spans)
        there = {span.name for span in spans}
        if absent := sorted(listed - there):
            raise Damage(
                Structure.BROKEN,
                f"{path}: {counted(len(absent), 'tensor')} that {self.path} lists in it "
                f"{'is' if len(absent) == 1 else 'are'} not there ({some(absent, 1)}): a file of another save",
                loader_says=_KEYS_MESSAGE,
            )
        if more := sorted(there - listed):
            raise Damage(
                Structure.SUSPECT,
                f"{path}: holds {counted(len(more), 'tensor')} that {self.path} does not list ({some(more, 1)})",
                loader_says="from_pretrained says nothing and loads them too",
            )

    def _total(self, document: object) -> str:
        match document:
            case {"metadata": {"total_size": int() | float() as total}} if self.bytes not in (None, total) and (
                0 <= total < _LARGEST_TOTAL
            ):
                return f", of {self.bytes:,} bytes where its total_size says {total:,}"
        return ""


def _judge_names(directory: str, names: list[str], indexes: list[str]) -> list[str]:
    """Shards that no index of their own speaks of. Raises Damage."""
    stems = {_first_part(match["stem"]) for name in indexes if (match := _INDEX.fullmatch(name))}
    said = []
    for series, numbers in _by_series(names).items():
        if series.end == _COUNTED_BY_NAME:
            if missing := series.missing(numbers):
                raise Damage(
                    Structure.INCOMPLETE,
                    f"not there: {below(directory, missing)}, of {series.count:,} files by their names",
                    loader_says='llama.cpp says "failed to load GGUF split"',
                )
            said.append(f"all {series.count:,} files that their names count")
        elif series.count > 1 and _first_part(series.stem) not in stems:
            raise Damage(
                Structure.INCOMPLETE,
                f"{below(directory, series.stem + series.end)}.index.json is not there, which is written last: the "
                f"save did not finish. {len(numbers):,} of {series.count:,} shards are there",
                loader_says=_NO_INDEX_MESSAGE,
            )
    return said


def _by_series(names: Iterable[str]) -> dict[_Series, set[int]]:
    """The numbers that are there of each series."""
    numbers: dict[_Series, set[int]] = defaultdict(set)
    for name in names:
        if match := _SHARD.fullmatch(name):
            numbers[_Series(match["stem"], int(match["count"]), match["end"])].add(int(match["number"]))
    return numbers


def _first_part(stem: str) -> str:
    """Without the variant: the shards of `model.safetensors.index.fp16.json` are named `model.fp16-...`."""
    return stem.partition(".")[0]
