"""Dots where a line goes, inks and letters, and the same picture in ASCII."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptdeck.tui.view_model.canvas import Canvas, Stroke
from ckptdeck.tui.view_model.glyphs import in_ascii
from ckptdeck.tui.view_model.line import Ink, Piece, text_of, width_of

SHARE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)


def drawn(*points: tuple[float, float], width: int = 4, height: int = 2, stroke: Stroke = Stroke.SOLID) -> list[str]:
    canvas = Canvas(width, height)
    canvas.draw(points, Ink.PLAIN, stroke)
    return [text_of(each) for each in canvas.lines()]


def test_a_rising_line_and_a_level_one() -> None:
    assert drawn((0, 0), (1, 1)) == ["  ⡠⠊", "⡠⠊  "]
    assert drawn((0, 0), (1, 0)) == ["    ", "⣀⣀⣀⣀"]
    assert drawn((0, 1), (1, 1)) == ["⠉⠉⠉⠉", "    "]
    assert drawn((0, 0), (0, 1)) == ["⡇   ", "⡇   "]
    assert drawn((1, 0), (1, 1)) == ["   ⢸", "   ⢸"]


def test_one_point_is_a_dot_and_none_is_nothing() -> None:
    assert drawn((0, 0)) == ["    ", "⡀   "]
    assert drawn() == ["    ", "    "]


def test_strokes_differ_without_any_colour() -> None:
    solid, dashed, dotted = (drawn((0, 0), (1, 0), width=8, height=1, stroke=stroke)[0] for stroke in Stroke)
    assert solid == "⣀" * 8
    assert dashed == "⣀⣀ ⢀⣀⡀ ⣀"
    assert dotted == "⡀⢀ ⡀⢀ ⡀⢀"
    assert len({in_ascii(solid), in_ascii(dashed)}) == 2


def test_what_is_drawn_last_gives_the_ink_and_letters_cover_dots() -> None:
    canvas = Canvas(4, 1)
    canvas.draw([(0, 0), (1, 0)], Ink.GOOD)
    canvas.draw([(0, 0), (0.3, 0)], Ink.BAD)
    canvas.mark((1, 0), "K", Ink.ACCENT)
    (line,) = canvas.lines()
    assert line == (Piece("⣀⣀", Ink.BAD), Piece("⣀", Ink.GOOD), Piece("K", Ink.ACCENT))


def test_two_letters_at_one_place_stand_side_by_side() -> None:
    canvas = Canvas(4, 1)
    canvas.mark((1, 0), "K", Ink.GOOD)
    canvas.mark((1, 0), "P", Ink.ACCENT)
    canvas.mark((1, 0), "A", Ink.STRONG)
    assert text_of(canvas.lines()[0]) == " APK"


def test_in_ascii_the_height_of_a_line_can_still_be_seen() -> None:
    falling = [in_ascii(row) for row in drawn((0, 1), (1, 0), width=8, height=2)]
    assert all(row.isascii() for row in falling)
    assert falling[0].startswith("'")
    assert falling[1].endswith("_")
    assert in_ascii("⡇") == "|"
    assert in_ascii("⠀") == " "


@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("height", [1, 3])
@given(points=st.lists(st.tuples(SHARE, SHARE), max_size=6))
def test_nothing_leaves_the_canvas(width: int, height: int, points: list[tuple[float, float]]) -> None:
    canvas = Canvas(width, height)
    for stroke in Stroke:
        canvas.draw(points, Ink.PLAIN, stroke)
    for point in points:
        canvas.mark(point, "X", Ink.BAD)
    lines = canvas.lines()
    assert len(lines) == height
    assert all(width_of(line) == width for line in lines)
