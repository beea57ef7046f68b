"""After a reboot or a crash: the answer first, then the plan step by step, and a key for what it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ckptdeck.core.plans.mend import plan_mend
from ckptdeck.core.plans.plan import Plan, PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import PlanWanted, Say
from ckptdeck.tui.screens.acting import ActingScreen
from ckptdeck.tui.screens.listing import ItemList, ListScreen
from ckptdeck.tui.thought import Thought
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.recovery import (
    key_of,
    leftover_of,
    recovery_detail,
    recovery_head,
    recovery_lead,
    recovery_line,
)
from ckptdeck.tui.view_model.view import View

_TINY = 11
"""Terminals with fewer lines get one for the answer, and one for the way out."""
_LOW = 18
"""Terminals with fewer lines get four for the answer."""


class StepList(ItemList[PlanItem]):
    """What the plan does, numbered, then what it leaves alone."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}
        self._names = 0
        """Cells of the longest name."""

    def key_of(self, item: PlanItem) -> str:
        return key_of(item)

    def show(self, items: Sequence[PlanItem]) -> None:
        acting = [self.key_of(item) for item in items if item.acts]
        self._numbers = {key: number for number, key in enumerate(acting, 1)}
        self._names = max((cell_len(visible(item.name)) for item in items), default=0)
        super().show(items)

    def head(self, width: int) -> Line:
        return recovery_head(width, self._names)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        return recovery_line(self._numbers.get(key), self._items[key], width, self._names, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   Nothing is unfinished, and nothing wants a hand."))


class RecoveryScreen(ListScreen[PlanItem], ActingScreen):
    PLACE = Place.RECOVERY
    BINDINGS = bindings_for(Place.RECOVERY)

    def __init__(self) -> None:
        super().__init__(StepList())
        self._thought: Thought[Plan] = Thought("recovery", self._repaint)

    def _plan_of(self, view: View) -> Plan | None:
        """Over the newest survey that was thought over; None before the first."""
        survey = view.survey
        return None if survey is None else self._thought.of(self.ask, survey, lambda: plan_mend(survey))

    def _repaint(self) -> None:
        if self._view is not None:
            self.paint(self._view)

    def items_of(self, view: View) -> Sequence[PlanItem]:
        plan = self._plan_of(view)
        return () if plan is None else plan.items

    def lead(self, view: View, width: int) -> tuple[Line, ...]:
        height = self.app.size.height
        limit = 2 if height < _TINY else 4 if height < _LOW else 8
        return recovery_lead(self._plan_of(view), view, width, limit)

    def story(self, item: PlanItem | None, view: View, width: int) -> tuple[Line, ...]:
        return recovery_detail(item, view, width)

    @property
    def wanted(self) -> Sequence[str]:
        plan = None if self._view is None else self._plan_of(self._view)
        return ("recover",) if plan is not None and plan.acting else ()

    @property
    def targets(self) -> tuple[str, ...]:
        item = self._list.under_cursor
        return () if item is None else (item.name,)

    @property
    def quarantine_targets(self) -> tuple[str, ...]:
        item, survey = self._list.under_cursor, None if self._view is None else self._view.survey
        part = None if item is None or survey is None else leftover_of(item, survey)
        return self.targets if part is None else (part.name,)

    def action_recover(self) -> None:
        plan = None if self._view is None else self._plan_of(self._view)
        if plan is not None and not plan.acting and plan.refused is None:
            self.post_message(Say("There is nothing to finish, to clear or to repair."))
        else:
            self.post_message(PlanWanted("recover"))
