"""Every key and every state, made from the registry."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical

from ckptdeck.tui.actions import Place
from ckptdeck.tui.screens.modal import ScrollingModal
from ckptdeck.tui.view_model.keys import help_lines
from ckptdeck.tui.view_model.line import Ink, Piece, line, spread
from ckptdeck.tui.view_model.view import Lock
from ckptdeck.tui.widgets.line_view import LineScroll, LineView


class HelpScreen(ScrollingModal[None]):
    BINDINGS = [Binding("escape,q,question_mark,enter", "close", show=False, id="help.close")]  # noqa: RUF012

    def __init__(self, place: Place, lock: Lock) -> None:
        super().__init__()
        self._place = place
        self._lock = lock

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield LineView(id="title")
            yield LineScroll(id="text")

    def on_mount(self) -> None:
        title = line(Piece("Keys", Ink.STRONG))
        ways = line(Piece("j k", Ink.KEY), " scroll  ", Piece("esc", Ink.KEY), " close")
        self.query_one("#title", LineView).show(lambda width: (spread(title, ways, width), ()))
        self.text.show(lambda width: help_lines(self._place, self._lock, width))

    def action_close(self) -> None:
        self.dismiss()
