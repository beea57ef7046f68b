"""Free space over time, to be drawn: what the samples saw, and how it goes on in three ways. Pure.

Points are (seconds since 1970, bytes free). Between two points the line is straight; a save is two points at one time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ckptdeck.core.outlook import Outlook
from ckptdeck.core.samples import Sample
from ckptdeck.core.values import dataclass

Point = tuple[float, float]

_MARGIN = 1.1
_LONGEST = 4.0
"""How many times longer than until the volume is full the picture may be."""
_WITHOUT_END = 20
"""Saves that are shown where nothing fills the volume."""
_STAIRS = 60
"""More saves than that are drawn as a slope."""
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Course:
    """One volume from `since` to `until`. A line that ends before `until` ends where a save does not fit any more."""

    since: float
    now: float
    until: float
    past: tuple[Point, ...]
    as_is: tuple[Point, ...]
    """Nothing is pruned."""
    pruned: tuple[Point, ...]
    """After a prune now, and none later."""
    kept: tuple[Point, ...]
    """With a prune now and after every save, at the worst moment of each: N kept and one being saved."""
    top: float
    """The largest figure in it."""


def course_of(outlook: Outlook, free: int, samples: Sequence[Sample], now: float) -> Course:
    """Half the picture at most is past. Without a cadence nothing is foretold."""
    until = now + _span_ahead(outlook, now)
    known = [(one.at, float(one.free)) for one in samples if one.at <= now]
    since = max(now - (until - now), known[0][0]) if known else now
    past = [*(point for point in known if point[0] >= since), (now, float(free))] if known else []
    made = Course(since, now, until, tuple(past), (), (), (), 0.0)
    if outlook.interval is not None and outlook.per_save:
        made = replace(
            made,
            as_is=_falling(outlook, now, until, float(free), outlook.fits or 0),
            pruned=_falling(outlook, now, until, float(free), outlook.fits_pruned or 0, outlook.frees),
            kept=_kept(outlook, now, until, float(free)),
        )
    lines = (made.past, made.as_is, made.pruned, made.kept)
    return replace(made, top=max((level for line in lines for _, level in line), default=float(free)))


def _span_ahead(outlook: Outlook, now: float) -> float:
    """Seconds: until everything that fills the volume has done so, as far as one picture can hold it."""
    if outlook.interval is None:
        return _DAY
    ends = [at - now for at in (outlook.full_at, outlook.full_at_pruned, outlook.full_at_kept) if at is not None]
    first = max(min(ends, default=0.0), 2 * outlook.interval)
    longest = max(ends, default=_WITHOUT_END * outlook.interval)
    return _MARGIN * max(first, min(longest, _LONGEST * first))


def _falling(outlook: Outlook, now: float, until: float, free: float, saves: int, frees: int = 0) -> tuple[Point, ...]:
    """Save after save, until the one that does not fit any more, or the end of the picture."""
    points = _stairs(outlook, now, until, free, saves, frees)
    assert outlook.next_save is not None
    assert outlook.interval is not None
    return _until(points, outlook, min(until, outlook.next_save + saves * outlook.interval))


def _kept(outlook: Outlook, now: float, until: float, free: float) -> tuple[Point, ...]:
    """Falls while the retention fills up, then only as others take the rest."""
    if outlook.kept_spare is None or outlook.per_save is None or outlook.kept_spare < 0:
        return _falling(outlook, now, until, free, outlook.fits_pruned or 0, outlook.frees)
    floor = free - outlook.room + outlook.kept_spare
    filling = max(0, round((free + outlook.frees - floor) / outlook.per_save))
    points = _stairs(outlook, now, until, free, filling, outlook.frees)
    return _until(points, outlook, until if outlook.full_at_kept is None else min(until, outlook.full_at_kept))


def _stairs(outlook: Outlook, now: float, until: float, free: float, saves: int, frees: int) -> list[Point]:
    """The prune, if it frees anything, and each save: stairs for a few, a slope for many."""
    assert outlook.next_save is not None
    assert outlook.interval is not None
    assert outlook.per_save is not None
    points = [(now, free), (now, free + frees)] if frees else [(now, free)]
    shown = min(saves, max(0, int((until - outlook.next_save) // outlook.interval) + 1))
    for number in range(shown) if shown <= _STAIRS else (shown - 1,):
        at = outlook.next_save + number * outlook.interval
        level = free + frees - outlook.others.bytes_per_second * (at - now) - (number + 1) * outlook.per_save
        points += [(at, level + outlook.per_save), (at, level)] if shown <= _STAIRS else [(at, level)]
    return points


def _until(points: list[Point], outlook: Outlook, end: float) -> tuple[Point, ...]:
    """The line goes on to `end`, less what others take meanwhile."""
    at, level = points[-1]
    more = [(end, level - outlook.others.bytes_per_second * (end - at))] if end > at else []
    return (*points, *more)
