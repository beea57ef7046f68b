"""Which checkpoint a pointer file or a symbolic link names. What is pointed at is never touched (invariant 2)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Pointer, Warning

POINTER_LIMIT = 4096
"""Bytes. What is larger is no pointer, whatever it is called."""
_TENSORFLOW = re.compile(r'^model_checkpoint_path:\s*"([^"]*)"', re.MULTILINE)


def read_pointers(
    fs: FileSystem, root: str, names: Iterable[str], links: Mapping[str, str], steps: Mapping[str, int | None]
) -> tuple[tuple[Pointer, ...], dict[str, str], tuple[Warning, ...]]:
    """The pointer files, target → what points to it (a file or a link), and a warning for each pointer to nothing.

    `links` are symbolic links and their targets, `steps` the names in the set with their steps.
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
        text = os.fsdecode(content).strip()
        targets = _targets(text, steps)
        pointers.append(Pointer(name, tuple(targets), content, status.st_ino, status.st_mtime_ns))
        found.update(dict.fromkeys(targets, name))
        if not targets:
            warnings.append(Warning("pointer", f"{visible(name)} names {visible(text, 80)!r}, which is not here"))
    for link, target in links.items():
        directory, name = os.path.split(os.path.normpath(target))
        if directory in ("", root) and name in steps:
            found[name] = link
    return tuple(pointers), found, tuple(warnings)


def _targets(text: str, steps: Mapping[str, int | None]) -> list[str]:
    """Names in the set that the text of a pointer means: a name, a path ending in one, a bare step, TensorFlow's."""
    tensorflow = _TENSORFLOW.search(text)
    name = os.path.basename((tensorflow[1] if tensorflow is not None else text).rstrip("/"))
    if name in steps:
        return [name]
    if name.isascii() and name.isdigit():
        return [other for other, step in steps.items() if step == int(name)]
    return []
