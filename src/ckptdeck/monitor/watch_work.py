"""What a watch does next: one copy, one proof or one prune at a time, or nothing, and why not.

A watch adds no opinion of its own to the plans: it carries out what the planners want, less what needs a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ckptdeck.core.amounts import counted
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.sighting import Stamp
from ckptdeck.core.states import NOT_THERE, State, Verdict
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.snapshot import Engine

_PASSING = frozenset({Guard.AGE, Guard.LIVE_WRITER, Guard.IN_FLIGHT, Guard.POLICY})
"""Guards that are the normal course of things: they give way by themselves, or are what the policy asks for."""
_AGAIN = 600.0
"""Seconds after which a deletion that could not be brought to its end is tried again: a reader holds its data, say."""
_FIGURES = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Duties:
    """What a watch may do by itself."""

    mirror: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A plan that is not carried out, or what is left of one: `key` stays as long as it is the same story."""

    key: tuple[object, ...]
    text: str
    command: str = ""
    needs_person: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """What is next. Of `plan` and `prove` at most one."""

    plan: Plan | None = None
    prove: str | None = None
    """A checkpoint to be hashed before it can count."""
    held: tuple[tuple[str, HeldBack | None], ...] = ()
    """By action, what of it is held back; None: nothing is. Left out while there is something to do: what is held back
    then is told when that is done."""
    wanted: tuple[tuple[str, frozenset[tuple[str, str]]], ...] = ()
    """By action that was looked at, (side, name) of all it wants to do."""


class Decider:
    """Chooses from one survey. `rests` says of a plan or an action that it failed lately and is not due yet."""

    def __init__(self, engine: Engine, duties: Duties, rests: Callable[[str], bool]) -> None:
        self._engine = engine
        self._duties = duties
        self._rests = rests
        self._proved: dict[str, tuple[Stamp, ...]] = {}
        self._finished: dict[tuple[str, str], float] = {}
        """When it was tried to bring a deletion to its end, by side and id."""

    def next_work(self, survey: Survey) -> Work:
        """What an interrupted prune left undone, which frees room; copies, newest first; then the proofs that prune
        waits for; then prune."""
        removals = self._interrupted_removals(survey) if self._duties.prune else None
        if removals is not None:
            return Work(removals)
        mirror = self._engine.plan("mirror") if self._duties.mirror else None
        held: list[tuple[str, HeldBack | None]] = []
        wanted: list[tuple[str, frozenset[tuple[str, str]]]] = []
        if mirror is not None:
            if not mirror.acting:
                held.append(("mirror", held_back(mirror)))
            wanted.append(("mirror", _wanted(mirror)))
            copy = self._next_copy(mirror)
            if copy is not None:
                return Work(copy, held=tuple(held), wanted=tuple(wanted))
        if not self._duties.prune:
            return Work(held=tuple(held), wanted=tuple(wanted))
        unproven = self._next_proof(survey)
        if unproven is not None:
            return Work(prove=unproven, held=tuple(held), wanted=tuple(wanted))
        if not (newest_is_whole(survey) or (mirror is not None and _lacks_room(mirror))):
            return Work(held=tuple(held), wanted=tuple(wanted))
        prune = self._engine.plan("prune")
        over_half = self._over_half(prune)
        if over_half is not None or not prune.acting:
            held.append(("prune", over_half or held_back(prune)))
        wanted.append(("prune", _wanted(prune)))
        may_run = prune.refused is None and prune.acting and over_half is None and not self._rests(rest_key(prune))
        return Work(prune if may_run else None, held=tuple(held), wanted=tuple(wanted))

    def _interrupted_removals(self, survey: Survey) -> Plan | None:
        """Of the recovery only what was decided already: they have no name any more, or get their record back."""
        there = {(side.role, one.id) for side in survey.sides for one in side.inventory.removing}
        self._finished = {key: at for key, at in self._finished.items() if key in there}
        due = {key for key in there if abs(survey.taken_at - self._finished.get(key, -_AGAIN)) >= _AGAIN}
        if not due:
            return None
        recover = self._engine.plan("recover")
        items = tuple(item for item in recover.acting if (item.side, item.details.get("id")) in due)
        plan = replace(recover, items=items, answer="")
        if plan.refused is not None or not items or self._rests(rest_key(plan)):
            return None
        self._finished |= dict.fromkeys(due, survey.taken_at)
        return plan

    def _next_copy(self, mirror: Plan) -> Plan | None:
        """The newest copy that is due, as a plan of its own: what is saved meanwhile comes before all older ones."""
        if mirror.refused is not None or not mirror.acting or self._rests("mirror"):
            return None
        copies = [item for item in mirror.acting if item.act is not Act.POINTER]
        for item in copies:
            one = self._engine.plan("mirror", (item.name,))
            if one.refused is None and one.acting and not self._rests(rest_key(one)):
                return one
        return mirror if not copies and not self._rests(rest_key(mirror)) else None

    def _next_proof(self, survey: Survey) -> str | None:
        """The newest step that would count for the retention if it were hashed; each content is tried once."""
        lacking = [row for row in survey.steps if _lacks_only_proof(row, survey)]
        tried = self._proved
        self._proved = {row.name: tried[row.name] for row in lacking if row.name in tried}
        for row in lacking:
            stamps = _stamps_of(row)
            if self._proved.get(row.name) != stamps:
                self._proved[row.name] = stamps
                return row.name
        return None

    def _over_half(self, prune: Plan) -> HeldBack | None:
        if prune.count is None:
            return None
        line = f"{self._engine.command_line(prune)} --confirm-count {prune.count}"
        text = f"prune would {prune.answer}; that is over half of a side, and only a person may confirm it"
        return HeldBack(("over-half", prune.digest), text, line, needs_person=True)


