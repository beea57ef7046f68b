"""Leaving while jobs run: which ones, and what becomes of each. Goes by itself once they have ended."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from ckptdeck.core.amounts import counted
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.screens.modal import Deafness, ScrollingModal
from ckptdeck.tui.view_model.line import BLANK, Ink, Piece, line
from ckptdeck.tui.view_model.review import quit_lines
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.widgets.line_view import LineScroll, LineView


class QuitGuard(ScrollingModal[bool]):
    """Dismissed with True when the console shall end."""

    AUTO_FOCUS = "#stay"
    BINDINGS = bindings_for(Place.QUIT)

    def __init__(self, view: View, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._view = view
        self._monotonic = monotonic
        self._deafness = Deafness(monotonic)

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield LineView(id="title")
            yield LineScroll(id="text")
            with Horizontal(id="choices"):
                yield Button("Stay", id="stay", compact=True)
                yield LineView(id="keys")

    def on_mount(self) -> None:
        self._deafness = Deafness(self._monotonic)
        leave, stay = (f" {key_word(self._view.keys, Place.QUIT, action)} " for action in ("stop_and_quit", "stay"))
        choices = line(" ", Piece(leave, Ink.KEY), "Stop them and quit  ", Piece(stay, Ink.KEY), "Stay")
        self.query_one("#keys", LineView).show(lambda _width: (choices,))
        self.show(self._view)

    def show(self, view: View) -> None:
        """Follows the jobs; ends the question when none is left."""
        if not view.working:
            self.dismiss(True)
            return
        words = f"{counted(len(view.working), 'job')} not finished"
        self.query_one("#title", LineView).show(lambda _width: (line(Piece(words, Ink.STRONG)), BLANK))
        self.text.show(lambda width: quit_lines(view.working, width))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_stay()

    def action_stop_and_quit(self) -> None:
        if self._deafness.over:
            self.dismiss(True)

    def action_stay(self) -> None:
        if self._deafness.over:
            self.dismiss(False)
