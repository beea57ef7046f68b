"""`integrity.json`, which Megatron-LM writes last on request: a sha256 of each file of the directory it lies in.

Membership is judged here; the hashes are for whoever reads every byte.
"""

from __future__ import annotations

import re

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.tree import KindFinding, Tree, below, some
from ckptdeck.core.states import Structure

FORMAT = "integrity"
NAME = "integrity.json"
HASHES_LEFT = "their hashes are not checked here"

_ALGORITHM = "sha256"
_DIGEST = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_MESSAGE = "Megatron names the file when it is asked to verify, and says nothing otherwise"


def judge_integrity(tree: Tree) -> KindFinding | None:
    """None without such a file. Raises the worst Damage of every one."""
    damages = Damages()
    said: list[str] = []
    judged: set[str] = set()
    for directory, names in tree.directories.items():
        if NAME not in names:
            continue
        with damages.heard():
            listed = _listed(tree, directory)
            if listed is not None:
                judged.add(below(directory, NAME))
                said.append(_judge(tree, directory, listed))
    damages.raise_worst(judged)
    return KindFinding(FORMAT, some(said, 2), frozenset(judged)) if said else None


def integrity_listing(tree: Tree) -> dict[str, str] | None:
    """The sha256, lower-case hex, of each file that such a file names, by its path in the tree.

    None where nothing is named, or by another algorithm. Files named that are not there are left out. Raises Damage.
    """
    found = {}
    for directory, names in tree.directories.items():
        if NAME in names:
            for path, digest in (_listed(tree, directory) or {}).items():
                if tree.has(path) and _DIGEST.fullmatch(digest):
                    found[path] = digest.lower()
    return found or None


def _listed(tree: Tree, directory: str) -> dict[str, str] | None:
    """What is named, by path; None when the file is another's. Raises Damage."""
    match tree.json(below(directory, NAME)):
        case {"algorithm": str() as algorithm, "files": dict() as files}:
            if algorithm.lower().replace("-", "") == _ALGORITHM:
                return {below(directory, name): digest for name, digest in files.items() if isinstance(digest, str)}
    return None


def _judge(tree: Tree, directory: str, listed: dict[str, str]) -> str:
    path = below(directory, NAME)
    if missing := sorted(name for name in listed if not tree.has(name)):
        raise Damage(
            Structure.INCOMPLETE,
            f"not there: {some(missing)}, of {counted(len(listed), 'file')} that {path} names",
            loader_says=_MESSAGE,
        )
    unlisted = [name for name in tree.inside(directory) if name not in listed and name != path]
    rest = f", and not {some(unlisted, 1)}" if unlisted else ""
    return f"{counted(len(listed), 'file')} that {path} names{rest}; {HASHES_LEFT}"
