"""Lines drawn in Braille dots, two by four to a cell, each cell in the ink of what was drawn there last."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise

from ckptdeck.tui.view_model.line import Ink, Line, Piece

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a Braille pattern by column and row."""
_BLANK = 0x2800


class Stroke(Enum):
    """Lines that cross are told apart by how they are drawn, too: (dots drawn, dots left out)."""

    SOLID = (1, 0)
    DASHED = (4, 3)
    DOTTED = (1, 2)


class Canvas:
    """`width` by `height` cells. Points are shares of both, (0, 0) at the bottom left and (1, 1) at the top right."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._bits = [[0] * width for _ in range(height)]
        self._inks = [[Ink.PLAIN] * width for _ in range(height)]
        self._letters: dict[tuple[int, int], str] = {}

    def draw(self, points: Sequence[tuple[float, float]], ink: Ink, stroke: Stroke = Stroke.SOLID) -> None:
        """A line through all points; one point alone is a dot."""
        on, off = stroke.value
        for number, (x, y) in enumerate(_walk([self._dot(point) for point in points])):
            if number % (on + off) < on:
                row, column = y // 4, x // 2
                self._bits[row][column] |= _DOTS[x % 2][y % 4]
                self._inks[row][column] = ink

    def mark(self, point: tuple[float, float], letter: str, ink: Ink) -> None:
        """One letter at a point; a second one at the same place stands to its left."""
        x, y = self._dot(point)
        row, column = y // 4, x // 2
        while (row, column) in self._letters and column > 0:
            column -= 1
        self._letters[row, column] = letter
        self._inks[row][column] = ink

    def lines(self) -> tuple[Line, ...]:
        """From the top, each as wide as the canvas."""
        return tuple(self._line(row) for row in range(self._height))

    def _line(self, row: int) -> Line:
        pieces: list[Piece] = []
        for column, (bits, ink) in enumerate(zip(self._bits[row], self._inks[row], strict=True)):
            char = self._letters.get((row, column)) or (chr(_BLANK | bits) if bits else " ")
            if pieces and (pieces[-1].ink is ink or char == " "):
                pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + char)
            else:
                pieces.append(Piece(char, ink if char != " " else Ink.PLAIN))
        return tuple(pieces)

    def _dot(self, point: tuple[float, float]) -> tuple[int, int]:
        """Column and row of the dot, from the top left."""
        x, y = (min(1.0, max(0.0, share)) for share in point)
        across, down = self._width * 2 - 1, self._height * 4 - 1
        return round(x * across), down - round(y * down)


def _walk(dots: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Every dot on the way, each once."""
    if dots:
        yield dots[0]
    for (x, y), (to_x, to_y) in pairwise(dots):
        steps = max(abs(to_x - x), abs(to_y - y))
        for step in range(1, steps + 1):
            yield _between(x, to_x, step / steps), _between(y, to_y, step / steps)


def _between(one: int, other: int, share: float) -> int:
    return math.floor(one + (other - one) * share + 0.5)
