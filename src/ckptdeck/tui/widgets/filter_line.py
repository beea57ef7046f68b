"""The line one types a filter into."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from ckptdeck.monitor.view_state import FILTERS_KEPT
from ckptdeck.tui.view_model.line import Ink, Piece, line
from ckptdeck.tui.view_model.overview import filter_status
from ckptdeck.tui.widgets.line_view import LineView


class FilterLine(Horizontal):
    """Hidden until it is opened. Enter keeps the filter, escape drops it; up brings back those used before."""

    BINDINGS = [  # noqa: RUF012
        Binding("escape", "drop", show=False),
        Binding("up", "recall(1)", show=False),
        Binding("down", "recall(-1)", show=False),
    ]

    class Typed(Message):
        """The filter is another one now."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The keys go back to the list."""

    def __init__(self, used: Sequence[str] = ()) -> None:
        super().__init__()
        self.used = tuple(used)
        """Filters kept so far, newest first."""
        self._recalled = -1
        """Which of them is in the field; -1 for what was typed."""

    def compose(self) -> ComposeResult:
        yield LineView(id="filter-mark")
        field = Input(compact=True, select_on_focus=False)
        field.cursor_blink = False
        yield field
        yield LineView(id="filter-count")

    @property
    def _field(self) -> Input:
        return self.query_one(Input)

    def open(self, mark: str) -> None:
        """Takes the keys; `mark`, the key that did it, stands before what is typed."""
        self._recalled = -1
        shown = self.query_one("#filter-mark", LineView)
        shown.styles.width = cell_len(mark) + 2
        shown.show(lambda _width: (line(Piece(f" {mark}", Ink.KEY)),))
        self.add_class("-open")
        self._field.focus()

    def count(self, shown: int, total: int) -> None:
        """Says how many rows are left."""
        self.query_one("#filter-count", LineView).show(lambda _width: (filter_status(shown, total),))

    def clear(self) -> None:
        """Empties the field and hides the line."""
        self._field.value = ""
        self.remove_class("-open")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        text = self._field.value.strip()
        if text:
            self.used = (text, *(one for one in self.used if one != text))[:FILTERS_KEPT]
        else:
            self.remove_class("-open")
        self.post_message(self.Left())

    def action_recall(self, by: int) -> None:
        """Up goes back in what was used before; down comes forward again, and at its end to the list."""
        if by < 0 and self._recalled < 0:
            self.action_keep()
            return
        self._recalled = min(self._recalled + by, len(self.used) - 1)
        self._field.value = self.used[self._recalled] if self._recalled >= 0 else ""
        self._field.cursor_position = len(self._field.value)

    def action_drop(self) -> None:
        self.clear()
        self.post_message(self.Left())
