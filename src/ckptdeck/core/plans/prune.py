"""What a retention lets go, on both sides together, with a reason for every copy that goes and every one that stays.

A copy goes only when N newer steps are verified on its side, and on the mirror too when it is the primary's
(invariant 3). Nothing that is in doubt goes: not for its age, its time, its state or its neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard, everything_vanished, protects, side_not_usable
from ckptdeck.core.plans.items import does, may_share_blocks, stays, stopped, with_what_comes_free
from ckptdeck.core.plans.keep import keep_set, row_counts
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.policy import KeepBest, Policy, parse_keep_best
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, NOT_THERE, Evidence, Role, State
from ckptdeck.core.values import dataclass

_MAY_GO = BAD | {State.VERIFIED, State.SIZE_ONLY, State.RETIRED}
"""What a retention may take, given enough newer steps. Everything else is a question somebody has to answer first."""
_TRUSTED = frozenset({Evidence.DEVICE, Evidence.SERVER})
_OWN_LIST = frozenset({"orbax"})
"""Families whose managers keep a list of what they saved, and fail when one of it is gone."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asked for in place of the policy; None leaves it."""

    keep_last: int | None = None
    keep_every: int | None = None
    keep_best: KeepBest | None = None

    def over(self, policy: Policy) -> Policy:
        """The policy that is then in force."""
        return replace(
            policy,
            keep_last=policy.keep_last if self.keep_last is None else self.keep_last,
            keep_every=policy.keep_every if self.keep_every is None else self.keep_every,
            keep_best=policy.keep_best if self.keep_best is None else self.keep_best,
        )

    def options(self) -> dict[str, str]:
        """As a plan and a command line carry it."""
        said = {}
        if self.keep_last is not None:
            said["keep-last"] = str(self.keep_last)
        if self.keep_every is not None:
            said["keep-every"] = str(self.keep_every)
        if self.keep_best is not None:
            best = self.keep_best
            said["keep-best"] = f"{best.count}:{best.metric}" + (":max" if best.highest else "")
        return said


def wish_of(options: Mapping[str, str]) -> Wish:
    """The wish that a plan's options carry. Raises UsageError for values that cannot be meant."""
    best = options.get("keep-best")
    return Wish(
        keep_last=_count(options, "keep-last"),
        keep_every=_count(options, "keep-every"),
        keep_best=None if best is None else parse_keep_best(best),
    )


def _count(options: Mapping[str, str], key: str) -> int | None:
    text = options.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
        raise UsageError(
            f"--{key} {visible(text)} is not a number of 1 or more",
            why="Keeping none would delete everything" if key == "keep-last" else "",
            next_step=f"Write --{key} 12" if key == "keep-last" else f"Write --{key} 1000",
        )
    return int(text)


def plan_prune(survey: Survey, wish: Wish | None = None) -> Plan:
    """Deletes what the retention does not keep. Oldest first; of one step the mirror's copy first.

    A plan that takes more than half of what is on a side carries `count`, which has to be confirmed.
    """
    wish = wish or Wish()
    survey = replace(survey, policy=wish.over(survey.policy))
    retention = Retention(survey)
    if retention.refused is not None:
        return Plan("prune", (), retention.refused, options=wish.options())
    judged = [item for row in survey.steps for item in retention.judge(row)]
    victims = with_what_comes_free(survey, (item for item in reversed(judged) if item.act is Act.DELETE))
    first = retention.hash_first(victims)
    stay = [item for item in judged if not item.acts]
    return Plan(
        "prune",
        (*first, *victims, *stay),
        at_most=may_share_blocks(survey, victims),
        answer=_answer(victims, first, stay),
        options=wish.options(),
        count=len(victims) if _takes_too_much(survey, victims) else None,
    )


def _refusal(survey: Survey) -> Refusal | None:
    """Invariant 5: a side that cannot be believed stops deletions on both."""
    for side in survey.sides:
        refusal = side_not_usable(survey, side.role) or everything_vanished(side)
        if refusal is not None:
            return refusal
    return None


