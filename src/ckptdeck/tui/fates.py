"""What a prune by the policy in force would say about a copy: why it stays, what holds it back, or that it would go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.plans.prune import Retention
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.tui.thought import Ask, Thought
from ckptdeck.tui.view_model.foresight import still_does
from ckptdeck.tui.view_model.rows import Entry
from ckptdeck.tui.view_model.view import View


class Fates:
    """Remembers the retention of a survey: it is the same for all of its rows. `arrived` is called when one that was
    thought over is there."""

    def __init__(self, arrived: Callable[[], object] = lambda: None) -> None:
        self._thought: Thought[Retention] = Thought("fates", arrived)
        self._over: Survey | None = None

    def _of_survey(self, survey: Survey, ask: Ask) -> Retention | None:
        over = self._over
        if over is None or not still_does(over, survey):
            over = self._over = survey
        return self._thought.of(ask, over, lambda: Retention(over))

    def of(self, entry: Entry | None, view: View, ask: Ask) -> Mapping[Role, str]:
        """Side → one sentence; empty where there is no copy, or no retention yet."""
        survey = view.survey
        if entry is None or entry.pair is None or survey is None:
            return {}
        retention = self._of_survey(survey, ask)
        if retention is None:
            return {}
        refused = retention.refused
        if refused is None:
            return {item.side: _sentence(item) for item in retention.judge(entry.pair)}
        if refused.guard == Guard.UNINITIALISED:
            return {}
        return {side.role: f"nothing is pruned: {refused.text}" for side in survey.sides}


def _sentence(item: PlanItem) -> str:
    if item.act is Act.DELETE:
        return f"would go: {item.reason}"
    return f"stays: {item.reason}" if item.guard is None else f"held back: {item.reason} ({item.guard})"
