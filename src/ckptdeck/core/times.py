"""What the time of a file is worth (R18): a time that cannot be believed means "I don't know", never "old"."""

from __future__ import annotations

from ckptdeck.core.sighting import Sighting, Volume

BELIEVED_FROM_NS = 631_152_000 * 10**9
"""Before it: the zero years of FAT (1980) and NTFS (1601), and whatever else was never set."""
_AHEAD = 300.0
"""Seconds a clock may be ahead of ours before its times are no times to us."""
_ALIKE = 3
"""So many names with one mtime to the nanosecond, on a server, show the time of the mount and not of the writing."""


def doubt_about(mtime_ns: int, now: float) -> str:
    """Why this mtime says nothing, as a clause; "" when it can be believed."""
    if mtime_ns <= 0:
        return f"its mtime reads {mtime_ns // 10**9}, which means unknown"
    if mtime_ns < BELIEVED_FROM_NS:
        return "its mtime lies before 1990, which means unknown"
    if mtime_ns / 1e9 > now + _AHEAD:
        return "its mtime lies in the future, so its age is unknown"
    return ""


def known_age(mtime_ns: int, now: float) -> float | None:
    """Seconds since the mtime, 0 for a clock a little ahead of ours; None when it cannot be known."""
    return None if doubt_about(mtime_ns, now) else max(0.0, now - mtime_ns / 1e9)


def is_quiet(mtime_ns: int, now: float, seconds: float) -> bool:
    """The file is known not to have changed for so long."""
    age = known_age(mtime_ns, now)
    return age is not None and age >= seconds


def all_alike(sightings: tuple[Sighting, ...], volume: Volume | None) -> bool:
    """Every time of a listing from a server is one and the same: then none of them is known (R18)."""
    if volume is None or volume.fs_class == "local":
        return False
    known, first = 0, 0
    for sighting in sightings:
        if sighting.identity is None:
            continue
        if known and sighting.identity.mtime_ns != first:
            return False  # asked for each checkpoint of a side: the second one mostly answers
        known, first = known + 1, sighting.identity.mtime_ns
    return known >= _ALIKE
