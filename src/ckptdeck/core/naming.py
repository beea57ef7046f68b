"""What a name in a checkpoint set stands for. Names only: nothing is opened here, and nothing is believed for its name.

Order of judgement: our own bookkeeping, names still being written, pointers and markers, the policy's own patterns,
the families of the common trainers. A step is an integer out of the name and is never compared as text; the numbers of
`00001-of-00004` and `rank0` are no steps. Names may hold any byte but `/` (R31), so every pattern is matched to the
very end of the name and spans newlines.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

import xxhash

from ckptdeck.core.name_pattern import FLAGS, NamePattern
from ckptdeck.core.policy import Policy
from ckptdeck.core.values import dataclass

_ANY_NUMBER = dict.fromkeys(map(ord, "123456789"), "0")
_Patterns = tuple[re.Pattern[str], ...]
"""The policy's own."""
PART_SUFFIX = ".part"
FOREIGN_FAMILY = "foreign"
"""Of every name that no family, pattern or record knows."""
SINGLE_FILE = "single-file"
"""Of a file of a known extension that no system claims."""
LONGEST_NAME = 255
"""Bytes a name may have on every file system that is supported."""
REMEMBERED_NAMES = 1 << 14
"""A large set is listed every few seconds, and reading a name costs twenty patterns: what it said is remembered."""


class NameRole(StrEnum):
    CHECKPOINT = "checkpoint"
    ROLLING = "rolling"
    """A known extension or family without a step: shown and mirrored, not counted."""
    IN_FLIGHT = "in-flight"
    POINTER = "pointer"
    MARKER = "marker"
    OURS = "ours"
    """Bookkeeping that is never listed."""
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class NameReading:
    """What a name says about itself.

    A checkpoint of a family whose members are several names (TensorFlow's `.index` and `.data-*`) reads as foreign
    with that family and its step: one of its names alone is not a checkpoint.
    """

    role: NameRole
    family: str
    step: int | None = None
    target: str = ""
    """The name an in-flight name or a marker is for, "" when it does not say."""
    ours: bool = False
    """Named by our own publish."""


_FOREIGN = NameReading(NameRole.FOREIGN, FOREIGN_FAMILY)


def read_name(name: str, is_directory: bool, policy: Policy) -> NameReading:
    """What `name`, without any directory before it, stands for in a checkpoint set under `policy`."""
    return _read(name, is_directory, policy.patterns, policy.ignore)


def read_shape(name: str, is_directory: bool, policy: Policy) -> NameReading:
    """The same for who does not ask for the step or the target: names that differ in their numbers are read once.

    No pattern of ours tells one number from another, except in what follows the first dot (`.pt2`, `.h5`); the
    policy's own may.
    """
    if policy.patterns or policy.ignore:
        return read_name(name, is_directory, policy)
    stem, dot, rest = name.partition(".")
    return _read(stem.translate(_ANY_NUMBER) + dot + rest, is_directory, (), ())


@lru_cache(maxsize=REMEMBERED_NAMES)
def _read(name: str, is_directory: bool, own: _Patterns, ignore: tuple[str, ...]) -> NameReading:
    if _OURS.fullmatch(name):
        return NameReading(NameRole.OURS, "ours")
    if any(fnmatch.fnmatchcase(name, glob) for glob in ignore):
        return NameReading(NameRole.FOREIGN, "ignored")
    return _read_unfinished(name, is_directory, own) or _read_final(name, is_directory, own)


def read_directory(name: str, reading: NameReading, inside: Iterable[str]) -> NameReading:
    """What a directory stands for when the names in it are known too.

    A name like `runs_7` alone makes no Orbax step, and a directory of any name that holds what only a known layout
    holds is a checkpoint.
    """
    if reading.role is NameRole.FOREIGN and reading.family != FOREIGN_FAMILY:
        return reading  # ignored by the policy
    if reading.role is not NameRole.FOREIGN and reading.family != "orbax":
        return reading
    names = set(inside)
    layout = _layout_of(names)
    if reading.family == "orbax":
        told = layout is not None or any(item in names for item in _ORBAX_ITEMS)
        return NameReading(reading.role, layout or "orbax", reading.step) if told else _FOREIGN
    return _FOREIGN if layout is None else _named(layout, _step_in(name))


