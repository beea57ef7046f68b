"""Who did what to a set: `log.jsonl` in its control directory, one line per operation.

Best effort by design: a full disk, a read-only mount or a missing control directory must never stop or fail the
operation that is being written down, and reading it back never fails because of one damaged line.
"""

from __future__ import annotations

import getpass
import json
import os
from datetime import UTC, datetime

from ckptdeck.core.checkpoint_set import LOG
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.monitor.snapshot import LogEntry

_TAIL = 256 * 1024
"""Bytes read back at most; the newest lines are at the end."""


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
        with opened(host.fs, path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW) as fd:
            # One write: O_APPEND keeps lines of several processes whole.
            data = memoryview(line.encode("ascii") + b"\n")
            return host.fs.write(fd, data) == len(data)
    except OSError:
        return False


def read_log(fs: FileSystem, control: str | None, limit: int = 500) -> tuple[LogEntry, ...]:
    """The newest entries, newest first. Lines that cannot be understood are left out."""
    if control is None:
        return ()
    try:
        data = _read_tail(fs, os.path.join(control, LOG))
    except OSError:
        return ()
    entries = (_entry(line) for line in reversed(data.split(b"\n")) if line)
    return tuple(entry for entry in entries if entry is not None)[:limit]


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
