"""Checkpoints of one run look alike: names that differ only in their numbers, sizes that hardly differ, and of several
files the same ones at each step."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ckptdeck.core.amounts import counted, median
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Kind
from ckptdeck.core.values import dataclass

_NUMBER = re.compile(r"\d+")
_ENOUGH = 4
_AGREEING = 0.05
_MOST = 0.75
_FAR = 0.10
_AGREE = 3
"""Siblings that must say the same."""
_VALUES = re.compile(
    r"\.(?:pt|pt2|pth|bin|ckpt|safetensors|distcp|npz|npy|h5|hdf5|keras|gguf|msgpack|pkl|joblib|index|tar)\Z"
    r"|\.data-#-of-#\Z",
    re.ASCII,
)
"""Kinds of files that hold a training state. Logs, events and samples come and go."""


class Siblings:
    """Bytes on disk of everything that is there, is no link and is not being written, by what names look like."""

    def __init__(self, sightings: Iterable[Sighting]) -> None:
        self._sizes: dict[str, dict[str, int]] = {}
        self._ordered: dict[str, list[int]] = {}
        self._agreed: dict[str, float | None] = {}
        for sighting in sightings:
            size = _telling_size(sighting)
            if size:
                self._sizes.setdefault(sibling_key(sighting.name), {})[sighting.name] = size

    def follow(self, name: str, sighting: Sighting | None) -> None:
        """`name` is now what `sighting` says; None: it is gone."""
        key = sibling_key(name)
        sizes = self._sizes.setdefault(key, {})
        before, now = sizes.pop(name, 0), 0 if sighting is None else _telling_size(sighting)
        if now:
            sizes[name] = now
        self._agreed.pop(key, None)
        ordered = self._ordered.get(key)
        if ordered is None:
            return
        if before:
            del ordered[bisect_left(ordered, before)]
        if now:
            insort(ordered, now)

    def usual_size(self, name: str) -> int | None:
        """The median size of the siblings of `name`, itself left out; None without any."""
        key = sibling_key(name)
        sizes = self._sizes.get(key, {})
        if key not in self._ordered:
            self._ordered[key] = sorted(sizes.values())
        ordered = self._ordered[key]
        own = bisect_left(ordered, sizes[name]) if name in sizes else len(ordered)
        others = len(ordered) - (name in sizes)
        if not others:
            return None
        middle = {(others - 1) // 2, others // 2}
        return round(median(ordered[place + (place >= own)] for place in middle))

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


def _telling_size(sighting: Sighting) -> int:
    """Bytes that say something of its siblings, 0 for none."""
    if sighting.identity is None or sighting.link or sighting.held or sighting.moved:
        return 0
    return sighting.identity.size


@dataclass(frozen=True, slots=True)
class Lack:
    """Files that a checkpoint has not and its siblings have."""

    text: str
    """"it lacks 1 of 8 mp_rank_#_model_states.pt that its siblings have"."""
    all_of_a_kind: bool
    """None of that kind is there."""


class Company:
    """Which kinds of files the checkpoints of several files have, step by step, by what their names look like."""

    def __init__(self, at_rest: Iterable[Sighting]) -> None:
        by_look: dict[tuple[Kind, str], list[Sighting]] = {}
        for sighting in at_rest:
            if sighting.kind is not Kind.FILE:
                by_look.setdefault(_look(sighting), []).append(sighting)
        self._rows = {look: _Row(alike) for look, alike in by_look.items() if len(alike) >= _AGREE}

    def lacking(self, sighting: Sighting) -> Lack | None:
        """What `sighting` lacks that three of its siblings have alike; None too where the run itself changed.

        It did where those beside it in the order of steps lack the same: another number of processes, parts that are
        not saved any more, or that a retention took from what is old.
        """
        row = self._rows.get(_look(sighting))
        if row is None:
            return None
        if sighting.name not in row.places:
            row = _Row([*row.sightings, sighting])
        lacks = sorted(row.lacks(row.places[sighting.name]), key=lambda lack: not lack.all_of_a_kind)
        if not lacks:
            return None
        more = len(lacks) - 1
        further = f", and {counted(more, 'more kind')}" if more else ""
        return Lack(f"it lacks {lacks[0].text} that its siblings have{further}", lacks[0].all_of_a_kind)


class _Row:
    """Checkpoints whose names look alike, in the order of their steps, and how many files of each kind they have."""

    def __init__(self, alike: Iterable[Sighting]) -> None:
        self.sightings = sorted(alike, key=lambda one: (one.step or 0, one.name))
        self.places = {one.name: place for place, one in enumerate(self.sightings)}
        found = [_kinds_of(one) for one in self.sightings]
        self._counts = {kind: [one[kind] for one in found] for kind in sorted(set().union(*found))}
        self._said = {kind: Counter(counts) for kind, counts in self._counts.items()}

    def lacks(self, place: int) -> Iterator[Lack]:
        in_a_group = self.sightings[place].kind is Kind.GROUP
        for kind, counts in self._counts.items():
            mine, said = counts[place], self._said[kind]
            usual = max((count for count in said if count > mine and said[count] >= _AGREE), default=None)
            if usual is None:
                continue
            if not mine and in_a_group:
                changed = _run_saves_without(counts, place)
            else:
                changed = _others_have_as_few(counts, place)
            if not changed:
                yield Lack(_missing(usual - mine, usual, kind), not mine)


def _kinds_of(sighting: Sighting) -> Counter[str]:
    if sighting.identity is None:
        return Counter()
    kinds = kinds_of_parts(member.path for member in sighting.identity.files)
    if sighting.kind is Kind.GROUP:
        return kinds  # it is made of nothing else
    return Counter({kind: count for kind, count in kinds.items() if _VALUES.search(kind)})


def _run_saves_without(counts: Sequence[int], place: int) -> bool:
    """Several in a row have none of a kind: at the old end a retention took it, elsewhere the run does without."""
    first = last = place
    while first > 0 and not counts[first - 1]:
        first -= 1
    while last + 1 < len(counts) and not counts[last + 1]:
        last += 1
    return last - first + 1 >= (_AGREE - 1 if first == 0 else _AGREE)


def _others_have_as_few(counts: Sequence[int], place: int) -> bool:
    """A neighbour has, or both of the newest have; and the oldest may be the last of its kind."""
    beside = (*counts[max(0, place - 1) : place], *counts[place + 1 : place + 2])
    newest = [counts[other] for other in range(max(0, len(counts) - 3), len(counts)) if other != place][-2:]
    mine = counts[place]
    return place == 0 or min(beside) <= mine or max(newest) <= mine


def _missing(lacking: int, usual: int, kind: str) -> str:
    if usual == 1:
        return f"the {visible(kind)}"
    return f"all {usual} {visible(kind)}" if lacking == usual else f"{lacking} of {usual} {visible(kind)}"


def kinds_of_parts(paths: Iterable[str]) -> Counter[str]:
    """How often each kind of file is there: paths that differ only in their numbers are of one kind."""
    return Counter(map(sibling_key, paths))


def _look(sighting: Sighting) -> tuple[Kind, str]:
    return sighting.kind, sibling_key(sighting.name)


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
