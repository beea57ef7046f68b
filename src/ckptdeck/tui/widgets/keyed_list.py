"""A list whose cursor is a key, never a position: whatever is added, removed or sorted, it stays on its row.

Lines are painted on demand, so 10,000 rows cost no more than the ones that show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.events import Click
from textual.message import Message

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.view_model.glyphs import THUMB
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, fit
from ckptdeck.tui.widgets.painted import Ground, Painted, Row


class KeyedList(Painted, can_focus=True):
    """A head, and rows known by their key. Subclasses say what the head, a row and an empty list look like."""

    BINDINGS = bindings_for(Place.LIST)

    class Moved(Message):
        """The cursor is on another row now."""

        def __init__(self, key: str | None) -> None:
            super().__init__()
            self.key = key

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._keys: tuple[str, ...] = ()
        self._places: dict[str, int] = {}
        self._top = 0
        self.cursor_key: str | None = None

    def head(self, width: int) -> Line:
        raise NotImplementedError

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        raise NotImplementedError

    def empty(self, width: int) -> Sequence[Line]:
        """What is said when there is no row."""
        raise NotImplementedError

    @property
    def keys(self) -> tuple[str, ...]:
        return self._keys

    @property
    def cursor_index(self) -> int:
        """Where the cursor's row is now; 0 in an empty list."""
        return 0 if self.cursor_key is None else self._places.get(self.cursor_key, 0)

    @property
    def cursor_line(self) -> int:
        """The line of the terminal that the cursor's row is on."""
        return self.region.y + 1 + self.cursor_index - self._top

    def set_keys(self, keys: Sequence[str]) -> None:
        """Takes the rows. The cursor keeps its row and its line on the screen; only when the row is gone does it
        go to the next one that is left."""
        before, at = self._keys, self.cursor_index
        offset = at - self._top
        self._keys = tuple(keys)
        self._places = {key: place for place, key in enumerate(self._keys)}
        key = self._survivor(before, at)
        follows_top = self._top == 0
        self._move_to(key)
        if not follows_top:
            self._top = self.cursor_index - offset
        self._keep_in_sight()
        self.repaint()

    def _survivor(self, before: tuple[str, ...], at: int) -> str | None:
        """The cursor's key, or the nearest old neighbour that still is there, or the first row."""
        for key in (*before[at:], *reversed(before[:at])):
            if key in self._places:
                return key
        return self._keys[0] if self._keys else None

    def move(self, rows: int) -> None:
        """Moves the cursor by so many rows and keeps it in sight."""
        if self._keys:
            place = max(0, min(self.cursor_index + rows, len(self._keys) - 1))
            self._move_to(self._keys[place])
            self._keep_in_sight()
            self.repaint()

    def _move_to(self, key: str | None) -> None:
        if key != self.cursor_key:
            self.cursor_key = key
            self.post_message(self.Moved(key))

    @property
    def page(self) -> int:
        """How many rows show under the head."""
        return max(1, self.size.height - 1)

    def _keep_in_sight(self) -> None:
        at = self.cursor_index
        self._top = min(max(self._top, at - self.page + 1), at)
        self._top = max(0, min(self._top, len(self._keys) - self.page))

    def repaint(self) -> None:
        """Says every visible line anew; only the ones that differ reach the terminal."""
        width, height = self.size
        if not width or not height:
            return
        if not self._keys:
            self.put([Row(fit(line, width)) for line in self.empty(width)])
            return
        shown = self._keys[self._top : self._top + height - 1]
        thumb = self._thumb(height - 1)
        inner = width - 1 if thumb else width
        rows = [Row(self.head(inner), Ground.HEAD)]
        for y, key in enumerate(shown):
            cursor = key == self.cursor_key
            text = self.row(key, inner, cursor=cursor)
            mark = (Piece(THUMB if y in thumb else " ", Ink.MUTED),) if thumb else ()
            rows.append(Row((*text, *mark), Ground.CURSOR if cursor else Ground.PLAIN))
        if len(shown) < height - 1:
            rows.append(Row(BLANK))
        self.put(rows)

    def _thumb(self, height: int) -> range:
        """Lines of the scroll mark at the right edge; empty when everything fits."""
        if height <= 0 or len(self._keys) <= height:
            return range(0)
        length = max(1, height * height // len(self._keys))
        start = round((height - length) * self._top / (len(self._keys) - height))
        return range(start, start + length)

    def on_resize(self) -> None:
        self._keep_in_sight()
        self.repaint()

    def on_click(self, event: Click) -> None:
        place = self._top + event.y - 1
        if event.y > 0 and place < len(self._keys):
            self._move_to(self._keys[place])
            self.repaint()

    def on_mouse_scroll_down(self) -> None:
        self.move(3)

    def on_mouse_scroll_up(self) -> None:
        self.move(-3)

    def action_down(self) -> None:
        self.move(1)

    def action_up(self) -> None:
        self.move(-1)

    def action_page_down(self) -> None:
        self.move(self.page)

    def action_page_up(self) -> None:
        self.move(-self.page)

    def action_first(self) -> None:
        self.move(-len(self._keys))

    def action_last(self) -> None:
        self.move(len(self._keys))
