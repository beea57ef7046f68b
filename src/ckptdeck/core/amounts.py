"""Sizes, spans and moments as the reasons of the core word them, in decimal units and UTC; and a median."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_YEAR = 365.25 * 86400


@lru_cache(maxsize=4096)
def size_text(size: float) -> str:
    """ "512 B", "650 MB", "2.47 GB", "114 GB": three figures."""
    power = _power(size)
    return f"{_figures(size, power)} {_UNITS[power]}"


def part_of_text(part: int, whole: int) -> str:
    """ "1.82 of 2.47 GB"; in bytes when three figures do not tell them apart."""
    power = _power(whole)
    one, other = _figures(part, power), _figures(whole, power)
    if one == other and part != whole:
        return f"{part:,} of {whole:,} bytes"
    return f"{one} of {other} {_UNITS[power]}"


def span_text(seconds: float) -> str:
    """ "40s", "11m02s", "3h05m", "4d02h": two units; "3y" from two years on."""
    if years := years_text(seconds):
        return years
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def years_text(seconds: float) -> str:
    """ "3y", and ">10y" for what no figure of ours can tell any closer; "" below two years."""
    if seconds >= 10 * _YEAR:
        return ">10y"
    return f"{seconds / _YEAR:.0f}y" if seconds >= 2 * _YEAR else ""


def counted(count: int, noun: str, plural: str = "") -> str:
    """1, "checkpoint" -> "1 checkpoint"; 1046, "checkpoint" -> "1,046 checkpoints"."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"


def moment_text(seconds: float) -> str:
    """ "2026-11-30 04:05 UTC"; what no calendar knows as the bare number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s after 1970"


def median(values: Iterable[float]) -> float:
    """The middle of at least one value; of two middles halfway between them. (`statistics` takes longer to import than
    a launch script takes to ask for its resume point.)"""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _power(size: float) -> int:
    power = 0
    while abs(size) >= 999.5 * 1000**power and power < len(_UNITS) - 1:
        power += 1
    return power


def _figures(size: float, power: int) -> str:
    if power == 0:
        return f"{size:.0f}"
    value = size / 1000**power
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f}"