def held_back(plan: Plan) -> HeldBack | None:
    """Why a plan that does nothing is refused, or what guards hold back of it; None: all is in order."""
    if plan.refused is not None:
        text = f"{plan.action} waits: {plan.refused.text}"
        return HeldBack(("refused", plan.refused.guard, _FIGURES.sub("", plan.refused.text)), text)
    stopped = [item for item in plan.items if item.act is Act.SKIP and item.guard not in _PASSING]
    if not stopped:
        return None
    first = stopped[0]
    more = len(stopped) - 1
    rest = f"; and {counted(more, 'other')}" if more else ""
    text = f"{plan.action} leaves {visible(first.name)} on {first.side}: {first.reason} ({first.guard}){rest}"
    return HeldBack(("guards", frozenset((item.side, item.name, item.guard) for item in stopped)), text)


def newest_is_whole(survey: Survey) -> bool:
    """The newest step that has a name anywhere is verified on every side, with the same content."""
    newest: int | None = None
    for row in survey.steps:  # newest first
        if row.step is None or row.verdict is Verdict.RETIRED or not _is_there(row):
            continue
        if newest is not None and row.step != newest:
            break
        newest = row.step
        if not _is_whole(row, survey):
            return False
    return newest is not None


def rest_key(plan: Plan) -> str:
    """Of a plan, as long as it would do the very same to the very same bytes."""
    return f"{plan.action} {plan.digest}"


def _is_there(row: Step) -> bool:
    return any(copy is not None and copy.state not in NOT_THERE for copy in (row.primary, row.mirror))


def _is_whole(row: Step, survey: Survey) -> bool:
    if survey.mirror is not None:
        return row.verdict is Verdict.SAFE
    return row.primary is not None and row.primary.state is State.VERIFIED


def _lacks_only_proof(row: Step, survey: Survey) -> bool:
    """Recorded copies of which one was never hashed, or not since the last boot. What a copy is still to be made of is
    proven by that copy."""
    if row.step is None:
        return False
    there = [copy for copy in (row.primary, row.mirror) if copy is not None and copy.state not in NOT_THERE]
    states = {copy.state for copy in there}
    if State.SIZE_ONLY not in states or not states <= {State.SIZE_ONLY, State.VERIFIED}:
        return False
    if survey.mirror is None:
        return True
    return row.mirror is not None and row.mirror.state not in NOT_THERE


def _stamps_of(row: Step) -> tuple[Stamp, ...]:
    identities = (copy.sighting.identity for copy in (row.primary, row.mirror) if copy is not None)
    return tuple(stamp for identity in identities if identity is not None for stamp in identity.stamps)


def _lacks_room(mirror: Plan) -> bool:
    guards = {item.guard for item in mirror.items}
    return Guard.NO_SPACE in guards or (mirror.refused is not None and mirror.refused.guard == Guard.NO_SPACE)


def _wanted(plan: Plan) -> frozenset[tuple[str, str]]:
    return frozenset(map(_side_and_name, plan.acting))


def _side_and_name(item: PlanItem) -> tuple[str, str]:
    return item.side, item.name
