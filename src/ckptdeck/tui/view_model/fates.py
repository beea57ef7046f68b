"""What a prune by the policy in force would say about a copy: why it stays, what holds it back, or that it would go."""

from __future__ import annotations

from collections.abc import Mapping

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.plans.prune import Retention
from ckptdeck.core.states import Role
from ckptdeck.tui.view_model.rows import Entry
from ckptdeck.tui.view_model.view import View


class Fates:
    """Remembers the retention of the newest survey it was asked about: it is the same for all of its rows."""

    def __init__(self) -> None:
        self._retention: Retention | None = None

    def of(self, entry: Entry | None, view: View) -> Mapping[Role, str]:
        """Side → one sentence; empty where there is no copy, or no retention yet."""
        survey = view.survey
        if entry is None or entry.pair is None or survey is None:
            return {}
        if self._retention is None or self._retention.survey is not survey:
            self._retention = Retention(survey)
        refused = self._retention.refused
        if refused is None:
            return {item.side: _sentence(item) for item in self._retention.judge(entry.pair)}
        if refused.guard == Guard.UNINITIALISED:
            return {}
        return {side.role: f"nothing is pruned: {refused.text}" for side in survey.sides}


def _sentence(item: PlanItem) -> str:
    if item.act is Act.DELETE:
        return f"would go: {item.reason}"
    return f"stays: {item.reason}" if item.guard is None else f"held back: {item.reason} ({item.guard})"