class Retention:
    """What the policy of a survey says about each of its copies; what they are held against is worked out once."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.refused = _refusal(survey)
        """Why nothing may be deleted on either side."""
        self.kept = keep_set(survey)
        self._survivors = {role: _survivors(survey, role) for role in Role}
        self._earlier = {side.role: _written_before(survey, side.role) for side in survey.sides}
        self._of_mirror = self._judge_mirror()
        # What leaves the mirror now is nothing that the primary may rely on in the same plan.
        self._survivors[Role.PRIMARY] = [row for row in self._survivors[Role.PRIMARY] if not self._leaves_mirror(row)]

    def judge(self, row: Step) -> Iterator[PlanItem]:
        """One item for each side on which the row has a copy."""
        on_primary = self._judge_copy(row, self.survey.primary)
        if on_primary is not None:
            yield on_primary
        on_mirror = self._of_mirror.get(row.name)
        if on_mirror is not None:
            yield on_mirror

    def _judge_mirror(self) -> dict[str, PlanItem]:
        mirror = self.survey.mirror
        if mirror is None:
            return {}
        items = ((row.name, self._judge_copy(row, mirror)) for row in self.survey.steps)
        return {name: item for name, item in items if item is not None}

    def _leaves_mirror(self, row: Step) -> bool:
        item = self._of_mirror.get(row.name)
        return item is not None and item.act is Act.DELETE

    def _judge_copy(self, row: Step, side: Side) -> PlanItem | None:
        copy = row.on(side.role)
        if copy is None or copy.state in NOT_THERE:
            return None
        if row.name in self.kept:
            return stays(copy, side.role, self.kept[row.name])
        refusal = self._may_not_go(row, copy, side)
        if refusal is not None:
            return stopped(copy, side.role, refusal)
        return does(Act.DELETE, side.role, copy, self._why_it_goes(row, copy, side.role), {})

    def _may_not_go(self, row: Step, copy: Checkpoint, side: Side) -> Refusal | None:
        if side.role.value not in self.survey.policy.prune_sides:
            return Refusal(Guard.POLICY, f"the policy's `[prune] sides` leaves the {side.role} alone")
        if side.role is Role.PRIMARY and copy.sighting.family in _OWN_LIST:
            family = copy.sighting.family
            text = f"{family} keeps a list of its own of what is there; only the mirror is pruned"
            return Refusal(Guard.POLICY, text)
        return (
            protects(copy, side.role, self.survey, self.survey.taken_at)
            or _twin_unreadable(row, side.role)
            or _undecided(copy)
            or self._out_of_order(row, copy, side.role)
            or self._too_few_newer(row, copy, side.role)
        )

    def _too_few_newer(self, row: Step, copy: Checkpoint, role: Role) -> Refusal | None:
        """Invariant 3. A retired copy needs N kept steps of any number."""
        step = None if copy.state is State.RETIRED else row.step
        newer = self.survivors(role, step)
        needed = self.survey.policy.keep_last
        if len(newer) >= needed:
            return None
        where = "both sides" if role is Role.PRIMARY and self.survey.mirror is not None else f"the {role}"
        kind = "kept steps" if step is None else "newer steps"
        text = f"only {len(newer)} of {needed} {kind} are verified on {where}; what survives must be proven first"
        return Refusal(Guard.TOO_FEW, text)

    def survivors(self, role: Role, above: int | None) -> list[Step]:
        """The newest N rows that count for a victim of step `above` on `role`; above None: of any step."""
        ranked = self._survivors[role]
        count = len(ranked) if above is None else bisect_left(ranked, -above, key=lambda row: -(row.step or 0))
        return ranked[: min(count, self.survey.policy.keep_last)]

    def relied_on(self, victim: PlanItem) -> list[Step]:
        """The rows for whose sake `victim` may go: they have to be whole in that moment."""
        side = self.survey.side(victim.side)
        copy = None if side is None else side.find(victim.name)
        retired = copy is not None and copy.state is State.RETIRED
        return self.survivors(victim.side, None if retired else victim.step)

    def _out_of_order(self, row: Step, copy: Checkpoint, role: Role) -> Refusal | None:
        """R21: written after something of a higher number, so it may be of a newer run in the same directory."""
        mine = _recorded_time(copy)
        earlier = None if row.step is None else self._earlier[role].get(row.step)
        if mine is None or earlier is None or copy.state is State.RETIRED or earlier[0] >= mine:
            return None
        text = (
            f"step {row.step} was written after step {earlier[1]}: two runs in one directory; "
            "`ckptdeck rollback STEP` sets the older run's steps above STEP aside"
        )
        return Refusal(Guard.OUT_OF_ORDER, text)

    def _why_it_goes(self, row: Step, copy: Checkpoint, role: Role) -> str:
        if copy.state is State.RETIRED:
            return "set aside by rollback; enough kept steps are whole"
        newer = self.survivors(role, row.step)
        sides = "both sides" if role is Role.PRIMARY and self.survey.mirror is not None else f"the {role}"
        beyond = f"beyond the last {self.survey.policy.keep_last}"
        what = f"{copy.state}, {beyond}" if copy.state is not State.VERIFIED else beyond
        return f"{what}: {visible(newer[-1].name)} and newer are whole on {sides}"

    def hash_first(self, victims: list[PlanItem]) -> list[PlanItem]:
        """The survivors whose proof is too old or too weak to delete on: they are hashed before anything goes."""
        items: dict[tuple[Role, str], PlanItem] = {}
        needed = {row.name: row for victim in victims for row in self.relied_on(victim)}
        for row in needed.values():
            for side in self.survey.sides:
                copy = row.on(side.role)
                doubt = self._doubt(copy) if copy is not None and _is_verified(copy) else ""
                if copy is not None and doubt:
                    reason = f"hash first: {size_text(copy.size)}, {doubt}"
                    items[side.role, row.name] = does(Act.VERIFY, side.role, copy, reason, {})
        return list(items.values())

    def _doubt(self, copy: Checkpoint) -> str:
        if copy.evidence not in _TRUSTED:
            return f"it was verified with {copy.evidence} evidence only"
        limit = self.survey.policy.max_receipt_age
        if copy.verified_at is None or self.survey.taken_at - copy.verified_at > limit:
            return f"its verification is older than {limit / 86400:g} days"
        return ""


def _is_verified(copy: Checkpoint | None) -> bool:
    return copy is not None and copy.state is State.VERIFIED


def _twin_unreadable(row: Step, role: Role) -> Refusal | None:
    """What cannot be read on one side may be good on the other only."""
    twin = row.on(role.other)
    if twin is None or twin.state is not State.UNREADABLE:
        return None
    return Refusal(Guard.UNREADABLE, f"the {role.other}'s copy cannot be read: {visible(twin.reason)}")


def _undecided(copy: Checkpoint) -> Refusal | None:
    if copy.state in _MAY_GO:
        return None
    name = shell_word(copy.name)
    if copy.sighting.record is None:
        return Refusal(Guard.NEEDS_ADOPT, f"{copy.state}, without a record; `ckptdeck adopt {name}` proves it first")
    return Refusal(Guard.SUSPECT, f"{copy.state}: {copy.reason}; what is in doubt is not deleted")


def _survivors(survey: Survey, role: Role) -> list[Step]:
    """Rows that count for victims on one side, newest first: for the primary's they are verified on the mirror too."""
    roles = {role} if role is Role.MIRROR or survey.mirror is None else {Role.PRIMARY, Role.MIRROR}
    found: dict[int, Step] = {}
    for row in survey.steps:
        if row.step is not None and row_counts(row, survey) and all(_is_verified(row.on(each)) for each in roles):
            found.setdefault(row.step, row)
    return [found[step] for step in sorted(found, reverse=True)]


