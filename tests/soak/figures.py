"""What one process costs over hours, from /proc, and whether it grows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

MIB = 1 << 20
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Reading:
    """One process at one moment. `at` is monotonic seconds, `cpu` seconds of all its threads so far, `rss` bytes."""

    at: float
    cpu: float
    rss: int
    threads: int
    fds: int


def read_process(pid: int, at: float) -> Reading:
    """Raises OSError once the process is gone."""
    place = Path("/proc", str(pid))
    fields = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    status = dict(
        line.split(":", 1) for line in (place / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    )
    return Reading(
        at=at,
        cpu=(int(fields[11]) + int(fields[12])) / _TICKS,
        rss=int(status["VmRSS"].split()[0]) * 1024,
        threads=int(status["Threads"]),
        fds=len(os.listdir(place / "fd")),
    )


@dataclass(frozen=True, slots=True)
class Stretch:
    """The medians of some minutes; `cpu` is a share of one core."""

    minutes: float
    """From the start to the end of the stretch."""
    rss: float
    cpu: float
    threads: float
    fds: float


def stretches(readings: Sequence[Reading], count: int) -> tuple[Stretch, ...]:
    """The readings in `count` parts of equal length, each from the last reading of the one before."""
    size = (len(readings) - 1) / count
    bounds = [round(size * number) for number in range(count + 1)]
    parts = [readings[first : last + 1] for first, last in pairwise(bounds)]
    return tuple(_stretch(part, readings[0].at) for part in parts if len(part) > 1)


def _stretch(part: Sequence[Reading], began: float) -> Stretch:
    return Stretch(
        minutes=(part[-1].at - began) / 60,
        rss=median(reading.rss for reading in part),
        cpu=(part[-1].cpu - part[0].cpu) / (part[-1].at - part[0].at),
        threads=median(reading.threads for reading in part),
        fds=median(reading.fds for reading in part),
    )


@dataclass(frozen=True, slots=True)
class Limit:
    """By how much the last stretch may exceed the first one after the warm-up, and still count as flat."""

    what: str
    of: Callable[[Stretch], float]
    share: float
    least: float
    words: Callable[[float], str]


LIMITS = (
    Limit("memory", lambda stretch: stretch.rss, 0.03, 2 * MIB, lambda value: f"{value / MIB:.1f} MiB"),
    Limit("CPU", lambda stretch: stretch.cpu, 0.3, 0.02, lambda value: f"{value:.1%} of a core"),
    Limit("threads", lambda stretch: stretch.threads, 0, 2, lambda value: f"{value:g}"),
    Limit("open files", lambda stretch: stretch.fds, 0, 4, lambda value: f"{value:g}"),
)


def growth(after_warm_up: Sequence[Stretch]) -> tuple[str, ...]:
    """One sentence for each figure that grew beyond its limit."""
    first, last = after_warm_up[0], after_warm_up[-1]
    found = []
    for limit in LIMITS:
        before, now = limit.of(first), limit.of(last)
        if now - before > max(before * limit.share, limit.least):
            found.append(f"{limit.what} grew from {limit.words(before)} to {limit.words(now)}")
    return tuple(found)
