"""Sizes, rates, durations and times as short text. Bytes in, seconds in; decimal units out."""

from __future__ import annotations

from datetime import datetime, tzinfo

from ckptdeck.core.amounts import years_text

_UNITS = "KMGTPE"


def size(count: float) -> str:
    """`1.82G`, `29.6G`, `114G`, `512B`: three figures at most, so that columns stay narrow."""
    if count <= 0:
        return "0"
    if count < 1000:
        return f"{int(count)}B"
    value = float(count)
    for unit in _UNITS:
        value /= 1000
        if value < 999.5 or unit == _UNITS[-1]:
            break
    figures = f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
    return f"{figures}{unit}"


def rate(bytes_per_second: float) -> str:
    return f"{size(bytes_per_second)}/s"


def of_size(done: int, total: int) -> str:
    """`1.82/2.47G`, the first unit left out when it is the same."""
    first, second = size(done), size(total)
    return f"{first[:-1]}/{second}" if first[-1] == second[-1] else f"{first}/{second}"


def age(seconds: float) -> str:
    """One unit: `8s`, `14m`, `31h`, `12d`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{int(seconds)}s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)}h"
    return f"{int(seconds // 86400)}d"


def since(now: float, at: float) -> str:
    """The age of a time stamp; `?` for one that says nothing (0 or less), `ahead` for one in the future.

    Below a minute it does not tick: a table of fresh rows would be painted anew every second.
    """
    if at <= 0:
        return "?"
    if at > now + 1:
        return "ahead"
    return "<1m" if now - at < 60 else age(now - at)


def span(seconds: float) -> str:
    """Two units where the second one matters: `41s`, `7m`, `1h 10m`, `3d 4h`, `40d`; years from two on."""
    if years := years_text(seconds):
        return years
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{int(seconds)}s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes}m" if minutes else f"{hours}h"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours}h" if hours and days < 10 else f"{days}d"


def clock(at: float, zone: tzinfo | None) -> str:
    """`14:32:07` in `zone`, or in the local one for None."""
    return _local(at, zone).strftime("%H:%M:%S")


def moment(at: float, zone: tzinfo | None) -> str:
    """`2026-03-02 14:32`."""
    return _local(at, zone).strftime("%Y-%m-%d %H:%M")


def _local(at: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at, tz=zone).astimezone(zone)


def percent(done: float, total: float) -> str:
    """`71%`; never 100 before everything is done."""
    if total <= 0:
        return ""
    if done >= total:
        return "100%"
    return f"{min(99, max(0, int(done * 100 / total)))}%"


def cells_full(fraction: float, width: int) -> int:
    """How many of `width` cells a bar fills: none only for nothing, all only for everything."""
    if fraction <= 0 or width <= 0:
        return 0
    if fraction >= 1:
        return width
    return max(1, min(width - 1, round(fraction * width)))
