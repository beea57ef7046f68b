"""A picture that fills its room: built anew for every width and height."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.widgets.painted import Painted, Row


class PlotView(Painted):
    """Shows the lines that `build` makes for (width, height) in cells."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._build: Callable[[int, int], Sequence[Line]] = lambda _width, _height: ()

    def show(self, build: Callable[[int, int], Sequence[Line]]) -> None:
        self._build = build
        self.on_resize()

    def on_resize(self) -> None:
        self.put([Row(line) for line in self._build(self.size.width, self.size.height)])
