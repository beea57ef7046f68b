"""Both sides, one row per checkpoint, aligned by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckptdeck.tui.view_model.cells import Columns, columns_for, head_line, row_line
from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.view_model.overview import empty_lines
from ckptdeck.tui.view_model.rows import Entry, Order, entries_of, filter_entries, same_rows, sort_entries
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.widgets.keyed_list import KeyedList


class PairTable(KeyedList):
    """Rows of the newest view, filtered and sorted; several may be chosen."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._view: View | None = None
        self._all: tuple[Entry, ...] = ()
        self._entries: dict[str, Entry] = {}
        self._columns: Columns | None = None
        self.order = Order.NEWEST
        self.query_text = ""
        self.problems_only = False
        self.chosen: frozenset[str] = frozenset()

    def show(self, view: View) -> None:
        """Takes a view. Rows are only made anew when the survey has others."""
        before, self._view = self._view, view
        if view.survey is not None and not (before is not None and same_rows(before.survey, view.survey)):
            self._all = entries_of(view.survey)
            self.chosen &= {entry.key for entry in self._all}
            self.rearrange()
        else:
            self.repaint()

    def rearrange(self) -> None:
        """Filters and sorts the rows as the settings say."""
        kept = filter_entries(self._all, self.query_text, self.problems_only)
        ordered = sort_entries(kept, self.order)
        self._entries = {entry.key: entry for entry in ordered}
        self._columns = None
        self.set_keys(list(self._entries))

    @property
    def total(self) -> int:
        return len(self._all)

    @property
    def under_cursor(self) -> Entry | None:
        return None if self.cursor_key is None else self._entries.get(self.cursor_key)

    @property
    def targets(self) -> tuple[Entry, ...]:
        """What an action is meant for: the chosen rows, even those a filter hides, or the one under the cursor."""
        if self.chosen:
            return tuple(entry for entry in self._all if entry.key in self.chosen)
        entry = self.under_cursor
        return () if entry is None else (entry,)

    def choose(self) -> None:
        """Chooses the row under the cursor, or lets it go, and steps on."""
        if self.cursor_key is not None:
            self.chosen ^= {self.cursor_key}
            self.move(1)
            self.repaint()

    def choose_on(self, by: int) -> None:
        """Chooses the row under the cursor and the one that it goes to."""
        for _ in range(2):
            if self.cursor_key is not None:
                self.chosen |= {self.cursor_key}
            self.move(by)
            by = 0
        self.repaint()

    def choose_all(self) -> None:
        """Chooses every row shown; lets all go when they are chosen already."""
        shown = {key for key, entry in self._entries.items() if not entry.foreign}
        self.chosen = frozenset() if shown <= self.chosen else self.chosen | shown
        self.repaint()

    def let_go(self) -> None:
        self.chosen = frozenset()
        self.repaint()

    def head(self, width: int) -> Line:
        return head_line(self._columns_at(width), self.order, width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        assert self._view is not None
        columns = self._columns_at(width)
        return row_line(self._entries[key], self._view, columns, width, cursor=cursor, chosen=key in self.chosen)

    def empty(self, width: int) -> Sequence[Line]:
        if self._view is None:
            return ()
        return empty_lines(self._view, width, filtered=bool(self._all))

    def on_resize(self) -> None:
        self._columns = None  # the handler of the base class, which comes next, paints

    def _columns_at(self, width: int) -> Columns:
        if self._columns is None:
            survey = None if self._view is None else self._view.survey
            single = survey is not None and survey.mirror is None
            self._columns = columns_for(width, list(self._entries.values()), single=single)
        return self._columns
