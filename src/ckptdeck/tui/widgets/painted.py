"""A widget that paints lines of the view model and repaints only those that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ckptdeck.tui.view_model.glyphs import in_ascii
from ckptdeck.tui.view_model.line import Ink, Line, Piece, harmless


class Ground(StrEnum):
    """What lies under a whole line."""

    PLAIN = "plain"
    CURSOR = "cursor"
    HEAD = "head"


class Row(NamedTuple):
    line: Line
    ground: Ground = Ground.PLAIN


class Painted(Widget):
    """The line API over rows. Subclasses call `put`; how an ink looks is in styles/ink.tcss."""

    COMPONENT_CLASSES = {f"ink--{ink}" for ink in Ink} | {f"ground--{ground}" for ground in Ground}

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, **options)
        self._rows: tuple[Row, ...] = ()
        self._style_cache: dict[tuple[Ink, Ground], Style] = {}

    def put(self, rows: Sequence[Row]) -> None:
        """Takes the rows from the top of the widget; lines that did not change are left alone."""
        before, self._rows = self._rows, tuple(rows)
        width = self.size.width
        for y in range(max(len(before), len(self._rows))):
            if before[y : y + 1] != self._rows[y : y + 1]:
                self.refresh(Region(0, y, width, 1))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        if y >= len(self._rows):
            return Strip.blank(width, base)
        row, ground = self._rows[y]
        segments = [segment for piece in row for segment in self._segments(piece, ground)]
        under = base + self._style(Ink.PLAIN, ground)
        return Strip(segments).adjust_cell_length(width, under).apply_style(base)

    def _segments(self, piece: Piece, ground: Ground) -> Iterator[Segment]:
        """The text in its ink; blanks around it in none, so that no underline runs into a gap."""
        text = harmless(piece.text)
        if self.app.has_class("-ascii"):
            text = in_ascii(text)
        style, blank = self._style(piece.ink, ground), self._style(Ink.PLAIN, ground)
        if piece.action:
            click = Style.from_meta({"@click": piece.action})
            style, blank = style + click, blank + click
        words = text.strip(" ")
        lead = len(text) - len(text.lstrip(" "))
        for part, how in ((text[:lead], blank), (words, style), (text[lead + len(words) :], blank)):
            if part:
                yield Segment(part, how)

    def _style(self, ink: Ink, ground: Ground) -> Style:
        key = (ink, ground)
        if key not in self._style_cache:
            over = self.get_component_rich_style(f"ink--{ink}", partial=True)
            self._style_cache[key] = self.get_component_rich_style(f"ground--{ground}", partial=True) + over
        return self._style_cache[key]

    def notify_style_update(self) -> None:
        self._style_cache.clear()
        super().notify_style_update()
