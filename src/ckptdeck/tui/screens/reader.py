"""A text too long for a corner of another screen, over the whole of one. It scrolls, and is kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.screens.scrolling import Scrolling
from ckptdeck.tui.view_model.line import Ink, Line, Piece, line, spread
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.widgets.line_view import LineScroll, LineView

Tell = Callable[[View, int], Sequence[Line]]
"""The text for a width in cells."""


class Reader(Scrolling, LiveScreen):
    """Subclasses say what is read in `tell`."""

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield LineScroll(id="reading")
        yield LineView(id="strip")
        yield LineView(id="footer")

    def tell(self, view: View, width: int) -> Sequence[Line]:
        raise NotImplementedError

    @property
    def text(self) -> LineScroll:
        return self.query_one("#reading", LineScroll)

    def paint(self, view: View) -> None:
        self.text.show(lambda width: self.tell(view, width))

    def on_line_scroll_moved(self) -> None:
        above, below = self.text.hidden_above, self.text.hidden_below
        words = ", ".join(f"{count:,} more {where}" for count, where in ((above, "above"), (below, "below")) if count)
        self.query_one("#strip", LineView).show(lambda width: (spread((), line(Piece(words, Ink.MUTED), " "), width),))

    def action_close(self) -> None:
        self.app.pop_screen()


class StoryReader(Reader):
    """The story of one row of a list, as the list's screen tells it."""

    PLACE = Place.STORY
    BINDINGS = bindings_for(Place.STORY)

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def tell(self, view: View, width: int) -> Sequence[Line]:
        return self._tell(view, width)