def _layout_of(names: set[str]) -> str | None:
    for layout, telling in _LAYOUTS:
        if telling <= names:
            return layout
    if any(_DEEPSPEED_FILE.fullmatch(name) for name in names):
        return "deepspeed"
    return "dcp" if any(name.endswith(".distcp") for name in names) else None


_LAYOUTS = (
    ("hf-trainer", {"trainer_state.json"}),
    ("accelerate", {"random_states_0.pkl"}),
    ("orbax", {"_CHECKPOINT_METADATA"}),
    ("orbax", {"_METADATA"}),
    ("orbax", {"manifest.ocdbt"}),
    ("saved-model", {"saved_model.pb"}),
    ("pretrained", {"model.safetensors.index.json"}),
    ("pretrained", {"pytorch_model.bin.index.json"}),
    ("pretrained", {"config.json", "model.safetensors"}),
    ("pretrained", {"config.json", "pytorch_model.bin"}),
    ("peft", {"adapter_config.json"}),
    ("nemo", {"context", "weights"}),
)
"""Layout, and names inside that only it has."""
_ORBAX_ITEMS = ("default", "params", "state", "metadata", "metrics", "checkpoint", "commit_success.txt", ".zarray")
"""What the steps of older Orbax and Flax versions hold."""
_DEEPSPEED_FILE = NamePattern(r"mp_rank_[0-9]+(?:_[0-9]+)?_model_states\.pt", needs="_model_states.pt")


def part_name(final: str) -> str:
    """Where `final` is staged, beside it. Names that have no room for the suffix stage under their hash (R1)."""
    raw = os.fsencode(final)
    if len(raw) + len(PART_SUFFIX) <= LONGEST_NAME:
        return final + PART_SUFFIX
    return f".{xxhash.xxh3_64(raw).hexdigest()}{PART_SUFFIX}"


def is_marker(path: str) -> bool:
    """Whether a file inside a checkpoint says that the rest is there: written last and removed first."""
    name = path.rpartition("/")[2]
    return name in _MARKERS or name in _CLOSING or name.endswith((".index", ".index.json"))


def markers_last(paths: Iterable[str]) -> list[str]:
    """In the order in which the files of a checkpoint get their place."""
    return sorted(paths, key=lambda path: (is_marker(path), path))


def order_key(step: int | None, name: str) -> tuple[bool, int, str]:
    """Sorts newest step first, then what has no step; equal steps by name."""
    return (step is None, -(step or 0), name)


# --- names still being written

_OURS = NamePattern(r"\.ckptdeck|\..+\.ckptdeck|lost\+found")
_HASHED_PART = NamePattern(r"\.[0-9a-f]{16}\.part", needs=".part")
_PART = NamePattern(r"(.+)\.part", needs=".part")

_UNFINISHED_SELF = {
    "orbax": NamePattern(r"(.+)\.orbax-checkpoint-tmp(?:-[0-9]+)?", needs=".orbax-checkpoint-tmp"),
    "hf-trainer": NamePattern(r"tmp-(checkpoint-.+)", needs="tmp-checkpoint-"),
    "nemo-rl": NamePattern(r"tmp_(step_[0-9]+)", needs="tmp_step_"),
    "dlrover": NamePattern(r"()\._dlrover_ckpt_stage", needs="._dlrover_ckpt_stage"),
    "lightning": NamePattern(r"()tmp[a-z0-9_]{8}", needs="tmp"),
    "safetensors": NamePattern(r"()\.tmp[A-Za-z0-9]{6}", needs=".tmp"),
}
"""Temporary names that only the named system uses, whatever they are for. The group is the final name, if known."""

_NVRX_DIRTY = NamePattern(r"(iter_[0-9]{7}_[0-9]+_local)\.dirty\.pt", needs=".dirty.pt")

_UNFINISHED_OF = (
    NamePattern(r"(.+)\.[0-9a-f]{8}\.partial", needs=".partial"),
    NamePattern(r"(.+)\.(?:partial|tmp|temp|incomplete|crdownload)", needs="."),
    NamePattern(r"(.+)-tmp", needs="-tmp"),
    NamePattern(r"(.+)_temp(?:_[0-9a-f]+)?", needs="_temp"),
    NamePattern(r"\.syncthing\.(.+)\.tmp", needs=".syncthing."),
    NamePattern(r"\.(.+)\.[A-Za-z0-9]{6}", needs="."),
)
"""Shapes that many programs use: in flight only when what is left is a name of ours to look after."""


