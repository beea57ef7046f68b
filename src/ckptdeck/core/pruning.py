"""Carrying out a prune: survivors are proven first, and each victim is held against all that it relies on again."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.checkpoint_set import LOCK, Pair
from ckptdeck.core.deletion import delete
from ckptdeck.core.errors import Refused, RottenSource
from ckptdeck.core.host import Host
from ckptdeck.core.last_look import LastLook
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.plans.prune import Retention, plan_prune, wish_of
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.recheck import require_no_writer, require_same, require_unpinned, unit_of
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import Kind, Role, State
from ckptdeck.core.survey import Survey
from ckptdeck.core.unit import OddThing, Unit, look_at
from ckptdeck.core.verify import verify_one
from ckptdeck.core.volume import volume_of

_CLOCKS_APART = 300.0


class Pruner:
    """Carries out one prune plan. The set lock is held around each deletion by the caller."""

    def __init__(self, host: Host, pair: Pair, policy: Policy, plan: Plan) -> None:
        self._host = host
        self._pair = pair
        self._wish = wish_of(plan.options)
        self._look = LastLook(host, pair, policy, self._plan_again)
        self._retention: Retention | None = None
        self._proven: set[tuple[Role, str]] = set()

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
        self._proven.add((item.side, item.name))
        return f"hash matches the record ({seen.receipt.evidence if seen.receipt is not None else 'not kept'})"

    def delete(self, item: PlanItem) -> str:
        """Deletes one copy that may still go. Raises Refused, OSError."""
        host, target = self._host, self._pair.on(item.side)
        self._require_allowed(item)
        require_unpinned(host, self._pair, item.name)
        volume = volume_of(host.fs, target.root)
        if volume.fs_class != "local":
            self._require_one_clock(item)
        unit = unit_of(target, item)
        found = require_same(host, unit, item.stamps, item.inode)
        require_no_writer(host, unit, found)
        return delete(host, target, volume, unit, found)

    def _plan_again(self, survey: Survey) -> Plan:
        self._retention = Retention(replace(survey, policy=self._wish.over(survey.policy)))
        return plan_prune(survey, self._wish)

    def _require_allowed(self, item: PlanItem) -> None:
        plan = self._look.require(item)
        if not self._still_stand(item):
            plan = self._look.require(item, anew=True)
        unproven = [one for one in plan.items if one.act is Act.VERIFY and (one.side, one.name) not in self._proven]
        if unproven:
            raise Refused(
                f"{visible(unproven[0].name)} on the {unproven[0].side} has to be hashed before anything goes",
                guard="evidence",
                why=f"Since the plan was made: {unproven[0].reason}",
                next_step="Nothing was deleted; plan anew",
            )

    def _still_stand(self, victim: PlanItem) -> bool:
        """What `victim` relies on did not move since the survey, which may be a moment old."""
        retention = self._retention
        assert retention is not None  # the plan that lets it go was made with it
        return all(
            self._stands(copy, side.role)
            for row in retention.relied_on(victim)
            for side in retention.survey.sides
            if (copy := row.on(side.role)) is not None and copy.state is State.VERIFIED
        )

    def _stands(self, copy: Checkpoint, role: Role) -> bool:
        there = copy.sighting.identity
        assert there is not None  # it is verified
        members = tuple(member.path for member in there.members) if copy.sighting.kind is Kind.GROUP else ()
        try:
            found = look_at(self._host.fs, Unit(self._pair.on(role).root, copy.name, copy.sighting.kind, members))
        except (OSError, OddThing):
            return False
        return found.stamps == there.stamps

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
