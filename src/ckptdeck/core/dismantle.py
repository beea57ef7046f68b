"""Taking a tree apart that has no name any more: markers first, so that at no moment it looks whole."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Mapping

from ckptdeck.core.filesystem import DirectoryEntry, FileSystem, opened
from ckptdeck.core.naming import markers_last

_OWNER_MAY_ALL = 0o700


_KEPT_FOR_A_READER = (".nfs", ".fuse_hidden", ".smbdelete")
"""How clients of servers call what was removed while somebody has it open."""


class KeptForReader(OSError):
    """All of a directory is removed but what a client keeps for a reader; that goes when it is closed (R27)."""


def dismantle(fs: FileSystem, path: str) -> None:
    """Removes the directory `path` and everything in it, pipes and sockets too; links are removed, never followed.

    Also not one that takes the place of a directory meanwhile (R25): then OSError is raised. Gone already is as good.
    Raises KeptForReader, OSError.
    """
    nodes: dict[str, tuple[int, int]] = {}
    with contextlib.suppress(FileNotFoundError):
        nodes[path] = _node(fs.lstat(path))
    with contextlib.closing(_Hand(fs, nodes)) as hand:
        leaves = _list_all(fs, hand, nodes)
        for leaf in reversed(markers_last(leaves)):
            with contextlib.suppress(FileNotFoundError):
                fs.unlink_in(hand.open(os.path.dirname(leaf)), os.path.basename(leaf))
        kept: set[str] = set()
        for directory in sorted(nodes, key=lambda one: (-one.count("/"), one)):
            try:
                _remove(fs, hand, directory, path)
            except OSError:
                left = [os.path.join(directory, entry.name) for entry in _entries(fs, hand, directory)]
                if not left or not all(one in kept or _is_kept(one) for one in left):
                    raise
                kept.add(directory)
    if kept:
        raise KeptForReader(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)


class _Hand:
    """In one directory at a time, each only while it is the one that was seen in its parent."""

    def __init__(self, fs: FileSystem, nodes: Mapping[str, tuple[int, int]]) -> None:
        self._fs = fs
        self._nodes = nodes
        self._path = ""
        self._fd: int | None = None

    def open(self, path: str) -> int:
        """A descriptor of the directory, until the next one is opened. Raises OSError."""
        if self._fd is not None and self._path == path:
            return self._fd
        self.close()
        self._fd = self._fs.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        self._path = path
        if _node(self._fs.fstat(self._fd)) != self._nodes[path]:
            raise OSError(errno.ELOOP, "another directory has taken its place", path)
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self._fs.close(fd)


def _list_all(fs: FileSystem, hand: _Hand, nodes: dict[str, tuple[int, int]]) -> list[str]:
    """Everything that is no directory; the directories are added to `nodes`."""
    leaves: list[str] = []
    waiting = [*nodes]
    while waiting:
        directory = waiting.pop()
        for entry in _entries(fs, hand, directory):
            inside = os.path.join(directory, entry.name)
            if entry.stat is None:
                code = entry.error or errno.EIO
                raise OSError(code, os.strerror(code), inside)
            if not stat.S_ISDIR(entry.stat.st_mode):
                leaves.append(inside)
                continue
            nodes[inside] = _node(entry.stat)
            if entry.stat.st_mode & _OWNER_MAY_ALL != _OWNER_MAY_ALL:
                _let_owner_in(fs, inside, entry.stat.st_mode)
            waiting.append(inside)
    return leaves


def _remove(fs: FileSystem, hand: _Hand, directory: str, top: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if directory == top:
            hand.close()  # servers remove nothing that is open
            fs.remove_directory(directory)
        else:
            fs.remove_directory_in(hand.open(os.path.dirname(directory)), os.path.basename(directory))


def _node(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_kept(path: str) -> bool:
    return os.path.basename(path).startswith(_KEPT_FOR_A_READER)


def _entries(fs: FileSystem, hand: _Hand, directory: str) -> list[DirectoryEntry]:
    try:
        return [entry for entry in fs.list_open_directory(hand.open(directory)) if entry.error != errno.ENOENT]
    except FileNotFoundError:
        return []


def _let_owner_in(fs: FileSystem, directory: str, mode: int) -> None:
    """A copy keeps the modes of its source, and what only may be read cannot be emptied by anybody but root."""
    with contextlib.suppress(OSError):  # not ours: then removing says so
        with opened(fs, directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as fd:
            fs.set_mode(fd, stat.S_IMODE(mode) | _OWNER_MAY_ALL)
