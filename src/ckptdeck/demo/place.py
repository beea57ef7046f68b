"""The directory a demo lives in: made for it alone, and removed by the next one where a demo was killed.

A lock that the kernel gives back with the last process says whether somebody still uses it; a process id could be
somebody else's by now. Nothing is touched that has no such lock file: not what `--keep` left, and nothing of others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator

PREFIX = "ckptdeck-demo-"
OWNER = ".owner"


def make_place() -> tuple[str, int]:
    """A new directory and the lock that marks it as used as long as it is open. Raises OSError."""
    directory = tempfile.mkdtemp(prefix=PREFIX)
    try:
        return directory, _mark(directory)
    except OSError:
        shutil.rmtree(directory)
        raise


def _mark(directory: str) -> int:
    unmarked = os.path.join(directory, f"{OWNER}.part")
    lock = os.open(unmarked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(unmarked, os.path.join(directory, OWNER))  # never seen without its lock
    return lock


def let_go(directory: str) -> None:
    """It stays, and no demo removes it."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, OWNER))


def remove_leftovers() -> None:
    """Those of this user whose demo is dead. What cannot be removed stays for the next one."""
    for directory in _abandoned(tempfile.gettempdir()):
        shutil.rmtree(directory, ignore_errors=True)


def _abandoned(base: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for name in os.listdir(base):
            path = os.path.join(base, name)
            if name.startswith(PREFIX) and _is_ours(path) and _is_free(os.path.join(path, OWNER)):
                yield path


def _is_ours(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _is_free(mark: str) -> bool:
    """A regular file that nobody holds a lock on."""
    try:
        lock = os.open(mark, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return stat.S_ISREG(os.fstat(lock).st_mode)
    except OSError:
        return False
    finally:
        os.close(lock)