def _written_before(survey: Survey, role: Role) -> dict[int, tuple[int, int]]:
    """Step -> (time, step) of the earliest written among all higher steps on that side."""
    earliest: tuple[int, int] | None = None
    found: dict[int, tuple[int, int]] = {}
    for row in survey.steps:  # newest first
        if row.step is None:
            continue
        if earliest is not None:
            found.setdefault(row.step, earliest)
        copy = row.on(role)
        time = None if copy is None or copy.state in NOT_THERE | {State.RETIRED} else _recorded_time(copy)
        if time is not None and (earliest is None or time < earliest[0]):
            earliest = time, row.step
    return found


def _recorded_time(copy: Checkpoint) -> int | None:
    """The mtime in the record, so that touch or cp cannot distort the order."""
    record = copy.sighting.record
    if record is not None:
        return record.mtime_ns if record.mtime_ns > 0 else None
    return None


def _takes_too_much(survey: Survey, victims: list[PlanItem]) -> bool:
    """More than half of what is on a side."""
    for side in survey.sides:
        there = len(side.present)
        going = sum(item.side is side.role for item in victims)
        if going * 2 > there:
            return True
    return False


def _answer(victims: list[PlanItem], first: list[PlanItem], stay: list[PlanItem]) -> str:
    if not victims:
        held = sum(item.guard is not None for item in stay)
        return "nothing to prune" + (f"; {counted(held, 'copy', 'copies')} held back by a guard" if held else "")
    sides = []
    for role in Role:
        going = [item for item in victims if item.side is role]
        if going:
            sides.append(f"{len(going)} on the {role} ({size_text(sum(item.size for item in going))})")
    text = f"delete {counted(len(victims), 'copy', 'copies')}: {', '.join(sides)}"
    if first:
        text += f"; hash first: {size_text(sum(item.size for item in first))}"
    return text
