"""Three knobs: what if the retention, the time between two saves or their size were another one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum

from ckptdeck.core.amounts import span_text
from ckptdeck.core.outlook import WhatIf
from ckptdeck.core.values import dataclass
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import BAR_EMPTY, BAR_FULL, CHOSEN, CURSOR
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line, pad

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_KEEPS = (*range(1, 17), 18, 20, 24, 30, 36, 48, 60, 72, 96, 120, 160, 200, 300, 500, 1000)
_INTERVALS = (
    10, 30, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 20 * _MINUTE, 30 * _MINUTE, 45 * _MINUTE,
    _HOUR, 90 * _MINUTE, 2 * _HOUR, 3 * _HOUR, 4 * _HOUR, 6 * _HOUR, 8 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY,
)  # fmt: skip
_SIZES = tuple(
    round(figure * 10.0**power) for power in range(6, 14) for figure in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
)
_WITH_NOTES = 60
"""Terminals with fewer columns tell where a value comes from only once it is turned."""
_HEAD = 22
"""Cells of name and value."""
_SHORTEST = 8
"""A groove of fewer cells is left out."""
_REACH = 12
"""A size knob turns from a twelfth of what was found to twelve times it."""


class Knob(IntEnum):
    KEEP = 0
    INTERVAL = 1
    SIZE = 2


@dataclass(frozen=True, slots=True)
class Found:
    """What is so: the policy's N, seconds between two saves and bytes of one, None where nobody can tell."""

    keep_last: int
    interval: float | None
    size: int | None
    most: int | None = None
    """The largest N that fits, with what is assumed of the rest."""

    def of(self, knob: Knob) -> float | None:
        return (self.keep_last, self.interval, self.size)[knob]


@dataclass(frozen=True, slots=True)
class Knobs:
    """What is assumed, and which knob turns. None stands for what was found."""

    keep_last: int | None = None
    interval: float | None = None
    size: int | None = None
    chosen: Knob = Knob.KEEP

    @property
    def what_if(self) -> WhatIf:
        return WhatIf(self.keep_last, self.interval, self.size)

    @property
    def turned(self) -> bool:
        return (self.keep_last, self.interval, self.size) != (None, None, None)

    def of(self, knob: Knob) -> float | None:
        return (self.keep_last, self.interval, self.size)[knob]

    def choose(self, by: int) -> Knobs:
        return replace(self, chosen=Knob((self.chosen + by) % len(Knob)))

    def turn(self, by: int, found: Found) -> Knobs:
        """The chosen knob one notch on; what was found is a notch of its own."""
        value = self.of(self.chosen)
        notches = notches_of(self.chosen, found)
        at = value if value is not None else found.of(self.chosen)
        if at is None:
            place = len(notches) // 2
        elif by > 0:
            place = min(bisect_right(notches, at), len(notches) - 1)
        else:
            place = max(bisect_left(notches, at) - 1, 0)
        new = None if notches[place] == found.of(self.chosen) else notches[place]
        match self.chosen:
            case Knob.KEEP:
                return replace(self, keep_last=None if new is None else round(new))
            case Knob.INTERVAL:
                return replace(self, interval=new)
            case Knob.SIZE:
                return replace(self, size=None if new is None else round(new))

    def reset(self) -> Knobs:
        return Knobs(chosen=self.chosen)


def shell_options(knobs: Knobs) -> dict[str, str]:
    """The turned knobs as options of `ckptdeck space`."""
    turned = {
        "keep-last": knobs.keep_last and str(knobs.keep_last),
        "every": knobs.interval and f"{knobs.interval:.0f}s",
        "size": knobs.size and f"{knobs.size}B",
    }
    return {key: value for key, value in turned.items() if value}


def notches_of(knob: Knob, found: Found) -> Sequence[float]:
    """The values a knob can have, ascending."""
    there = found.of(knob)
    ladder: Sequence[float] = (_KEEPS, _INTERVALS, _SIZES)[knob]
    if knob is Knob.SIZE and there is not None:
        ladder = [size for size in ladder if there / _REACH <= size <= there * _REACH]
    return sorted({*ladder, there} if there is not None else set(ladder))


def knob_lines(knobs: Knobs, found: Found, width: int) -> tuple[Line, ...]:
    """A line per knob: its name, its value, how far it is turned, and what was found."""
    notes = {knob: _note(knob, knobs, found, width) for knob in Knob}
    room = min(48, width - _HEAD - max(map(len, notes.values())) - 3)
    return tuple(_knob_line(knob, knobs, found, width, room, notes[knob]) for knob in Knob)


_NAMES = {Knob.KEEP: "keep last", Knob.INTERVAL: "save every", Knob.SIZE: "one save"}


def _knob_line(knob: Knob, knobs: Knobs, found: Found, width: int, room: int, note: str) -> Line:
    value, there = knobs.of(knob), found.of(knob)
    chosen = knob is knobs.chosen
    ink = Ink.WARN if value is not None else Ink.STRONG if chosen else Ink.PLAIN
    head = line(
        Piece(f"{CURSOR if chosen else ' '} ", Ink.ACCENT),
        Piece(pad(_NAMES[knob], 11), Ink.STRONG if chosen else Ink.PLAIN),
        Piece(pad(_text(knob, value if value is not None else there), 9), ink),
    )
    groove = _groove(knob, value if value is not None else there, found, room) if room >= _SHORTEST else ()
    return fit((*head, *groove, Piece("  "), Piece(note, Ink.MUTED)), width)


def _note(knob: Knob, knobs: Knobs, found: Found, width: int) -> str:
    """Where the value comes from, or what it would be; and how far the retention could go."""
    origin, there = "the policy's" if knob is Knob.KEEP else "as measured", found.of(knob)
    if there is None:
        note = "not known"
    elif knobs.of(knob) is not None:
        note = f"{_text(knob, there)} {origin}"
    else:
        note = origin if width >= _WITH_NOTES else ""
    most = f"; at most {found.most:,}" if knob is Knob.KEEP and found.most is not None and width >= _WITH_NOTES else ""
    return note + most


def _groove(knob: Knob, value: float | None, found: Found, room: int) -> Line:
    """Where the value stands among the notches."""
    notches = notches_of(knob, found)
    if value is None:
        return line(Piece(BAR_EMPTY * room, Ink.MUTED))
    at = round(bisect_left(notches, value) / max(1, len(notches) - 1) * (room - 1))
    return line(
        Piece(BAR_FULL * at, Ink.BUSY), Piece(CHOSEN, Ink.STRONG), Piece(BAR_EMPTY * (room - at - 1), Ink.MUTED)
    )


def _text(knob: Knob, value: float | None) -> str:
    if value is None:
        return "?"
    if knob is Knob.KEEP:
        return f"{value:,.0f}"
    return span_text(value) if knob is Knob.INTERVAL else measures.size(value)
