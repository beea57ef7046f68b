"""The set lock: held for seconds around removals, replacements and recovery; never by publish, never to read (R33)."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

from ckptdeck.core.checkpoint_set import LOCK, CheckpointSet
from ckptdeck.core.errors import LockHeld
from ckptdeck.core.filesystem import read_file, write_all
from ckptdeck.core.host import Host
from ckptdeck.core.safe_text import visible
from ckptdeck.core.volume import lock_if_free

_LIMIT = 4096


@contextlib.contextmanager
def set_lock(host: Host, *sets: CheckpointSet) -> Iterator[None]:
    """Holds the lock of each set, in the order given (primary before mirror), without waiting.

    Raises LockHeld naming the owner. The kernel gives the lock back when the process dies, however it dies.
    """
    with contextlib.ExitStack() as held:
        for checkpoint_set in sets:
            fd = _take(host, checkpoint_set)
            held.callback(host.fs.close, fd)
        yield


def _take(host: Host, checkpoint_set: CheckpointSet) -> int:
    path = checkpoint_set.control_path(LOCK)
    while True:
        fd = host.fs.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            if not lock_if_free(host.fs, fd, path):
                raise LockHeld(
                    f"{visible(checkpoint_set.root)} is locked by {_owner(host, path)}",
                    why="Another ckptdeck is replacing or removing something there, which takes seconds",
                    next_step="Try again in a moment; the lock goes away with its process",
                )
            if host.fs.fstat(fd).st_ino == host.fs.lstat(path).st_ino:
                _sign(host, fd)
                return fd
        except BaseException:
            with contextlib.suppress(OSError):
                host.fs.close(fd)
            raise
        host.fs.close(fd)  # somebody replaced the lock file under us: take the one that is there now


def _sign(host: Host, fd: int) -> None:
    """Says who holds it. The text is a help for people; a full disk must not stop a removal."""
    owner = {"host": host.name, "boot": host.boot_id, "pid": host.pid, "started": host.process_start}
    with contextlib.suppress(OSError):
        write_all(host.fs, fd, memoryview(json.dumps(owner).encode().ljust(512)), 0)


def _owner(host: Host, path: str) -> str:
    try:
        owner = json.loads(read_file(host.fs, path, _LIMIT))
        return f"process {int(owner['pid'])} on {visible(str(owner['host']))}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
