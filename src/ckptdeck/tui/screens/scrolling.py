"""Keys that move a text which does not fit, wherever the focus is."""

from __future__ import annotations

from ckptdeck.tui.widgets.line_view import LineScroll


class Scrolling:
    """For a screen with one such text. Where that stands it hears in `on_line_scroll_moved`."""

    @property
    def text(self) -> LineScroll:
        """What is scrolled."""
        raise NotImplementedError

    def action_down(self) -> None:
        self.text.scroll_by(1)

    def action_up(self) -> None:
        self.text.scroll_by(-1)

    def action_page_down(self) -> None:
        self.text.scroll_by(self.text.page)

    def action_page_up(self) -> None:
        self.text.scroll_by(-self.text.page)

    def action_first(self) -> None:
        self.text.scroll_by(-self.text.hidden_above)

    def action_last(self) -> None:
        self.text.scroll_by(self.text.hidden_below)
