"""What every modal has: a frame, lines that scroll, and a moment of deafness after it opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.binding import Binding
from textual.screen import ModalScreen

from ckptdeck.tui.widgets.line_view import LineScroll

Result = TypeVar("Result")

DEAF_FOR = 0.3
"""Seconds after opening in which keys do nothing: they were meant for the screen below."""


class ScrollingModal(ModalScreen[Result]):
    """Arrows and pages scroll `#text`, wherever the focus is."""

    HORIZONTAL_BREAKPOINTS = [(0, "-small"), (110, "-large")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]  # noqa: RUF012

    BINDINGS = [  # noqa: RUF012
        Binding("down,j", "scroll_text(1)", show=False),
        Binding("up,k", "scroll_text(-1)", show=False),
        Binding("pagedown,ctrl+d,ctrl+f", "page_text(1)", show=False),
        Binding("pageup,ctrl+u,ctrl+b", "page_text(-1)", show=False),
        Binding("home,g", "to_start", show=False),
        Binding("end,G", "to_end", show=False),
    ]

    @property
    def text(self) -> LineScroll:
        return self.query_one("#text", LineScroll)

    def action_scroll_text(self, lines: int) -> None:
        self.text.scroll_by(lines)
        self.scrolled()

    def action_page_text(self, pages: int) -> None:
        self.text.scroll_by(pages * self.text.page)
        self.scrolled()

    def action_to_start(self) -> None:
        self.text.scroll_to_start()
        self.scrolled()

    def action_to_end(self) -> None:
        self.text.scroll_to_end()
        self.scrolled()

    def scrolled(self) -> None:
        """Called after the text moved."""


class Deafness:
    """Says whether a modal has been open long enough for a key to be meant for it."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._opened_at = monotonic()

    @property
    def over(self) -> bool:
        return self._monotonic() - self._opened_at >= DEAF_FOR
