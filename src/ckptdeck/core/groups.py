"""Which names of a set belong to one step and so to one checkpoint. Names only; pure.

TensorFlow says it itself (`ckpt-7.index`, `ckpt-7.data-00000-of-00001`). Elsewhere names form a group when nothing is
left to tell them apart once the words for parts of a training state, ranks and shard numbers are taken away:
`model_000810.pt`, `optim_000810_rank0.pt` and `meta_000810.json`. `best_step_100.pt` and `step_100.pt` stay two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import lru_cache

from ckptdeck.core.naming import REMEMBERED_NAMES, SINGLE_FILE, NameReading, NameRole
from ckptdeck.core.siblings import sibling_key
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Kind
from ckptdeck.core.values import dataclass

SEVERAL_FILES = "several-files"
"""Family of a group whose names no system claims."""
_FLAGS = re.ASCII | re.DOTALL
_TENSORFLOW = re.compile(r"(.+-[0-9]+)\.(?:index|meta|data-[0-9]{5}-of-[0-9]{5})", _FLAGS)
_NVRX = re.compile(r"(iter_[0-9]{7})_[0-9]+_local\.pt", _FLAGS)
_EXTENSION = re.compile(
    r"([^.].*?)((?:\.(?:pt|pt2|pth|ckpt|bin|safetensors|tar|gz|npz|npy|h5|msgpack|pkl|index\.json|json|yaml|yml|toml"
    r"|txt|distcp))+)",
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
_DIGIT = re.compile(r"[0-9]", re.ASCII)
_LETTER = re.compile(r"[^\W\d_]")
_OWN_SYSTEM = "/"
"""Before the key of a name whose system says itself what belongs together; no name can hold it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Names that are one checkpoint."""

    name: str
    family: str
    step: int | None
    members: tuple[str, ...]


def find_groups(
    readings: Mapping[str, NameReading],
    records: Mapping[str, Record],
    names: Set[str] = frozenset(),
    *,
    by_words: bool = True,
) -> tuple[Group, ...]:
    """The groups among regular files with the names in `readings`.

    `names` is everything that is listed: no group is called like something that is there. A record decides: names
    that a recorded group holds are that group, and what belongs to it by its name joins it; a name with a record of
    its own is in none. Without `by_words` only families that say it themselves are grouped.
    """
    single = {name for name, record in records.items() if record.kind is not Kind.GROUP}
    members, owners = _recorded(readings, records, names, single)
    free: dict[str, list[str]] = {}
    homes: dict[str, list[str]] = {}
    for name, reading in readings.items():
        if name in single:
            continue
        key = _key_of(name, reading, by_words=by_words)
        if name in owners:
            homes.setdefault(key or name, []).append(name)
        elif key is not None:
            free.setdefault(key, []).append(name)
    formed = {}
    for key, parts in free.items():
        if key in homes:
            if _belong_together(key, [*parts, *homes[key]], readings):
                members[owners[homes[key][0]]] += parts
        elif _belong_together(key, parts, readings):
            formed[key] = parts
    formed.update(_stragglers(free, formed, homes, readings))
    taken = {*names, *single, *members}
    groups = [_group(name, parts, readings, records[name].step) for name, parts in members.items()]
    groups += [_group(_name_for(key, taken), formed[key], readings) for key in sorted(formed)]
    return tuple(groups)


def may_be_part(name: str, reading: NameReading, *, by_words: bool) -> bool:
    """Other names may make a group together with the file called `name`."""
    return _key_of(name, reading, by_words=by_words) is not None


def _recorded(
    readings: Mapping[str, NameReading], records: Mapping[str, Record], names: Set[str], single: Set[str]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Group → its names that are there, and name → its group, as records say."""
    members: dict[str, list[str]] = {}
    owners: dict[str, str] = {}
    for record in records.values():
        if record.kind is not Kind.GROUP or record.name in names:
            continue
        there = [m.path for m in record.members if m.path in readings and m.path not in single | owners.keys()]
        if there:
            members[record.name] = there
            owners.update(dict.fromkeys(there, record.name))
    return members, owners


def _stragglers(
    free: Mapping[str, list[str]],
    formed: Mapping[str, list[str]],
    homes: Mapping[str, list[str]],
    readings: Mapping[str, NameReading],
) -> dict[str, list[str]]:
    """What other steps have with company and this one alone: a group that lacks the rest."""
    grown: dict[str, set[str]] = {}
    for key, parts in (*formed.items(), *homes.items()):
        grown.setdefault(sibling_key(key), set()).update(map(sibling_key, parts))
    if not grown:
        return {}
    found = {}
    for key, parts in free.items():
        if key in formed or key in homes or not _any_heavy(parts, readings):
            continue
        kinds = grown.get(sibling_key(key), set())
        if kinds and all(_cut(part)[1] or sibling_key(part) in kinds for part in parts):
            found[key] = parts
    return found


def _belong_together(key: str, parts: list[str], readings: Mapping[str, NameReading]) -> bool:
    if key.startswith(_OWN_SYSTEM):
        return len(parts) > 1 or _TENSORFLOW.fullmatch(parts[0]) is not None
    return len(parts) > 1 and any(_cut(part)[1] for part in parts) and _any_heavy(parts, readings)


def _any_heavy(parts: list[str], readings: Mapping[str, NameReading]) -> bool:
    """One of them is a checkpoint's file and not only a companion like `meta_000810.json`."""
    return any(readings[part].role is NameRole.CHECKPOINT for part in parts)


def _key_of(name: str, reading: NameReading, *, by_words: bool) -> str | None:
    """What names of one checkpoint have in common; None for a name that is never a part of one."""
    if reading.family == "ignored":
        return None
    if reading.family == "tensorflow":
        return _cut(name)[0]
    if not by_words or reading.role not in (NameRole.CHECKPOINT, NameRole.FOREIGN):
        return None
    return _cut(name)[0]


@lru_cache(maxsize=REMEMBERED_NAMES)
def _cut(name: str) -> tuple[str | None, bool]:
    """The key of a name, and whether it says itself that it is a part: something was taken away."""
    for system in (_TENSORFLOW, _NVRX):
        if match := system.fullmatch(name):
            return _OWN_SYSTEM + match[1], True
    stem = _EXTENSION.fullmatch(name)
    if stem is None or not _DIGIT.search(stem[1]):
        return None, False
    left = _PART.sub("", _NUMBERED.sub("", stem[1]))
    key = _SEPARATORS.sub("_", left).strip("-_.")
    return (key if _DIGIT.search(key) else None), left != stem[1]


def _name_for(key: str, taken: set[str]) -> str:
    name = key.removeprefix(_OWN_SYSTEM)
    if not _LETTER.search(name):
        name = f"step_{name}"
    while name in taken:
        name += ".group"
    taken.add(name)
    return name


def _group(name: str, parts: list[str], readings: Mapping[str, NameReading], step: int | None = None) -> Group:
    members = tuple(sorted(parts))
    told = [readings[part] for part in members if readings[part].family == "tensorflow"]
    told = told or [readings[part] for part in members if readings[part].role is NameRole.CHECKPOINT]
    if step is None:
        step = next((reading.step for reading in told if reading.step is not None), None)
    family = next((reading.family for reading in told if reading.family != SINGLE_FILE), SEVERAL_FILES)
    return Group(name, family, step, members)
