"""A list over the story of the row under its cursor: what the screens of jobs and of parts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from textual.app import ComposeResult

from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.screens.reader import StoryReader
from ckptdeck.tui.view_model.line import BLANK, Line
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.widgets.keyed_list import KeyedList
from ckptdeck.tui.widgets.line_view import LineView

_Item = TypeVar("_Item")


class ItemList(KeyedList, Generic[_Item]):
    """Items by key, in the order they are given."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, _Item] = {}

    def key_of(self, item: _Item) -> str:
        raise NotImplementedError

    def show(self, items: Sequence[_Item]) -> None:
        self._items = {self.key_of(item): item for item in items}
        self.set_keys(list(self._items))

    @property
    def under_cursor(self) -> _Item | None:
        return None if self.cursor_key is None else self._items.get(self.cursor_key)


class ListScreen(LiveScreen, Generic[_Item]):
    """Subclasses say which items a view has, what comes before them, and tell the story of one, None for none."""

    def __init__(self, items: ItemList[_Item]) -> None:
        super().__init__()
        self._list = items

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield LineView(id="lead")
        yield self._list
        yield LineView(id="story")
        yield LineView(id="footer")

    def items_of(self, view: View) -> Sequence[_Item]:
        raise NotImplementedError

    def story(self, item: _Item | None, view: View, width: int) -> tuple[Line, ...]:
        raise NotImplementedError

    def lead(self, view: View, width: int) -> tuple[Line, ...]:
        """What has to be known before any row."""
        return ()

    def paint(self, view: View) -> None:
        self._list.show(self.items_of(view))
        self.query_one("#lead", LineView).show(lambda width: self.lead(view, width))
        self._paint_story()

    def _paint_story(self) -> None:
        view = self._view
        if view is not None:
            item = self._list.under_cursor
            self.query_one("#story", LineView).show(lambda width: self.story(item, view, width))

    def on_keyed_list_moved(self, _event: KeyedList.Moved) -> None:
        self._paint_story()
        self.paint_footer()

    def action_zoom(self) -> None:
        item = self._list.under_cursor
        if item is not None:
            self.read_on(StoryReader(lambda view, width: (BLANK, *self.story(item, view, width))))
