"""Lines of text in named inks: the only thing the view model hands to widgets.

Widths are terminal cells. An ink is a meaning, not a colour; the style sheet says how each one looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size


class Ink(StrEnum):
    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    BUSY = "busy"
    ACCENT = "accent"
    KEY = "key"
    """A key the reader may press."""
    OFF = "off"
    """Something that is there but cannot be used now."""


class Piece(NamedTuple):
    """Text in one ink; `action` makes it clickable."""

    text: str
    ink: Ink = Ink.PLAIN
    action: str = ""

    @property
    def width(self) -> int:
        return cell_len(self.text)


Line = tuple[Piece, ...]

BLANK: Line = ()

# Raw control, bidi, zero width and surrogate characters: whatever slipped through, none reaches the terminal.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def harmless(text: str) -> str:
    """`text` with every character that could act on a terminal replaced. Names go through `visible` before."""
    return _UNPRINTABLE.sub("\ufffd", text)


def line(*pieces: Piece | str) -> Line:
    """A line of pieces; a bare string is plain ink."""
    return tuple(Piece(piece) if isinstance(piece, str) else piece for piece in pieces)


def width_of(pieces: Iterable[Piece]) -> int:
    return sum(piece.width for piece in pieces)


def text_of(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` cells, cut with an ellipsis; `right` puts the text at the right end."""
    if width <= 0:
        return ""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - length) + text if right else text + " " * (width - length)


def brief(text: str, width: int) -> str:
    """As much of `text` as `width` cells hold, cut between two clauses where that leaves enough to be worth it.

    For one line of a list whose whole text is told elsewhere: the ellipsis says that what follows may turn the sense.
    """
    if cell_len(text) <= width:
        return text
    ends = [
        found.start() for found in re.finditer(r"[;:,.] | \(", text) if cell_len(text[: found.start()]) + 2 <= width
    ]
    return f"{text[: ends[-1]]} …" if ends and ends[-1] * 4 >= width else pad(text, width)


def fit(pieces: Line, width: int) -> Line:
    """The line in exactly `width` cells: filled with blanks, or cut with an ellipsis."""
    total = width_of(pieces)
    if total <= width:
        return (*pieces, Piece(" " * (width - total))) if total < width else pieces
    fitted: list[Piece] = []
    left = width
    for piece in pieces:
        if piece.width < left:
            fitted.append(piece)
            left -= piece.width
            continue
        fitted.append(piece._replace(text=pad(piece.text + " ", left)))
        break
    return tuple(fitted)


def spread(left: Line, right: Line, width: int, *, gap: int = 2) -> Line:
    """`left` and `right` at the two ends of `width` cells; the right end is dropped when both do not fit."""
    room = width - width_of(left) - width_of(right)
    if not right or room < gap:
        return fit(left, width)
    return (*left, Piece(" " * room), *right)


def spread_first(left: Line, rights: Iterable[Line], width: int, *, gap: int = 2) -> Line:
    """`spread` with the first of `rights` that fits beside `left`."""
    for right in rights:
        if width_of(left) + width_of(right) + gap <= width:
            return spread(left, right, width, gap=gap)
    return fit(left, width)


def wrap(pieces: Line, width: int, *, indent: str = "", limit: int | None = None) -> tuple[Line, ...]:
    """The line broken at blanks into lines of at most `width` cells; further lines start with `indent`.

    With a `limit` of lines the last one ends in an ellipsis when something is left out.
    """
    width = max(width, len(indent) + 4)
    words = [piece._replace(text=part) for piece in pieces for part in re.split(r"(?<=\s)", piece.text) if part]
    lines: list[list[Piece]] = [[]]
    used = 0
    for word in words:
        while word.text:
            visible_width = cell_len(word.text.rstrip())
            if used + visible_width <= width:
                lines[-1].append(word)
                used += word.width
                break
            if used > cell_len(indent) or (len(lines) == 1 and used > 0):
                lines.append([Piece(indent)] if indent else [])
                used = cell_len(indent)
                continue
            head = _head(word.text, width - used)
            lines[-1].append(word._replace(text=head))
            word = word._replace(text=word.text[len(head) :])
            used = width
    if limit is not None and len(lines) > limit:
        rest = [piece for wrapped in lines[limit - 1 :] for piece in wrapped]
        lines = [*lines[: limit - 1], list(fit(tuple(rest), width))]
    return tuple(tuple(wrapped) for wrapped in lines)


def _head(text: str, width: int) -> str:
    """The longest start of `text` that fits, at least one character."""
    for length in range(min(len(text), width), 1, -1):
        if cell_len(text[:length]) <= width:
            return text[:length]
    return text[:1]
