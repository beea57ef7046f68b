"""How every file of our own is written: the same rule as a checkpoint, in small."""

from __future__ import annotations

import contextlib
import itertools
import os

from ckptdeck.core.filesystem import FileSystem, is_there, write_all
from ckptdeck.core.volume import sync_names

SUFFIX = ".new"
"""Temporary names in the control directory end with this; a leftover one means nothing and may be removed."""

_numbers = itertools.count()


def write_small_file(fs: FileSystem, directory: str, name: str, data: bytes, *, pid: int, durable: bool = True) -> None:
    """Writes `directory`/`name` so that after any crash it holds the old or the new bytes, never a mixture.

    Without `durable` nobody waits for the disk, for what vouches for itself and can be made anew: a power cut may take
    it, or leave rubbish under its name. Raises OSError; the old file is then untouched.
    """
    fd, temporary = _create_temporary(fs, directory, pid)
    try:
        try:
            write_all(fs, fd, memoryview(data), 0)
            if durable:
                fs.fsync(fd)
        finally:
            fs.close(fd)
        _give_name(fs, temporary, os.path.join(directory, name))
    except OSError:
        with contextlib.suppress(OSError):
            fs.unlink(temporary)
        raise
    if durable:
        sync_names(fs, directory)


def _create_temporary(fs: FileSystem, directory: str, pid: int) -> tuple[int, str]:
    """A new file only we write. A container may give every run the same pid, so leftovers are stepped over."""
    while True:
        temporary = os.path.join(directory, f".{pid}-{next(_numbers)}{SUFFIX}")
        with contextlib.suppress(FileExistsError):
            return fs.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW), temporary


def _give_name(fs: FileSystem, temporary: str, final: str) -> None:
    """The temporary name is ours alone: once it is gone the rename has happened, whatever a server said (R12)."""
    try:
        fs.rename(temporary, final)
    except OSError:
        if is_there(fs, temporary):
            raise
