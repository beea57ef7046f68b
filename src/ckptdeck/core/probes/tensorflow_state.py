"""TensorFlow's file `checkpoint`: a text that names the latest checkpoint of its directory, and the older ones."""

from __future__ import annotations

import re
from collections import defaultdict

from ckptdeck.core.probes.reading import MIB, Damage, is_zero
from ckptdeck.core.probes.tensor_bundle import INDEX
from ckptdeck.core.probes.tree import Tree, some
from ckptdeck.core.states import Structure

_STATE_FILE = "checkpoint"
_NUMBERED = re.compile(r".*-[0-9]+", re.ASCII | re.DOTALL)
"""What tf.train.Checkpoint.save and Saver.save make of a prefix, who write `checkpoint` too; `write` does neither."""
_LINE = re.compile(r'[a-z_]+: (?:"(?P<text>(?:[^"\\\n]|\\.)*)"|[-+.0-9e]+)', re.ASCII)
_FIRST_KEY = "model_checkpoint_path: "
_LARGEST = MIB

MISSING_MESSAGE = 'TensorFlow says "NotFoundError: Unsuccessful TensorSliceReader constructor"'
_DAMAGED_MESSAGE = 'TensorFlow says "ParseError" among its warnings, and finds no checkpoint at all'
_NONE_MESSAGE = "tf.train.latest_checkpoint says nothing and finds none"


def judge_state(tree: Tree, prefixes: list[str]) -> set[str]:
    """The paths of the `checkpoint` files beside the bundles with these prefixes. Raises Damage for one of them."""
    paths = set()
    by_directory: dict[str, list[str]] = defaultdict(list)
    for prefix in prefixes:
        by_directory[prefix.rpartition("/")[0]].append(prefix)
    for directory, here in by_directory.items():
        path = f"{directory}/{_STATE_FILE}" if directory else _STATE_FILE
        if tree.has(path):
            paths.add(path)
            data = tree.read(path, _LARGEST)
            if data is not None:
                _check(path, data, here)
        elif not directory and any(map(_NUMBERED.fullmatch, here)) and not _is_group(tree, here):
            raise Damage(
                Structure.INCOMPLETE,
                f"{path} is not there, which says which is the latest of {some(here)}",
                loader_says=_NONE_MESSAGE,
            )
    return paths


def _is_group(tree: Tree, prefixes: list[str]) -> bool:
    """Whether the tree is one checkpoint by itself and not the directory that it lies in."""
    return len(prefixes) == 1 and tree.name in (prefixes[0], prefixes[0] + INDEX)


def _check(path: str, data: bytes, prefixes: list[str]) -> None:
    """Lines `key: value`; the last one may lack its line end."""
    lines = data.decode("utf-8", "replace").splitlines()
    latest = ""
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            cut = number == len(lines) and not is_zero(data[-1:])
            raise _damaged(path, data, cut, f"line {number:,} of {len(lines):,} is not of the form key: value")
        if number == 1 and line.startswith(_FIRST_KEY) and match["text"]:
            latest = match["text"].rpartition("/")[2]
    if not latest:
        raise _damaged(path, data, not data, "no first line that says which checkpoint is the latest")
    if latest not in {prefix.rpartition("/")[2] for prefix in prefixes}:
        raise _of_this(
            path,
            Damage(
                Structure.INCOMPLETE,
                f"{path} says that {latest!r} is the latest checkpoint, which is not there; there is {some(prefixes)}",
                loader_says=MISSING_MESSAGE,
            ),
        )


def _damaged(path: str, data: bytes, cut: bool, text: str) -> Damage:
    structure = Structure.CUT if cut else Structure.BROKEN
    return _of_this(path, Damage(structure, f"{path}: {len(data):,} bytes, {text}", loader_says=_DAMAGED_MESSAGE))


def _of_this(path: str, damage: Damage) -> Damage:
    damage.judged = frozenset({path})
    return damage
