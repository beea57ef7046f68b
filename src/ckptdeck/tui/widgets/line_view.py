"""A few lines that follow the width of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.geometry import Size
from textual.message import Message

from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.widgets.painted import Painted, Row

Build = Callable[[int], Sequence[Line]]
"""Lines for a width in cells."""


class LineView(Painted):
    """Shows what a build function says, built anew when the width changes; `height: auto` follows the lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._build: Build = lambda _width: ()

    def show(self, build: Build) -> None:
        self._build = build
        self.rebuild()

    def on_resize(self) -> None:
        self.rebuild()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._build(width))

    def rebuild(self) -> None:
        """Asks the build function again: what it looks at is another one now."""
        lines = self._build(self.size.width or self.app.size.width)
        if len(lines) != len(self._rows) and self.styles.auto_dimensions:
            self.refresh(layout=True)
        self.put([Row(line) for line in lines])


class LineScroll(Painted):
    """Lines of which only a part fits; scrolled by whoever has the keys. Of very many only those that show are made."""

    class Moved(Message):
        """Maybe other lines wait above or below than before."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lines: Sequence[Line] = ()
        self._build: Build = lambda _width: ()
        self._top = 0

    def show(self, build: Build) -> None:
        self._build = build
        self.on_resize()

    def on_resize(self) -> None:
        width = self.size.width
        self._lines = self._build(width) if width else ()
        self.scroll_by(0)

    def scroll_by(self, lines: int) -> None:
        """Moves by so many lines, as far as there are any."""
        if self.size.height:
            self._top = max(0, min(self._top + lines, len(self._lines) - self.size.height))
            self.put([Row(line) for line in self._lines[self._top : self._top + self.size.height]])
            self.post_message(self.Moved())

    @property
    def hidden_above(self) -> int:
        """How many lines wait over the first one shown."""
        return self._top

    @property
    def hidden_below(self) -> int:
        """How many lines wait under the last one shown."""
        return max(0, len(self._lines) - self._top - self.size.height)

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def on_mouse_scroll_down(self) -> None:
        self.scroll_by(3)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_by(-3)
