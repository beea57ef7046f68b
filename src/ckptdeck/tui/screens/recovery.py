"""After a reboot or a crash: the answer first, then the plan step by step, and a key for what it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import PlanWanted, Say
from ckptdeck.tui.screens.acting import ActingScreen
from ckptdeck.tui.screens.listing import ItemList, ListScreen
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.recovery import (
    RecoveryPlan,
    key_of,
    leftover_of,
    recovery_detail,
    recovery_head,
    recovery_lead,
    recovery_line,
)
from ckptdeck.tui.view_model.view import View

_LOW = 18
"""Terminals with fewer lines get four for the answer."""


class StepList(ItemList[PlanItem]):
    """What the plan does, numbered, then what it leaves alone."""

    def key_of(self, item: PlanItem) -> str:
        return key_of(item)

    def show(self, items: Sequence[PlanItem]) -> None:
        acting = [self.key_of(item) for item in items if item.acts]
        self._numbers = {key: number for number, key in enumerate(acting, 1)}
        super().show(items)

    def head(self, width: int) -> Line:
        return recovery_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        return recovery_line(self._numbers.get(key), self._items[key], width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   Nothing is unfinished, and nothing wants a hand."))


class RecoveryScreen(ListScreen[PlanItem], ActingScreen):
    PLACE = Place.RECOVERY
    BINDINGS = bindings_for(Place.RECOVERY)

    def __init__(self) -> None:
        super().__init__(StepList())
        self._plan_of = RecoveryPlan()

    def items_of(self, view: View) -> Sequence[PlanItem]:
        plan = self._plan_of.of(view)
        return () if plan is None else plan.items

    def lead(self, view: View, width: int) -> tuple[Line, ...]:
        limit = 4 if self.app.size.height < _LOW else 7
        return recovery_lead(self._plan_of.of(view), view, width, limit)

    def story(self, item: PlanItem | None, view: View, width: int) -> tuple[Line, ...]:
        return recovery_detail(item, view, width)

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
        plan = None if self._view is None else self._plan_of.of(self._view)
        if plan is not None and not plan.acting and plan.refused is None:
            self.post_message(Say("There is nothing to finish or to clear."))
        else:
            self.post_message(PlanWanted("recover"))
