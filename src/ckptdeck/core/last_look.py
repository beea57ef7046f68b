"""The last look before a copy leaves its side: the same planner over a fresh survey must still say that it may go.

All guards and invariants are asked again that way, the counterparts on both sides among them (invariant 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ckptdeck.core.checkpoint_set import Pair
from ckptdeck.core.errors import Refused
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey, take_survey

_FRESH = 2.0
"""Seconds a survey counts as fresh; the caller's own stat of what goes is compared in any case."""


class LastLook:
    """Looks of one plan while it is carried out."""

    def __init__(self, host: Host, pair: Pair, policy: Policy, plan_again: Callable[[Survey], Plan]) -> None:
        self._host = host
        self._pair = pair
        self._policy = policy
        self._plan_again = plan_again
        self._survey: Survey | None = None
        self._looked_at = 0.0
        self._plan: Plan | None = None
        self._items: Mapping[tuple[Role, str], PlanItem] = {}

    def require(self, item: PlanItem, *, anew: bool = False) -> Plan:
        """The plan that still lets `item` go; with `anew` the last one is not fresh enough. Raises Refused."""
        plan = self._plan_now(anew=anew)
        if plan.refused is not None:
            raise Refused(plan.refused.text, guard=plan.refused.guard, next_step="Nothing more goes")
        allowed = self._items.get((item.side, item.name))
        if allowed is None or allowed.act is not item.act:
            raise Refused(
                f"{visible(item.name)} on the {item.side} may not go any more",
                guard=(allowed.guard if allowed is not None else None) or "changed-since-plan",
                why=allowed.reason if allowed is not None else "It is not there any more",
                next_step="It was left alone; plan anew",
            )
        return plan

    def _plan_now(self, *, anew: bool) -> Plan:
        now = self._host.clock.monotonic()
        if anew or self._plan is None or now - self._looked_at > _FRESH:
            self._survey = take_survey(self._host, self._pair, self._policy, self._survey)
            self._looked_at = now
            self._plan = self._plan_again(self._survey)
            told = (each for each in self._plan.items if each.act is not Act.VERIFY)
            self._items = {(each.side, each.name): each for each in told}
        return self._plan
