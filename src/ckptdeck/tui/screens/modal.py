"""What every modal has: a frame, lines that scroll, and a moment of deafness after it opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.screen import ModalScreen

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.screens.scrolling import Scrolling
from ckptdeck.tui.widgets.line_view import LineScroll

Result = TypeVar("Result")

DEAF_FOR = 0.3
"""Seconds after opening in which keys do nothing: they were meant for the screen below."""


class ScrollingModal(Scrolling, ModalScreen[Result]):
    """Arrows and pages scroll `#text`, wherever the focus is."""

    HORIZONTAL_BREAKPOINTS = [(0, "-small"), (110, "-large")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]  # noqa: RUF012

    BINDINGS = bindings_for(Place.DIALOG)

    @property
    def text(self) -> LineScroll:
        return self.query_one("#text", LineScroll)


class Deafness:
    """Says whether a modal has been open long enough for a key to be meant for it."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._opened_at = monotonic()

    @property
    def over(self) -> bool:
        return self._monotonic() - self._opened_at >= DEAF_FOR
