"""Every key and every state, made from the registry."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.screens.modal import ScrollingModal
from ckptdeck.tui.view_model.keys import help_lines
from ckptdeck.tui.view_model.line import Ink, Piece, line, spread
from ckptdeck.tui.view_model.view import Lock
from ckptdeck.tui.widgets.line_view import LineScroll, LineView


class HelpScreen(ScrollingModal[None]):
    BINDINGS = bindings_for(Place.HELP)

    def __init__(self, place: Place, lock: Lock, keys: KeyMap) -> None:
        super().__init__()
        self._place = place
        self._lock = lock
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield LineView(id="title")
            yield LineScroll(id="text")

    def on_mount(self) -> None:
        title = line(Piece("Keys", Ink.STRONG))
        moving = " ".join(key_word(self._keys, Place.DIALOG, action) for action in ("down", "up"))
        close = key_word(self._keys, Place.HELP, "close_help")
        ways = line(Piece(moving, Ink.KEY), " scroll  ", Piece(close, Ink.KEY), " close")
        self.query_one("#title", LineView).show(lambda width: (spread(title, ways, width), ()))
        self.text.show(lambda width: help_lines(self._place, self._lock, width, self._keys))

    def action_close_help(self) -> None:
        self.dismiss()
