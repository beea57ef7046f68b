"""Which checkpoint a pointer file or a symbolic link names. What is pointed at is never touched (invariant 2)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping

from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import BestModel, Pointer, Sighting, Warning
from ckptdeck.core.states import Kind

POINTER_LIMIT = 4096
"""Bytes. What is larger is no pointer, whatever it is called."""
BEST_MODELS = "best_k_models.yaml"
TRAINER_STATE = "trainer_state.json"
_LARGEST_STATE = 64 << 20
_TENSORFLOW = re.compile(r'^model_checkpoint_path:\s*"([^"]*)"', re.MULTILINE)


def read_pointers(
    fs: FileSystem, root: str, names: Iterable[str], links: Mapping[str, str], steps: Mapping[str, int | None]
) -> tuple[tuple[Pointer, ...], dict[str, str], tuple[Warning, ...]]:
    """The pointer files, target → what points to it (a file or a link), and a warning for each pointer to nothing.

    `links` are symbolic links and their targets, `steps` the names in the set with their steps. Of several that point
    to one target the last link by name is told, else the last file: no listing has a say by its order.
    """
    pointers = []
    found: dict[str, str] = {}
    warnings = []
    for name in sorted(names):
        path = os.path.join(root, name)
        try:
            status = fs.lstat(path)
            content = read_file(fs, path, POINTER_LIMIT)
        except OSError as error:
            warnings.append(Warning("pointer", f"{visible(name)} cannot be read: {error.strerror}"))
            continue
        if b"\0" in content:
            continue  # a tracker in a format of its own, which is not unpickled to learn a number
        text = os.fsdecode(content).strip()
        targets = _best_models(text, steps) if name == BEST_MODELS else _targets(text, steps)
        pointers.append(Pointer(name, tuple(targets), content, status.st_ino, status.st_mtime_ns))
        found.update(dict.fromkeys(targets, name))
        if not targets:
            warnings.append(Warning("pointer", f"{visible(name)} names {visible(text, 80)!r}, which is not here"))
    for link, target in sorted(links.items()):
        directory, name = os.path.split(os.path.normpath(target))
        if directory in ("", root) and name in steps:
            found[name] = link
    return tuple(pointers), found, tuple(warnings)


def _best_models(text: str, steps: Mapping[str, int | None]) -> list[str]:
    """Lightning's list of its best: a line "path: score" each."""
    names = (os.path.basename(line.rpartition(":")[0].strip().strip("\"'").rstrip("/")) for line in text.splitlines())
    return [name for name in dict.fromkeys(names) if name in steps]


def find_best(fs: FileSystem, root: str, sightings: Iterable[Sighting], before: BestModel | None) -> BestModel | None:
    """What the newest checkpoint of an HF Trainer calls the best one; `before` stands while its file did not change.

    What cannot be read or parsed names nothing.
    """
    newest = max((s for s in sightings if _has_state(s)), key=_step_then_name, default=None)
    if newest is None or newest.identity is None:
        return None
    state = next(member for member in newest.identity.members if member.path == TRAINER_STATE)
    stamp = (state.inode, state.size, state.mtime_ns)
    if before is not None and (before.source, before.stamp) == (newest.name, stamp):
        return before
    try:
        document = json.loads(read_file(fs, os.path.join(root, newest.name, TRAINER_STATE), _LARGEST_STATE))
        best = document["best_model_checkpoint"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        best = None
    target = os.path.basename(best.rstrip("/")) if isinstance(best, str) else ""
    return BestModel(newest.name, stamp, target)


def _step_then_name(sighting: Sighting) -> tuple[int, str]:
    return (-1 if sighting.step is None else sighting.step, sighting.name)


def _has_state(sighting: Sighting) -> bool:
    identity = sighting.identity
    return (
        sighting.kind is Kind.DIRECTORY
        and identity is not None
        and any(member.path == TRAINER_STATE for member in identity.members)
    )


def _targets(text: str, steps: Mapping[str, int | None]) -> list[str]:
    """Names in the set that the text of a pointer means: a name, a path ending in one, a bare step, TensorFlow's."""
    tensorflow = _TENSORFLOW.search(text)
    name = os.path.basename((tensorflow[1] if tensorflow is not None else text).rstrip("/"))
    if name in steps:
        return [name]
    if name.isascii() and name.isdigit():
        return sorted(other for other, step in steps.items() if step == int(name))
    return []