def _read_unfinished(name: str, is_directory: bool, own: _Patterns) -> NameReading | None:
    if _HASHED_PART.fullmatch(name):
        return NameReading(NameRole.IN_FLIGHT, "part", ours=True)
    if part := _PART.fullmatch(name):
        final = _read_final(part[1], is_directory, own)
        return NameReading(NameRole.IN_FLIGHT, "part", final.step, part[1], ours=True)
    if dirty := _NVRX_DIRTY.fullmatch(name):
        target = dirty[1] + ".pt"
        return NameReading(NameRole.IN_FLIGHT, "nvrx", _read_final(target, False, own).step, target)
    for family, pattern in _UNFINISHED_SELF.items():
        if match := pattern.fullmatch(name):
            step = _read_final(match[1], is_directory, own).step if match[1] else None
            return NameReading(NameRole.IN_FLIGHT, family, step, match[1])
    for pattern in _UNFINISHED_OF:
        if match := pattern.fullmatch(name):
            final = _read_final(match[1], is_directory, own)
            if final.role is not NameRole.FOREIGN or final.family in GROUP_FAMILIES:
                return NameReading(NameRole.IN_FLIGHT, "temporary", final.step, match[1])
    return None


# --- final names

GROUP_FAMILIES = frozenset({"tensorflow"})
"""Families whose checkpoints are several names of one directory."""

_POINTERS = frozenset(
    {
        "latest",
        "latest_universal",
        "latest_checkpointed_iteration.txt",
        "dlrover_latest.txt",
        "latest_train_state.pt",
        "checkpoint",
        "LATEST",
        "LOWEST_VAL",
        "best_k_models.yaml",
    }
)
_MARKERS = frozenset({"commit_success.txt", ".metadata", "index", "integrity.json", "_BACKUP_REQUESTED"})
_CLOSING = frozenset(
    {
        "trainer_state.json",
        "_CHECKPOINT_METADATA",
        "manifest.ocdbt",
        "saved_model.pb",
        "fingerprint.pb",
        "metadata.json",
    }
)
"""Files that their trainers write last, without calling them markers (formats.md section 3)."""
_MARKER_OF = NamePattern(r"(.+)[-_]unfinished", needs="unfinished")

_FILE_FAMILIES = {
    "lightning": NamePattern(r"(?:.*-)?epoch=[0-9]+-step=(?P<step>[0-9]+)(?:-.*)?\.ckpt", needs="epoch="),
    "lightning-last": NamePattern(r"(?:.*-)?last(?:-v?[0-9]+)?\.ckpt", needs="last"),
    "composer": NamePattern(
        r"ep[0-9]+-ba(?P<step>[0-9]+)-rank[0-9]+(?:\.pt)?(?:\.tar(?:\.gz|\.bzip|\.lzma)?|\.tgz)?", needs="-rank"
    ),
    "composer-latest": NamePattern(r"latest-rank[0-9]+(?:\.pt)?(?:\.tar(?:\.gz)?)?", needs="latest-rank"),
    "nvrx": NamePattern(r"iter_(?P<step>[0-9]{7})_[0-9]+_local\.pt", needs="_local.pt"),
    "fairseq": NamePattern(
        r"checkpoint(?:_last|_best|_?[0-9]+_(?P<step>[0-9]+)|_?(?P<epoch>[0-9]+)(?=-))(?:-.+)?\.pt", needs="checkpoint"
    ),
    "flax": NamePattern(r"checkpoint_(?P<step>[0-9]+)", needs="checkpoint_"),
    "tensorflow": NamePattern(r".+-(?P<step>[0-9]+)\.(?:index|meta|data-[0-9]{5}-of-[0-9]{5})", needs="-"),
}
_DIRECTORY_FAMILIES = {
    "lightning": _FILE_FAMILIES["lightning"],
    "lightning-last": _FILE_FAMILIES["lightning-last"],
    "hf-trainer": NamePattern(r"checkpoint-(?P<step>[0-9]+)", needs="checkpoint-"),
    "ray": NamePattern(r"checkpoint_(?P<step>[0-9]{6})", needs="checkpoint_"),
    "accelerate": NamePattern(r"checkpoint_(?P<step>[0-9]+)", needs="checkpoint_"),
    "torchtitan": NamePattern(r"step-(?P<step>[0-9]+)", needs="step-"),
    "axlearn": NamePattern(r"step_(?P<step>[0-9]{8})", needs="step_"),
    "nemo-rl": NamePattern(r"step_(?P<step>[0-9]+)", needs="step_"),
    "automodel": NamePattern(r"epoch_[0-9]+_step_(?P<step>[0-9]+)", needs="epoch_"),
    "verl": NamePattern(r"global_step_(?P<step>[0-9]+)", needs="global_step_"),
    "deepspeed": NamePattern(r"global_step(?P<step>[0-9]+)", needs="global_step"),
    "megatron": NamePattern(r"iter_(?P<step>[0-9]{7,})|release"),
    "nemo": NamePattern(r"[^.].*\.ckpt", needs=".ckpt"),
    "orbax": NamePattern(r"(?:[^.].*_)?(?P<step>[0-9]+)"),
}


