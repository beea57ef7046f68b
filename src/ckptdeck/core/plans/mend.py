"""After a crash, all in one go: what `recover` finishes, then what `repair`, `restore` and `mirror` would put right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.plans.mirror import Wish, copy_items
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.plans.pointers import pointer_items
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import repair_row
from ckptdeck.core.plans.restore import plan_restore
from ckptdeck.core.plans.room import fit, total_need
from ckptdeck.core.sides import Survey
from ckptdeck.core.states import Condition, Role

_COPYING = frozenset({Act.COPY, Act.REPAIR})


def plan_mend(survey: Survey) -> Plan:
    """The items of those four commands, in the order that gives a whole resume point first.

    What `recover` does itself comes before everything that takes time; then the primary, bad copies before missing
    ones; then the mirror. Where a command cannot do anything the advice of `recover` stands.
    """
    recover = plan_recover(survey)
    if recover.refused is not None or not _both_ready(survey):
        return replace(recover, action="mend")
    told = {(item.side, item.name): item for item in recover.items}
    for item in fit(tuple(_remedies(survey)), survey):
        known = told.get((item.side, item.name))
        if known is None or not known.acts:
            told[item.side, item.name] = item
        if item.details.get("source") == "candidate":  # the copy records both sides: nothing is left to adopt
            told.pop((item.side.other, item.name), None)
    pointers = [item for role in Role for item in pointer_items(survey, role, _arriving(told.values(), role))]
    items = tuple(sorted((*told.values(), *pointers), key=_rank))
    also = _beyond(items)
    answer, consequence = recover.answer + also, recover.consequence + also
    return replace(recover, action="mend", items=items, needs=total_need(items), answer=answer, consequence=consequence)


def _both_ready(survey: Survey) -> bool:
    return survey.mirror is not None and all(side.inventory.condition is Condition.OK for side in survey.sides)


def _remedies(survey: Survey) -> Iterator[PlanItem]:
    """What the three commands would do; of what they would not do only what a guard holds back from a repair."""
    yield from (item for row in survey.steps for item in repair_row(row, survey))
    yield from (item for item in plan_restore(survey).items if item.act is Act.COPY)
    yield from (item for item in copy_items(survey, survey.steps, Wish()) if item.act is Act.COPY)


def _arriving(items: Iterable[PlanItem], role: Role) -> frozenset[str]:
    return frozenset(item.name for item in items if item.act in _COPYING and item.side is role)


def _rank(item: PlanItem) -> tuple[bool, int, bool, int]:
    if not item.acts:
        turn = 0
    elif item.act is Act.POINTER:
        turn = 4
    elif item.act not in _COPYING:
        turn = 0
    elif item.side is Role.PRIMARY:
        turn = 1
    else:
        turn = 2 if item.act is Act.REPAIR else 3
    return (not item.acts, turn, item.step is None, -(item.step or 0))


def _beyond(items: tuple[PlanItem, ...]) -> str:
    """How much is put right after what recover does, as one more clause; "" for nothing."""
    repairs = sum(item.act is Act.REPAIR for item in items)
    copies = {role: sum(item.act is Act.COPY and item.side is role for item in items) for role in Role}
    parts = [f"repairs {repairs}"] if repairs else []
    parts += [f"brings {counted(copies[Role.PRIMARY], 'checkpoint')} back"] if copies[Role.PRIMARY] else []
    parts += [f"copies {counted(copies[Role.MIRROR], 'checkpoint')} to the mirror"] if copies[Role.MIRROR] else []
    if not parts:
        return ""
    return f"; then {', '.join(parts)} ({size_text(total_need(items))} to write)"
