"""The last look before a deletion: the same planner over a fresh survey must still say that this copy may go.

All guards and invariants are asked again that way, the counterparts on both sides among them (invariant 4).
"""

from __future__ import annotations

from collections.abc import Mapping

from ckptdeck.core.checkpoint_set import LOCK, Pair
from ckptdeck.core.deletion import delete
from ckptdeck.core.errors import Refused, RottenSource
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.plans.prune import plan_prune, wish_of
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.recheck import require_no_writer, require_same, unit_of
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role, State
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.verify import verify_one
from ckptdeck.core.volume import volume_of

_FRESH = 2.0
"""Seconds a survey counts as fresh; its own stat of each victim is compared in any case."""
_CLOCKS_APART = 300.0


class Pruner:
    """Carries out one prune plan. The set lock is held around each deletion by the caller."""

    def __init__(self, host: Host, pair: Pair, policy: Policy, plan: Plan) -> None:
        self._host = host
        self._pair = pair
        self._wish = wish_of(plan.options)
        self._policy = policy
        self._survey: Survey | None = None
        self._looked_at = 0.0
        self._items: Mapping[tuple[Role, str], PlanItem] = {}

    def prove(self, item: PlanItem, effort: Effort) -> str:
        """Hashes a survivor. Raises RottenSource when it is not what its record says."""
        seen = verify_one(self._host, self._pair.on(item.side), item.name, effort)
        if seen.state is not State.VERIFIED:
            raise RottenSource(
                f"{visible(item.name)} on the {item.side} is {seen.state}: {seen.reason}",
                why="What was to be deleted relied on it",
                next_step="Nothing was deleted; plan anew, a broken one does not count",
            )
        if seen.receipt is not None and not seen.receipt.evidence.outlives_boot:
            raise Refused(
                f"{visible(item.name)} on the {item.side} could only be read from memory",
                guard="evidence",
                why="Its hash fits, and nothing proves that the disk holds the same",
                next_step="Nothing was deleted; close what has it open or mapped, then try again",
            )
        return f"hash matches the record ({seen.receipt.evidence if seen.receipt is not None else 'not kept'})"

    def delete(self, item: PlanItem) -> str:
        """Deletes one copy that may still go. Raises Refused, OSError."""
        host, target = self._host, self._pair.on(item.side)
        self._require_allowed(item)
        volume = volume_of(host.fs, target.root)
        if volume.fs_class != "local":
            self._require_one_clock(item)
        unit = unit_of(target, item)
        found = require_same(host, unit, item.stamps, item.inode)
        require_no_writer(host, unit, found)
        return delete(host, target, volume, unit, found)

    def _require_allowed(self, item: PlanItem) -> None:
        now = self._host.clock.monotonic()
        if self._survey is None or now - self._looked_at > _FRESH:
            self._survey = take_survey(self._host, self._pair, self._policy, self._survey)
            self._looked_at = now
            plan = plan_prune(self._survey, self._wish)
            if plan.refused is not None:
                raise Refused(plan.refused.text, guard=plan.refused.guard, next_step="Nothing more is deleted")
            self._items = {(each.side, each.name): each for each in plan.items if each.act is not Act.VERIFY}
        allowed = self._items.get((item.side, item.name))
        if allowed is None or allowed.act is not Act.DELETE:
            raise Refused(
                f"{visible(item.name)} on the {item.side} may not go any more",
                guard=(allowed.guard if allowed is not None else None) or "changed-since-plan",
                why=allowed.reason if allowed is not None else "It is not there any more",
                next_step="It was left alone; plan anew",
            )

    def _require_one_clock(self, item: PlanItem) -> None:
        """W15: a server whose clock is far from ours makes every age wrong. The lock file was written just now."""
        status = self._host.fs.lstat(self._pair.on(item.side).control_path(LOCK))
        apart = status.st_mtime - self._host.clock.now()
        if abs(apart) > _CLOCKS_APART:
            where = "ahead of" if apart > 0 else "behind"
            raise Refused(
                f"The clock of the {item.side} is {abs(apart):.0f} s {where} this one's",
                guard="clock-offset",
                why="The age guard cannot be trusted while the clocks disagree",
                next_step="Set the clocks right (ntp), then try again; nothing was deleted",
            )
