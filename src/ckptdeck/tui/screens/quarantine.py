"""What was set aside: inspect it, put it back, or purge it."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import PlanWanted, Say
from ckptdeck.tui.screens.listing import ItemList, ListScreen
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.quarantine import (
    Found,
    quarantine_detail,
    quarantine_head,
    quarantine_lead,
    quarantine_line,
    set_aside,
)
from ckptdeck.tui.view_model.view import View


class QuarantineList(ItemList[Found]):
    """Newest first, known by side and id."""

    def __init__(self) -> None:
        super().__init__()
        self.view: View | None = None

    def key_of(self, item: Found) -> str:
        role, one = item
        return f"{role}/{one.id}"

    def head(self, width: int) -> Line:
        return quarantine_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        assert self.view is not None
        role, one = self._items[key]
        return quarantine_line(role, one, self.view, width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   Nothing is in quarantine."))


class QuarantineScreen(ListScreen[Found]):
    PLACE = Place.QUARANTINE
    BINDINGS = bindings_for(Place.QUARANTINE)

    def __init__(self) -> None:
        self._rows = QuarantineList()
        super().__init__(self._rows)

    def paint(self, view: View) -> None:
        self._rows.view = view
        super().paint(view)

    def items_of(self, view: View) -> Sequence[Found]:
        return () if view.survey is None else set_aside(view.survey)

    def lead(self, view: View, width: int) -> tuple[Line, ...]:
        return quarantine_lead(view, width)

    def story(self, item: Found | None, view: View, width: int) -> tuple[Line, ...]:
        return quarantine_detail(item, view, width)

    def action_copy_command(self) -> None:
        self.copy_line("quarantined")

    def action_put_back(self) -> None:
        entry = self._entry()
        if entry is not None:
            self.post_message(PlanWanted("put_back", options={"from-quarantine": entry}))

    def action_purge(self) -> None:
        entry = self._entry()
        if entry is not None:
            self.post_message(PlanWanted("purge", (entry,)))

    def action_purge_all(self) -> None:
        if self._entry() is not None:
            self.post_message(PlanWanted("purge_all"))

    def _entry(self) -> str | None:
        """The id under the cursor."""
        found = self._list.under_cursor
        if found is None:
            self.post_message(Say("Nothing is in quarantine."))
            return None
        return found[1].id
