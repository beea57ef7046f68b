"""Which checkpoint a pointer file or a symbolic link names. What is pointed at is never touched (invariant 2)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Warning

POINTER_LIMIT = 4096
"""Bytes. What is larger is no pointer, whatever it is called."""
_TENSORFLOW = re.compile(r'^model_checkpoint_path:\s*"([^"]*)"', re.MULTILINE)


def read_pointers(
    fs: FileSystem, root: str, pointers: Iterable[str], links: Mapping[str, str], steps: Mapping[str, int | None]
) -> tuple[dict[str, str], tuple[Warning, ...]]:
    """Target → the pointer that names it, and a warning for each pointer to nothing.

    `links` are symbolic links and their targets, `steps` the names in the set with their steps.
    """
    found: dict[str, str] = {}
    warnings = []
    for pointer in sorted(pointers):
        try:
            text = os.fsdecode(read_file(fs, os.path.join(root, pointer), POINTER_LIMIT)).strip()
        except OSError as error:
            warnings.append(Warning("pointer", f"{visible(pointer)} cannot be read: {error.strerror}"))
            continue
        targets = _targets(text, steps)
        found.update(dict.fromkeys(targets, pointer))
        if not targets:
            warnings.append(Warning("pointer", f"{visible(pointer)} names {visible(text, 80)!r}, which is not here"))
    for link, target in links.items():
        directory, name = os.path.split(os.path.normpath(target))
        if directory in ("", root) and name in steps:
            found[name] = link
    return found, tuple(warnings)


def _targets(text: str, steps: Mapping[str, int | None]) -> list[str]:
    """Names in the set that the text of a pointer means: a name, a path ending in one, a bare step, TensorFlow's."""
    tensorflow = _TENSORFLOW.search(text)
    name = os.path.basename((tensorflow[1] if tensorflow is not None else text).rstrip("/"))
    if name in steps:
        return [name]
    if name.isascii() and name.isdigit():
        return [other for other, step in steps.items() if step == int(name)]
    return []