def _read_final(name: str, is_directory: bool, own: _Patterns) -> NameReading:
    if not is_directory and name in _POINTERS:
        return NameReading(NameRole.POINTER, "pointer")
    if name in _MARKERS and not is_directory:
        return NameReading(NameRole.MARKER, "marker")
    if not is_directory and (marker := _MARKER_OF.fullmatch(name)):
        return NameReading(NameRole.MARKER, "marker", None, marker[1])
    for its_own in own:
        if match := its_own.fullmatch(name):
            return _named("own", _integer(match["step"]))
    families = _DIRECTORY_FAMILIES if is_directory else _FILE_FAMILIES
    for family, pattern in families.items():
        if match := pattern.fullmatch(name):
            step = next((_integer(text) for text in match.groupdict().values() if text is not None), None)
            if family in GROUP_FAMILIES:
                return NameReading(NameRole.FOREIGN, family, step)
            if family == "nemo":
                step = _step_in(name.removesuffix(".ckpt"))
            return _named(family, step)
    return NameReading(NameRole.FOREIGN, FOREIGN_FAMILY) if is_directory else _read_single_file(name)


def _named(family: str, step: int | None) -> NameReading:
    return NameReading(NameRole.ROLLING if step is None else NameRole.CHECKPOINT, family, step)


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


# --- single files of a known extension

_EXTENSION = re.compile(
    r"([^.].*?)((?:\.(?:pt|pt2|pth|ckpt|bin|safetensors|tar|th|npz|npy|h5|hdf5|keras|gguf|msgpack|pkl|joblib))+)",
    FLAGS,
)
_WEIGHTS = re.compile(r"[._-]weights\Z")
_NO_STEP = (
    re.compile(r"[-_.]?[0-9]+-of-[0-9]+", FLAGS),
    re.compile(r"[-_.]?(?:(?:mp|tp|pp|dp|ep|cp|zero_pp)_)?rank[-_=]?[0-9]+", FLAGS),
    re.compile(r"\A(?:rng_state|random_states)_[0-9]+\Z", FLAGS),
)
"""Numbers of shards and ranks: cut out before a step is looked for."""

_STEP_WORDS = (
    NamePattern(r"(?:.*[^A-Za-z])?(?:global[-_]?)?(?:step|iter|iteration)s?[-_=]?([0-9]+)(?:[^0-9].*)?"),
    NamePattern(r"(?:.*[-_=])?([0-9]+)"),
    NamePattern(r"(?:.*[^A-Za-z])?(?:epoch|ep|ckpt|checkpoint)[-_=]?([0-9]+)(?:[^0-9].*)?"),
)
"""A word that says step, then a number of its own at the end, then a word that says epoch."""


def _read_single_file(name: str) -> NameReading:
    match = _EXTENSION.fullmatch(name)
    if match is None:
        return NameReading(NameRole.FOREIGN, FOREIGN_FAMILY)
    return _named(SINGLE_FILE, _step_in(_WEIGHTS.sub("", match[1])))


def _step_in(stem: str) -> int | None:
    for numbered in _NO_STEP:
        stem = numbered.sub("", stem)
    for pattern in _STEP_WORDS:
        if match := pattern.fullmatch(stem):
            return int(match[1])
    return None
