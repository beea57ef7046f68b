"""Sizes, rates, ages and shares as people write them: "2.47GB", "200MB/s", "5m", "1%".

Every `parse_*` raises UsageError saying what is allowed; every `write_*` gives a form its parser reads back.
"""

from __future__ import annotations

import re

from ckptdeck.core.errors import UsageError
from ckptdeck.core.safe_text import visible

_SIZE_UNITS: dict[str, int] = {
    "": 1,
    "b": 1,
    **{unit + tail: 1000**power for power, unit in enumerate("kmgtp", 1) for tail in ("", "b")},
    **{unit + "ib": 1024**power for power, unit in enumerate("kmgtp", 1)},
}
_AGE_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)"
_SIZE = re.compile(_NUMBER + r"\s?([a-z]{0,3})", re.IGNORECASE | re.ASCII)
_AGE = re.compile(_NUMBER + r"\s?([smhdw])", re.IGNORECASE | re.ASCII)
_PERCENT = re.compile(_NUMBER + r"\s?%", re.ASCII)


def parse_size(text: str) -> int:
    """ "2.47GB" → bytes. kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB powers of 1024; no unit is bytes."""
    match = _SIZE.fullmatch(text.strip())
    unit = _SIZE_UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise _refuse(text, "a size", 'a number and a unit, such as "2.47GB", "500MB" or "4GiB"')
    return round(float(match[1]) * unit)


def parse_rate(text: str) -> float:
    """ "200MB/s" → bytes per second, more than none."""
    amount, slash, per = text.strip().partition("/")
    if slash and per.strip() == "s" and (match := _SIZE.fullmatch(amount.strip())):
        unit = _SIZE_UNITS.get(match[2].lower(), 0)
        if (rate := float(match[1]) * unit) > 0:
            return rate
    raise _refuse(text, "a rate", 'a size per second, such as "200MB/s"')


def parse_age(text: str) -> float:
    """ "5m" → seconds. Units: s, m, h, d, w."""
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise _refuse(text, "a length of time", 'a number and one of s, m, h, d, w, such as "90s", "5m" or "7d"')
    return float(match[1]) * _AGE_UNITS[match[2].lower()]


def parse_fraction(text: str) -> float:
    """ "1%" → 0.01; from 0% up to, not including, 100%."""
    match = _PERCENT.fullmatch(text.strip())
    if match is None or float(match[1]) >= 100:
        raise _refuse(text, "a share", 'a percentage from "0%" to less than "100%", such as "1%"')
    return float(match[1]) / 100


def write_age(seconds: float) -> str:
    """The age in the largest of d, h and m that keeps it whole: 300.0 → "5m"."""
    for unit in "dhm":
        if seconds and seconds % _AGE_UNITS[unit] == 0:
            return f"{seconds / _AGE_UNITS[unit]:.0f}{unit}"
    return f"{_decimal(seconds)}s"


def write_rate(bytes_per_second: float) -> str:
    """The rate in its largest whole decimal unit: 2e8 → "200MB/s"."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if bytes_per_second % 1000**power == 0:
            return f"{bytes_per_second / 1000**power:.0f}{unit}/s"
    return f"{_decimal(bytes_per_second)}B/s"


def write_fraction(fraction: float) -> str:
    """0.01 → "1%"."""
    return f"{_decimal(fraction * 100)}%"


def _decimal(number: float) -> str:
    return f"{number:.9f}".rstrip("0").rstrip(".")


def _refuse(text: str, kind: str, allowed: str) -> UsageError:
    return UsageError(f'"{visible(text, 40)}" is not {kind}', next_step=f"Write {allowed}")
