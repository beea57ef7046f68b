"""Taking a tree apart that has no name any more: markers first, so that at no moment it looks whole."""

from __future__ import annotations

import contextlib
import os

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.naming import markers_last
from ckptdeck.core.states import MemberKind
from ckptdeck.core.unit import directories_of, walk


def dismantle(fs: FileSystem, path: str) -> None:
    """Removes the directory `path` and everything in it; links are removed, never followed.

    Gone already is as good. Raises OSError, and OddThing for what only a person should remove.
    """
    try:
        members = walk(fs, path)
    except FileNotFoundError:
        return
    empty = {member.path for member in members if member.kind is MemberKind.DIRECTORY}
    leaves = [member.path for member in members if member.path not in empty]
    for leaf in reversed(markers_last(leaves)):
        with contextlib.suppress(FileNotFoundError):
            fs.unlink(os.path.join(path, leaf))
    directories = {*directories_of(member.path for member in members), *empty}
    for directory in sorted(directories, key=lambda one: (-one.count("/"), one)):
        with contextlib.suppress(FileNotFoundError):
            fs.remove_directory(os.path.join(path, directory))
    with contextlib.suppress(FileNotFoundError):
        fs.remove_directory(path)
