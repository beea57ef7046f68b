"""Taking a tree apart that has no name any more: markers first, so that at no moment it looks whole."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from ckptdeck.core.filesystem import DirectoryEntry, FileSystem, opened
from ckptdeck.core.naming import markers_last

_OWNER_MAY_ALL = 0o700


_KEPT_FOR_A_READER = (".nfs", ".fuse_hidden", ".smbdelete")
"""How clients of servers call what was removed while somebody has it open."""


class KeptForReader(OSError):
    """All of a directory is removed but what a client keeps for a reader; that goes when it is closed (R27)."""


def dismantle(fs: FileSystem, path: str) -> None:
    """Removes the directory `path` and everything in it, pipes and sockets too; links are removed, never followed.

    Gone already is as good. Raises KeptForReader, OSError.
    """
    leaves: list[str] = []
    directories: list[str] = []
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        directories.append(directory)
        for entry in _entries(fs, directory):
            inside = os.path.join(directory, entry.name)
            if entry.stat is None:
                code = entry.error or errno.EIO
                raise OSError(code, os.strerror(code), inside)
            if not stat.S_ISDIR(entry.stat.st_mode):
                leaves.append(inside)
                continue
            if entry.stat.st_mode & _OWNER_MAY_ALL != _OWNER_MAY_ALL:
                _let_owner_in(fs, inside, entry.stat.st_mode)
            waiting.append(inside)
    for leaf in reversed(markers_last(leaves)):
        with contextlib.suppress(FileNotFoundError):
            fs.unlink(leaf)
    kept: set[str] = set()
    for directory in sorted(directories, key=lambda one: (-one.count("/"), one)):
        try:
            fs.remove_directory(directory)
        except FileNotFoundError:
            continue
        except OSError:
            left = [os.path.join(directory, entry.name) for entry in _entries(fs, directory)]
            if not left or not all(one in kept or _is_kept(one) for one in left):
                raise
            kept.add(directory)
    if kept:
        raise KeptForReader(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)


def _is_kept(path: str) -> bool:
    return os.path.basename(path).startswith(_KEPT_FOR_A_READER)


def _entries(fs: FileSystem, directory: str) -> list[DirectoryEntry]:
    try:
        return [entry for entry in fs.list_directory(directory) if entry.error != errno.ENOENT]
    except FileNotFoundError:
        return []


def _let_owner_in(fs: FileSystem, directory: str, mode: int) -> None:
    """A copy keeps the modes of its source, and what only may be read cannot be emptied by anybody but root."""
    with contextlib.suppress(OSError):  # not ours: then removing says so
        with opened(fs, directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as fd:
            fs.set_mode(fd, stat.S_IMODE(mode) | _OWNER_MAY_ALL)
