"""The free space of one volume over time, with axes: the past, and how it goes on in three ways."""

from __future__ import annotations

from ckptdeck.core.course import Course, Point
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.canvas import Canvas, Stroke
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line, pad, width_of

_SCALE = 6
"""Cells of the figures beside the upright axis."""
_LOWEST = 3
"""Fewer cells of height are no picture."""
_NARROWEST = 24
_WITH_WORDS = 60


def plot_lines(course: Course, width: int, height: int) -> tuple[Line, ...]:
    """As many lines as `height`, or none where there is no room for a picture."""
    columns, rows = width - _SCALE - 1, height - 2
    if width < _NARROWEST or rows < _LOWEST:
        return ()
    canvas = Canvas(columns, rows)
    for points, ink, stroke, letter in (
        (course.kept, Ink.GOOD, Stroke.DASHED, "K"),
        (course.pruned, Ink.ACCENT, Stroke.DOTTED, "P"),
        (course.as_is, Ink.STRONG, Stroke.SOLID, "A"),
        (course.past, Ink.MUTED, Stroke.SOLID, ""),
    ):
        placed = [_place(point, course) for point in points if point[0] <= course.until]
        canvas.draw(placed, ink, stroke)
        if placed and letter:
            canvas.mark(placed[-1], letter, ink)
    middle = rows // 2
    figures = {0: course.top, middle: course.top * (1 - middle / (rows - 1)), rows - 1: 0.0}
    drawn = [
        line(Piece(_figure(figures.get(row)), Ink.MUTED), Piece("│", Ink.MUTED), *cells)
        for row, cells in enumerate(canvas.lines())
    ]
    return (*(fit(each, width) for each in drawn), *_time_axis(course, columns, width))


def legend_line(keep_last: int, width: int) -> Line:
    """What the lines are, by letter."""
    narrow = width < _WITH_WORDS
    lines = (
        ("A", Ink.STRONG, "as is" if narrow else "as things are"),
        ("P", Ink.ACCENT, "prune now"),
        ("K", Ink.GOOD, f"keep {keep_last}"),
    )
    pieces = [Piece(" free  " if narrow else " free space  ", Ink.MUTED)]
    for letter, ink, words in lines:
        pieces += [Piece(letter, ink), Piece(f" {words}   ")]
    tail = line(Piece("a line ends where a save does not fit", Ink.MUTED))
    if width_of(pieces) + width_of(tail) <= width:
        pieces += tail
    return fit(tuple(pieces), width)


def _place(point: Point, course: Course) -> tuple[float, float]:
    at, level = point
    return (at - course.since) / (course.until - course.since), level / course.top if course.top > 0 else 0.0


def _figure(value: float | None) -> str:
    """`131G`, at the right end."""
    return " " * _SCALE if value is None else pad(measures.size(value) + " ", _SCALE, right=True)


def _time_axis(course: Course, columns: int, width: int) -> tuple[Line, Line]:
    """A rule with a tick at the present, and the span to both sides of it."""
    now = round((course.now - course.since) / (course.until - course.since) * (columns - 1))
    rule = "└" + "─" * now + "┴" + "─" * (columns - now - 1)
    before = f"-{measures.span(course.now - course.since)}" if course.now > course.since else ""
    after = f"+{measures.span(course.until - course.now)}"
    words = list(" " * columns)
    _write(words, max(0, min(now - 1, columns - 3)), "now")
    _write(words, columns - len(after), after)
    _write(words, 0, before)
    indent = " " * _SCALE
    axis = line(Piece(indent + rule, Ink.MUTED))
    return fit(axis, width), fit(line(Piece(f"{indent} {''.join(words)}", Ink.MUTED)), width)


def _write(words: list[str], start: int, text: str) -> None:
    """Puts the text there if that is empty, with a blank around it."""
    around = words[max(0, start - 1) : start + len(text) + 1]
    if text and start >= 0 and not "".join(around).strip():
        words[start : start + len(text)] = text
