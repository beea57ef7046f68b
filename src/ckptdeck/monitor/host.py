"""The real machine, as the core is told about it: its clock, its name, this boot, this process."""

from __future__ import annotations

import os
import shlex
import sys
import time

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.sighting import Writer

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_START_TIME_FIELD = 22
"""Field of /proc/<pid>/stat, counted from 1 as proc(5) does."""


class SystemClock:
    """The clock on the wall and the one that only moves forward."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def this_host(command: str | None = None) -> Host:
    """The machine this process runs on. `command` is the line the log shows; by default our own arguments."""
    pid = os.getpid()
    return Host(
        fs=FileSystem(),
        clock=SystemClock(),
        name=os.uname().nodename,
        boot_id=_boot_id(),
        pid=pid,
        process_start=process_start(pid) or "",
        command=_own_command() if command is None else command,
        find_writers=_find_writers,
        pairs=len(os.sched_getaffinity(0)) > 1,
    )


def process_start(pid: int) -> str | None:
    """When the process started, in clock ticks since boot, as the kernel writes it; None when there is none.

    A process with the same pid and another start time is another process.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    after_name = line.rpartition(b")")[2].split()  # the name may hold blanks and brackets; field 3 follows it
    return after_name[_START_TIME_FIELD - 3].decode("ascii")


def _boot_id() -> str:
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""  # nothing that depends on "the same boot" will then be believed


def _own_command() -> str:
    return shlex.join(["ckptdeck", *sys.argv[1:]])


def _find_writers(files: frozenset[tuple[int, int]]) -> dict[tuple[int, int], Writer]:
    from ckptdeck.monitor.processes import find_writers

    return find_writers(files)
