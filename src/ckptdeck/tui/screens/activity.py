"""Who did what to the sets, with its result: filtered, read in full, and copied as a line for a shell."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from ckptdeck.monitor.snapshot import LogEntry
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.messages import CopyWanted, Say
from ckptdeck.tui.screens.listing import ItemList, ListScreen
from ckptdeck.tui.view_model.activity import (
    NO_COMMAND,
    activity_detail,
    activity_head,
    activity_lead,
    activity_line,
    filter_log,
    key_of,
)
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.widgets.filter_line import FilterLine
from ckptdeck.tui.widgets.line_view import LineView


class ActivityList(ItemList[LogEntry]):
    """Newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.view: View | None = None

    def key_of(self, item: LogEntry) -> str:
        return key_of(item)

    def head(self, width: int) -> Line:
        return activity_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        assert self.view is not None
        return activity_line(self._items[key], self.view, width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        filtered = self.view is not None and self.view.snapshot.log
        return (BLANK, line("   No operation matches." if filtered else "   Nothing was done here yet."))


class ActivityScreen(ListScreen[LogEntry]):
    PLACE = Place.ACTIVITY
    BINDINGS = bindings_for(Place.ACTIVITY)
    AUTO_FOCUS = "ActivityList"

    def __init__(self) -> None:
        self._rows = ActivityList()
        super().__init__(self._rows)
        self._filter = FilterLine()
        self._query = ""

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield LineView(id="lead")
        yield self._rows
        yield self._filter
        yield LineView(id="story")
        yield LineView(id="footer")

    def paint(self, view: View) -> None:
        self._rows.view = view
        super().paint(view)

    def items_of(self, view: View) -> Sequence[LogEntry]:
        return filter_log(view.snapshot.log, self._query)

    def lead(self, view: View, width: int) -> tuple[Line, ...]:
        return activity_lead(self.items_of(view), view, self._query, width)

    def story(self, item: LogEntry | None, view: View, width: int) -> tuple[Line, ...]:
        return activity_detail(item, view, width)

    def action_copy_command(self) -> None:
        entry = self._rows.under_cursor
        if entry is not None:
            self.post_message(CopyWanted(entry.command) if entry.command else Say(NO_COMMAND))

    def action_filter(self) -> None:
        self._filter.open(key_word(self.key_map, self.PLACE, "filter"))
        self._recount()

    def on_filter_line_typed(self, event: FilterLine.Typed) -> None:
        self._query = event.text
        if self._view is not None:
            self.paint(self._view)
        self._recount()

    def on_filter_line_left(self, _event: FilterLine.Left) -> None:
        self._rows.focus()

    def _recount(self) -> None:
        if self._view is not None:
            log = self._view.snapshot.log
            self._filter.count(len(self._rows.keys), len(log))
