"""Day one: two bare directories become a pair, everything sound is recorded and mirrored."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.guards import Guard, side_not_usable
from ckptdeck.core.plans import adopt, mirror
from ckptdeck.core.plans.items import in_order
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.plans.room import fit, total_need
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.states import Condition


def plan_start(survey: Survey) -> Plan:
    """What `init`, `adopt` and `mirror --all` would do in one go; every acting item has the detail mode=start.

    One read of a source records both sides; where the copy finds no room the primary's is recorded all the same.
    """
    refused = _not_startable(survey)
    if refused is not None:
        return Plan("start", (), refused)
    judged = mirror.copy_items(survey, survey.steps, mirror.Wish(all_steps=True))
    copies = {item.name: item for item in fit(judged, survey)}
    items: list[PlanItem] = []
    for row in survey.steps:
        items.extend(_row_items(row, copies.get(row.name), survey))
    planned = tuple(_marked(item) for item in in_order(items))
    return Plan("start", planned, needs=total_need(planned), answer=_answer(planned))


def _row_items(row: Step, copy: PlanItem | None, survey: Survey) -> list[PlanItem]:
    """The copy where there is one to make; else what adopt says, and what the mirror says beyond that."""
    if copy is not None and copy.acts:
        return [copy]
    items = [item for item in adopt.adopt_row(row, survey, adopt.Wish()) if item.act is not Act.KEEP]
    told = {item.guard for item in items} | {Guard.NEEDS_ADOPT}
    if copy is not None and (not items or (copy.act is Act.SKIP and copy.guard not in told)):
        items.append(copy)
    return items


def _marked(item: PlanItem) -> PlanItem:
    return replace(item, details={**item.details, "mode": "start"}) if item.acts else item


def _not_startable(survey: Survey) -> Refusal | None:
    """A side that cannot be believed; one without control directory is what this plan is for."""
    for side in survey.sides:
        if side.inventory.condition is not Condition.UNINITIALISED:
            refusal = side_not_usable(survey, side.role)
            if refusal is not None:
                return refusal
    return None


def _answer(items: tuple[PlanItem, ...]) -> str:
    sizes = {item.name: item.size for item in items if item.acts}
    if not sizes:
        return "nothing to record or to mirror"
    acts = {item.act for item in items}
    candidate = any(item.details.get("source") == "candidate" for item in items)
    verbs = ["record"] if Act.RECORD in acts or candidate else []
    verbs += ["mirror"] if Act.COPY in acts else []
    return f"{' and '.join(verbs)} {counted(len(sizes), 'checkpoint')}: {size_text(sum(sizes.values()))}, newest first"
