"""How every file of our own is written: the same rule as a checkpoint, in small."""

from __future__ import annotations

import contextlib
import itertools
import os

from ckptdeck.core.filesystem import FileSystem, opened, write_all

SUFFIX = ".new"
"""Temporary names in the control directory end with this; a leftover one means nothing and may be removed."""

_numbers = itertools.count()


def write_small_file(fs: FileSystem, directory: str, name: str, data: bytes, *, pid: int) -> None:
    """Writes `directory`/`name` so that after any crash it holds the old or the new bytes, never a mixture.

    Raises OSError; the old file is then untouched.
    """
    fd, temporary = _create_temporary(fs, directory, pid)
    try:
        try:
            write_all(fs, fd, memoryview(data), 0)
            fs.fsync(fd)
        finally:
            fs.close(fd)
        fs.rename(temporary, os.path.join(directory, name))
    except OSError:
        with contextlib.suppress(OSError):
            fs.unlink(temporary)
        raise
    sync_names(fs, directory)


def _create_temporary(fs: FileSystem, directory: str, pid: int) -> tuple[int, str]:
    """A new file only we write. A container may give every run the same pid, so leftovers are stepped over."""
    while True:
        temporary = os.path.join(directory, f".{pid}-{next(_numbers)}{SUFFIX}")
        with contextlib.suppress(FileExistsError):
            return fs.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW), temporary


def sync_names(fs: FileSystem, directory: str) -> None:
    """fsync of one of our own directories. What a server cannot do it need not do: records are evidence, not data."""
    with opened(fs, directory, os.O_RDONLY | os.O_DIRECTORY) as fd:
        fs.fsync(fd)
