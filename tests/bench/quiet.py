"""Whether this machine was left alone: processor time that others took while something was measured."""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
DISTURBED = 0.25
"""Processors that others kept busy on average; with more, a round is measured again."""
_POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE, for which Python has no name."""
_LOOK = 0.25
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Busy:
    """Processor seconds of the whole machine up to now, at a time."""

    seconds: float
    taken_at: float


def busy_now() -> Busy:
    """User, nice, system, interrupt and stolen time of all processors together."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, hard, soft, stolen = map(int, fields[:8])
    return Busy((user + nice + system + hard + soft + stolen) / _TICK, time.monotonic())


def taken_by_others(before: Busy, after: Busy, ours: float) -> float:
    """Processors (0 to their number) that anybody but us kept busy between two looks; `ours` is our own seconds.

    Kernel threads that write back for us count as others, so a round that writes may be given an allowance.
    """
    elapsed = max(after.taken_at - before.taken_at, 1e-9)
    return max(0.0, (after.seconds - before.seconds - ours) / elapsed)


def have_ready(memory: int) -> None:
    """Touches so many bytes of free memory and gives them back.

    A virtual machine hands free memory back to its host within seconds, and whoever needs it first then waits for the
    host: up to four seconds for 2 GiB, by chance in one program's run and not in the other's.
    """
    if memory:
        with mmap.mmap(-1, memory) as pages, contextlib.suppress(OSError):  # a kernel before 5.14 has no such call
            pages.madvise(_POPULATE_WRITE)


def wait_until_quiet(limit: float = DISTURBED) -> bool:
    """Waits until the machine is idle; False when it never was for a while."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        before = busy_now()
        time.sleep(_LOOK)
        if taken_by_others(before, busy_now(), 0.0) <= limit:
            return True
    return False
