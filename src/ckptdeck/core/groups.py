"""Which names of a set belong to one step and so to one checkpoint. Names only; pure.

TensorFlow says it itself (`ckpt-7.index`, `ckpt-7.data-00000-of-00001`). Elsewhere names form a group when nothing is
left to tell them apart once the words for parts of a training state, ranks and shard numbers are taken away:
`model_000810.pt`, `optim_000810_rank0.pt` and `meta_000810.json`. `best_step_100.pt` and `step_100.pt` stay two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ckptdeck.core.naming import NameReading, NameRole
from ckptdeck.core.siblings import sibling_key
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Kind

_FLAGS = re.ASCII | re.DOTALL
_TENSORFLOW = re.compile(r"(.+-[0-9]+)\.(?:index|meta|data-[0-9]{5}-of-[0-9]{5})", _FLAGS)
_NVRX = re.compile(r"(iter_[0-9]{7})_[0-9]+_local\.pt", _FLAGS)
_EXTENSION = re.compile(
    r"([^.].*?)((?:\.(?:pt|pt2|pth|ckpt|bin|safetensors|tar|gz|npz|npy|h5|msgpack|pkl|json|yaml|yml|toml|txt|distcp))+)",
    _FLAGS,
)
_PART_WORDS = (
    "model|optim|optimizer|optimiser|opt|lr_scheduler|scheduler|sched|scaler|meta|metadata|ema|rng_state|random_states"
    "|rng|train_state|trainer_state|trainer|training_args|state|args|config|weights|params|shard|netG|netD|generator"
    "|discriminator|G|D"
)
_PART = re.compile(rf"(?:(?<=[-_.])|\A)(?:{_PART_WORDS})(?=[-_.]|\Z)", re.ASCII)
_NUMBERED = re.compile(
    r"[-_.]?[0-9]+-of-[0-9]+|[-_.]?(?:(?:mp|tp|pp|dp|ep|cp|zero_pp)_)?rank[-_=]?[0-9]+|[-_.]shard[-_]?[0-9]+"
    r"|[-_.]part-[0-9]+",
    re.ASCII,
)
_SEPARATORS = re.compile(r"[-_.]{2,}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Group:
    """Names that are one checkpoint."""

    name: str
    family: str
    step: int | None
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A name that may be one of several."""

    name: str
    key: str
    """What is left of it without what tells parts from one another."""
    marked: bool
    """Something was taken away: it says itself that it is a part."""
    heavy: bool
    """A checkpoint's file, not only a companion like `meta_000810.json`."""
    step: int | None
    family: str


def find_groups(
    readings: Mapping[str, NameReading], records: Mapping[str, Record], *, by_words: bool = True
) -> tuple[Group, ...]:
    """The groups among regular files with these names.

    A record decides: names that a recorded group holds are that group, a name with a record of its own is none.
    Without `by_words` only families that say it themselves are grouped.
    """
    groups, taken = _recorded_groups(readings, records)
    taken |= {name for name, record in records.items() if record.kind is not Kind.GROUP}
    free = [_part(name, reading, by_words=by_words) for name, reading in readings.items() if name not in taken]
    by_key: dict[str, list[_Part]] = {}
    for part in free:
        if part is not None:
            by_key.setdefault(part.key, []).append(part)
    grown = {sibling_key(key) for key, parts in by_key.items() if _belong_together(parts)}
    for key, parts in by_key.items():
        if _belong_together(parts) or (sibling_key(key) in grown and all(part.marked for part in parts)):
            groups.append(_group(key, parts, readings, records))
    return tuple(groups)


def _recorded_groups(
    readings: Mapping[str, NameReading], records: Mapping[str, Record]
) -> tuple[list[Group], set[str]]:
    groups: list[Group] = []
    taken: set[str] = set()
    for record in records.values():
        if record.kind is not Kind.GROUP:
            continue
        members = tuple(sorted(member.path for member in record.members if member.path in readings))
        if members:
            groups.append(Group(record.name, _family(readings[members[0]]), record.step, members))
            taken.update(members)
    return groups, taken


def _belong_together(parts: list[_Part]) -> bool:
    if parts[0].family == "tensorflow":
        return True
    return len(parts) > 1 and any(part.marked for part in parts) and any(part.heavy for part in parts)


def _part(name: str, reading: NameReading, *, by_words: bool) -> _Part | None:
    if tensorflow := _TENSORFLOW.fullmatch(name):
        return _Part(name, tensorflow[1], True, not name.endswith(".meta"), reading.step, "tensorflow")
    if not by_words or reading.role not in (NameRole.CHECKPOINT, NameRole.FOREIGN) or reading.family == "ignored":
        return None
    if nvrx := _NVRX.fullmatch(name):
        return _Part(name, nvrx[1], True, True, reading.step, "nvrx")
    stem = _EXTENSION.fullmatch(name)
    if stem is None or (reading.role is NameRole.FOREIGN and not any(map(str.isdigit, stem[1]))):
        return None
    left = _PART.sub("", _NUMBERED.sub("", stem[1]))
    key = _SEPARATORS.sub("_", left).strip("-_.")
    if not any(map(str.isdigit, key)):
        return None
    heavy = reading.role is NameRole.CHECKPOINT
    return _Part(name, key, left != stem[1], heavy, reading.step, reading.family if heavy else "")


def _group(key: str, parts: list[_Part], readings: Mapping[str, NameReading], records: Mapping[str, Record]) -> Group:
    name = key if any(map(str.isalpha, key)) else f"step_{key}"
    if name in readings or (name in records and records[name].kind is not Kind.GROUP):
        name += ".group"
    step = next((part.step for part in parts if part.heavy and part.step is not None), None)
    family = next((part.family for part in parts if part.family), "single-file")
    return Group(name, family, step, tuple(sorted(part.name for part in parts)))


def _family(reading: NameReading) -> str:
    return reading.family if reading.role is not NameRole.FOREIGN or reading.family == "tensorflow" else "single-file"


def kinds_of_parts(paths: Iterable[str]) -> dict[str, int]:
    """How often each kind of file is there: paths that differ only in their numbers are of one kind."""
    counts: dict[str, int] = {}
    for path in paths:
        counts[sibling_key(path)] = counts.get(sibling_key(path), 0) + 1
    return counts
