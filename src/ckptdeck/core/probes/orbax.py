"""P16: Orbax. A step with its items, each a tree of arrays in an OCDBT store or as zarr.

Blind to values, which have no checksum. Whether all data files of a store are there can only be told where zstd can be
decompressed.
"""

from __future__ import annotations

from typing import Any

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.ocdbt import MANIFEST_NAME
from ckptdeck.core.probes.orbax_item import Items, find_items
from ckptdeck.core.probes.orbax_metadata import ITEM, STEP, items_of, read_step
from ckptdeck.core.probes.reading import Damage, TooLarge
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure

FORMAT = "orbax"

_TEMPORARY = ".orbax-checkpoint-tmp"
_COMMITTED = "commit_success.txt"
_MOST_ITEMS = 1000
_DOCUMENT = "metadata"
"""The one file of an item that is a JSON document."""

_UNFINISHED_MESSAGE = "Orbax takes what has such a name for a save that did not finish, and removes it"
_NO_ITEM_MESSAGE = 'Orbax says "FileNotFoundError" or "KeyError" once that item is restored'
_DOCUMENT_MESSAGE = 'Orbax says "JSONDecodeError" or that the JSON is invalid'
_NOT_COMMITTED_MESSAGE = (
    "Orbax says nothing on a local disk; where it looks for that file, the step counts as unfinished"
)


def judge_orbax(tree: Tree) -> KindFinding | None:
    """None for anything else. Raises the worst Damage; TooLarge for what is a thousand steps and not one."""
    unfinished = sorted({member.path for member in tree.members if _TEMPORARY in member.path})
    directories = find_items(tree)
    known = tree.has(STEP) or any(tree.has(below(d, ITEM)) or tree.has(below(d, MANIFEST_NAME)) for d in directories)
    if not (known or unfinished):
        return None
    if len(directories) > _MOST_ITEMS:
        raise TooLarge
    damages = Damages()
    if unfinished:
        damages.add(
            Damage(
                Structure.INCOMPLETE,
                f"{some(unfinished)}: the name of what is not finished; the save ended before it was renamed",
                loader_says=_UNFINISHED_MESSAGE,
            )
        )
    items = Items(tree, damages)
    for directory in directories:
        items.judge(directory)
    step = _judge_step(tree, damages, items.modern)
    _judge_committed(tree, damages, directories)
    documents = _judge_documents(tree, damages, step)
    marks = {path for path in tree.files if path.rpartition("/")[2] in (STEP, _COMMITTED)}
    judged = items.judged | marks | documents
    damages.raise_worst(judged)
    said = [f"{counted(len(directories), 'item')} with arrays", items.summary()]
    return KindFinding(FORMAT, ", ".join(filter(None, said)), frozenset(judged))


def _judge_step(tree: Tree, damages: Damages, modern: bool) -> dict[str, Any]:
    """What `_CHECKPOINT_METADATA` says; {} without it. `modern`: the version that wrote this writes it."""
    if tree.has(STEP):
        with damages.heard():
            return read_step(tree)
    elif modern:
        damages.add(
            Damage(
                Structure.SUSPECT,
                f"{STEP} is not there, which the version that wrote this gives every step last; either the save "
                "did not finish or this is only a part of a step",
                loader_says=_NOT_COMMITTED_MESSAGE,
            )
        )
    return {}


def _judge_committed(tree: Tree, damages: Damages, directories: list[str]) -> None:
    """`commit_success.txt` is there on every level or on none: not all versions write it on a local disk."""
    paths = [below(level, _COMMITTED) for level in sorted({"", *directories})]
    missing = [path for path in paths if not tree.has(path)]
    if missing and len(missing) < len(paths):
        there = next(path for path in paths if path not in missing)
        damages.add(
            Damage(
                Structure.SUSPECT,
                f"{some(missing)}: not there, and {there} is: the save of that level did not finish, "
                "or the file was lost",
                loader_says=_NOT_COMMITTED_MESSAGE,
            )
        )


def _judge_documents(tree: Tree, damages: Damages, step: dict[str, Any]) -> set[str]:
    """Items without arrays: each that the step names is there, and what is a JSON document is one."""
    for name in items_of(step):
        if not any(path.rpartition("/")[2] != _COMMITTED for path in tree.inside(name)):
            damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{name}/ is not there, or empty, one of the items that {STEP} names",
                    loader_says=_NO_ITEM_MESSAGE,
                )
            )
    documents = {
        f"{directory}/{_DOCUMENT}"
        for directory, names in tree.directories.items()
        if directory and _DOCUMENT in names and set(names) <= {_DOCUMENT, _COMMITTED}
    }
    for path in sorted(documents):
        try:
            tree.json(path)
        except Damage as damage:
            damages.add(Damage(damage.structure, damage.text, loader_says=_DOCUMENT_MESSAGE))
    return documents
