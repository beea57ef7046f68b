"""The log as the console shows it: what this console does now, and what the set's own `log.jsonl` remembers."""

from __future__ import annotations

import os
import threading
from collections import deque

from ckptdeck.core.checkpoint_set import LOG
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.monitor import log
from ckptdeck.monitor.snapshot import LogEntry

LIMIT = 500
OURS = "this console"


class ActivityLog:
    """Entries newest first, at most LIMIT. The file is the truth once it was read again: it also holds what command
    lines did. What a trainer saves through the library leaves a record, and no entry. Where nothing can be written,
    what we did is kept in memory."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._file = threading.Lock()  # held over reading and writing, so that no entry is taken twice or lost
        self._lock = threading.Lock()
        self._own: deque[LogEntry] = deque(maxlen=LIMIT)
        self._written: deque[LogEntry] = deque(maxlen=LIMIT)
        self._stored: tuple[LogEntry, ...] = ()
        self._stored_stamp: tuple[int, int, int] | None = None

    def write(self, control: str | None, *, text: str, command: str, outcome: str) -> None:
        """Adds one entry, in the file too when there is one. May block on the set's file system."""
        entry = LogEntry(self._host.clock.now(), OURS, text, command, outcome)
        with self._file:
            written = log.append(self._host, control, text=text, outcome=outcome, command=command)
            with self._lock:
                (self._written if written else self._own).appendleft(entry)

    def reread(self, fs: FileSystem, control: str | None) -> None:
        """Takes over the file's entries when it changed. May block on the set's file system."""
        with self._file:
            stamp = _stamp(fs, control)
            if stamp is None or stamp == self._stored_stamp:
                return
            stored = log.read_log(fs, control, LIMIT)
            with self._lock:
                self._stored, self._stored_stamp = stored, stamp
                self._written.clear()

    @property
    def entries(self) -> tuple[LogEntry, ...]:
        with self._lock:
            known = [*self._own, *self._written, *self._stored]
        return tuple(sorted(known, key=lambda entry: entry.at, reverse=True)[:LIMIT])


def _stamp(fs: FileSystem, control: str | None) -> tuple[int, int, int] | None:
    if control is None:
        return None
    try:
        status = fs.lstat(os.path.join(control, LOG))
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
