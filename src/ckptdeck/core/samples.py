"""What else fills a volume: free space written down now and then, and the slope of what is not ours. Pure.

A sample is one line of `space.jsonl`, a ring in the control directory. It is evidence for a forecast, never for an
action, and a line that cannot be understood is left out.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from ckptdeck.core.amounts import counted, median, size_text, span_text
from ckptdeck.core.record_format import iso, seconds_of
from ckptdeck.core.values import dataclass

SPACING = 600.0
"""Seconds between two samples of a volume."""
MOST = 5_000
"""Lines a ring holds: five weeks of samples."""
_FEWEST = 6
_SHORTEST_SPAN = 3_600.0
_WINDOW = 7 * 86_400.0
_POINTS = 120
"""Samples that are compared pair by pair; more are thinned out evenly."""
_NOISE = 1 << 20
"""Bytes a day below which nothing grows."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A volume at one moment: seconds since 1970, bytes free, and bytes in our set, its parts and its quarantine."""

    at: float
    free: int
    ours: int


@dataclass(frozen=True, slots=True)
class OtherGrowth:
    """Bytes a second that others add; 0.0 where they add nothing or nobody can tell yet."""

    bytes_per_second: float
    basis: str
    known: bool


def encode_sample(sample: Sample) -> bytes:
    return json.dumps({"at": iso(sample.at), "free": sample.free, "ours": sample.ours}).encode() + b"\n"


def decode_samples(data: bytes) -> tuple[Sample, ...]:
    """Oldest first."""
    found = (_decode(line) for line in data.split(b"\n") if line)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.at))


def other_growth(samples: Sequence[Sample], now: float) -> OtherGrowth:
    """How fast what is not ours grew in the last week: the median of all slopes, which outliers do not move."""
    recent = [one for one in samples if now - _WINDOW <= one.at <= now]
    span = recent[-1].at - recent[0].at if recent else 0.0
    if len(recent) < _FEWEST or span < _SHORTEST_SPAN:
        text = f"other growth unknown: {counted(len(recent), 'sample')} over {span_text(span)}, too few to tell"
        return OtherGrowth(0.0, text, known=False)
    slope = _median_slope(recent)
    over = f"over {span_text(span)}"
    if abs(slope) * 86_400 < _NOISE:
        return OtherGrowth(0.0, f"nothing else grows there ({over})", known=True)
    if slope < 0:
        return OtherGrowth(0.0, f"others free {size_text(round(-slope * 86_400))} a day, which is not counted on", True)
    return OtherGrowth(slope, f"others add {size_text(round(slope * 86_400))} a day ({over})", known=True)


def _median_slope(samples: Sequence[Sample]) -> float:
    """Theil and Sen: of what is used and not ours, in bytes a second."""
    step = max(1, len(samples) // _POINTS)
    points = [(one.at, -(one.free + one.ours)) for one in samples[::step]]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] > a[0]]
    return median(slopes) if slopes else 0.0


def _decode(line: bytes) -> Sample | None:
    try:
        document = json.loads(line)
        at, free, ours = seconds_of(document["at"]), document["free"], document["ours"]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    if not all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in (free, ours)):
        return None
    return Sample(at, free, ours) if math.isfinite(at) else None


def pooled(samples: Sequence[Sample], others: Iterable[Sequence[Sample]]) -> tuple[Sample, ...]:
    """Of one volume that holds several sets: `ours` of all of them, wherever each was seen at about the same time."""
    found = tuple(samples)
    for other in others:
        found = tuple(
            replace(one, ours=one.ours + near.ours) for one in found if (near := _nearest(other, one.at)) is not None
        )
    return found


def _nearest(samples: Sequence[Sample], at: float) -> Sample | None:
    place = bisect_left(samples, at, key=lambda one: one.at)
    near = min(samples[max(0, place - 1) : place + 1], key=lambda one: abs(one.at - at), default=None)
    return near if near is not None and abs(near.at - at) <= SPACING else None


def is_due(samples: Iterable[Sample], now: float) -> bool:
    """Whether the newest sample is old enough. One that lies in the future is of a clock that went wrong."""
    newest = max((one.at for one in samples if one.at <= now), default=None)
    return newest is None or now - newest >= SPACING


def merged(one: Sequence[Sample], other: Sequence[Sample]) -> tuple[Sample, ...]:
    """Both, oldest first, each moment once."""
    return tuple(sorted({sample.at: sample for sample in (*one, *other)}.values(), key=lambda sample: sample.at))
