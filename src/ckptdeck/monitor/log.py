"""Who did what to a set: `log.jsonl` in its control directory, one line per operation.

A file that has become long gets the name `log.jsonl.1`, over an older one of that name, and a new one is begun: both
together stay below twice MOST.

Best effort by design: a full disk, a read-only mount or a missing control directory must never stop or fail the
operation that is being written down, and reading it back never fails because of one damaged line.
"""

from __future__ import annotations

import contextlib
import getpass
import itertools
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime

from ckptdeck.core.checkpoint_set import LOG
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.values import dataclass

MOST = 1024 * 1024
"""Bytes after which a new file is begun."""
EARLIER = LOG + ".1"
_TAIL = 256 * 1024
"""Bytes read back at most of each file; the newest lines are at the end."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of who did what."""

    at: float
    who: str
    text: str
    command: str
    """The line for a shell that did it or does the same; "" for what has none."""
    outcome: str


def append(host: Host, control: str | None, *, text: str, outcome: str, command: str | None = None) -> bool:
    """Adds one line, now, by us. `command` is our own command line by default. False when it could not be written."""
    if control is None:
        return False
    line = json.dumps(
        {
            "at": datetime.fromtimestamp(host.clock.now(), UTC).isoformat(timespec="milliseconds"),
            "who": _who(host),
            "text": text,
            "command": host.command if command is None else command,
            "outcome": outcome,
        }
    )
    path = os.path.join(control, LOG)
    try:
        _begin_anew_when_long(host.fs, control)
        with opened(host.fs, path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW) as fd:
            # One write: O_APPEND keeps lines of several processes whole.
            data = memoryview(line.encode("ascii") + b"\n")
            return host.fs.write(fd, data) == len(data)
    except OSError:
        return False


def _begin_anew_when_long(fs: FileSystem, control: str) -> None:
    """Sets a long file aside. Raises OSError.

    Of several processes that find it long, one does it: who has its lock, and still finds it under its name. What
    somebody else writes into it meanwhile goes into the same file, under the other name.
    """
    path = os.path.join(control, LOG)
    with contextlib.suppress(FileNotFoundError):
        if fs.lstat(path).st_size < MOST:
            return
        with opened(fs, path, os.O_WRONLY | os.O_NOFOLLOW) as fd:
            if fs.try_lock(fd) and fs.fstat(fd).st_ino == fs.lstat(path).st_ino:
                fs.rename(path, os.path.join(control, EARLIER))


def read_log(fs: FileSystem, control: str | None, limit: int = 500) -> tuple[LogEntry, ...]:
    """The newest entries, newest first. Lines that cannot be understood are left out."""
    if control is None:
        return ()
    return tuple(itertools.islice(_newest_first(fs, control), limit))


def _newest_first(fs: FileSystem, control: str) -> Iterator[LogEntry]:
    """The earlier file is only read by whoever wants more than the newer one has."""
    for name in (LOG, EARLIER):
        try:
            data = _read_tail(fs, os.path.join(control, name))
        except OSError:
            continue
        entries = (_entry(line) for line in reversed(data.split(b"\n")) if line)
        yield from (entry for entry in entries if entry is not None)


def _read_tail(fs: FileSystem, path: str) -> bytes:
    with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW) as fd:
        size = fs.fstat(fd).st_size
        start = max(0, size - _TAIL)
        buffer = bytearray(size - start)
        filled = 0
        while filled < len(buffer):
            count = fs.read_into(fd, memoryview(buffer)[filled:], start + filled)
            if count == 0:
                break
            filled += count
    data = bytes(buffer[:filled])
    return data if start == 0 else data.partition(b"\n")[2]


def _entry(line: bytes) -> LogEntry | None:
    try:
        document = json.loads(line)
        return LogEntry(
            at=datetime.fromisoformat(document["at"]).timestamp(),
            who=str(document["who"]),
            text=str(document["text"]),
            command=str(document["command"]),
            outcome=str(document["outcome"]),
        )
    except (ValueError, KeyError, TypeError):
        return None  # a torn or foreign line


def _who(host: Host) -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's uid without a name
        user = f"uid {os.getuid()}"
    return f"{user}@{host.name} pid {host.pid}"
