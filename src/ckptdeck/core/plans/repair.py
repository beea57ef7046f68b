"""What is repaired: the bad copy of a step from the verified one; the bad copy goes to quarantine."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.guards import Guard, in_flight, live_writer, other_kind, protects, side_not_usable, symlink
from ckptdeck.core.plans.items import choose_rows, does, in_order, leftover_part, part_details, stays, stopped
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.plans.room import fit, nothing_fits, total_need
from ckptdeck.core.safe_text import shell_word
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, Role, State

REPAIRABLE = BAD | {State.SUSPECT}


def plan_repair(survey: Survey, names: Sequence[str] = ()) -> Plan:
    """Repairs towards whichever side is bad. Without names: every step with a bad or suspect copy.

    A repair replaces what it finds, so the whole list of invariant 2 holds for the bad copy, pins and pointers too:
    who pinned a file said "leave it", and a pointer's reader may have it open. Raises UsageError for an unknown name.
    """
    refused = side_not_usable(survey, Role.PRIMARY) or side_not_usable(survey, Role.MIRROR)
    if refused is not None:
        return Plan("repair", (), refused, names=tuple(names))
    rows, strangers = choose_rows(survey, names)
    wanted = tuple(item for row in rows for item in repair_row(row, survey, named=bool(names)))
    fitted = fit(wanted, survey)
    refused = nothing_fits(wanted, fitted, survey)
    return Plan(
        "repair",
        in_order(fitted + strangers),
        refused,
        needs=total_need(wanted if refused is not None else fitted),
        answer=_answer([item for item in fitted if item.acts]),
        names=tuple(names),
    )


def repair_row(row: Step, survey: Survey, *, named: bool = False) -> list[PlanItem]:
    """An item for each bad or suspect copy; for a named row without one, why there is nothing to do."""
    items = []
    for role in Role:
        bad = row.on(role)
        if bad is not None and bad.state in REPAIRABLE:
            items.append(_repair(row, role, bad, survey))
    if not items and named:
        items.append(_nothing_bad(row))
    return items


def _repair(row: Step, role: Role, bad: Checkpoint, survey: Survey) -> PlanItem:
    good, side, other = row.on(role.other), survey.side(role), survey.side(role.other)
    if good is None or good.state is not State.VERIFIED or side is None or other is None:
        return stopped(bad, role, _no_good_copy(bad, role, good))
    refusal = symlink(good) or other_kind(good, bad) or live_writer(good) or in_flight(good.name, other)
    if refusal is not None:
        text = f"the {role.other}'s copy cannot be read now: {refusal.text}"
        return stopped(bad, role, Refusal(refusal.guard, text))
    refusal = protects(bad, role, survey, survey.taken_at)
    if refusal is not None:
        return stopped(bad, role, refusal)
    details = {
        "from": str(role.other),
        "source": "recorded",
        "expect": good.digest or "",
        **part_details(leftover_part(side, bad.name)),
    }
    reason = f"{bad.state}: {bad.reason}; the {role.other}'s is verified, this one goes to quarantine"
    return does(Act.REPAIR, role, good, reason, details, replaced=bad)


def _no_good_copy(bad: Checkpoint, role: Role, good: Checkpoint | None) -> Refusal:
    """Why there is nothing to repair from, and what may change that."""
    what = f"{bad.state}: {bad.reason}; "
    if good is None or good.state in NOT_THERE:
        return Refusal(Guard.NO_GOOD_COPY, f"{what}there is no other copy to repair from")
    name = shell_word(good.name)
    if good.sighting.record is not None and good.state in CANDIDATES:
        return Refusal(Guard.NO_GOOD_COPY, f"{what}first prove the {role.other}'s with `ckptdeck verify {name}`")
    if good.state in CANDIDATES:
        return Refusal(Guard.NO_GOOD_COPY, f"{what}first record the {role.other}'s with `ckptdeck adopt {name}`")
    return Refusal(Guard.NO_GOOD_COPY, f"{what}the {role.other}'s is {good.state} too, so there is no good copy")


def _nothing_bad(row: Step) -> PlanItem:
    copies = [(role, copy) for role in Role if (copy := row.on(role)) is not None]
    role, copy = copies[0]
    states = " and ".join(f"{each.state} on the {where}" for where, each in copies)
    return stays(copy, role, f"nothing to repair: {states}")


def _answer(acting: Sequence[PlanItem]) -> str:
    if not acting:
        return "nothing to repair"
    return f"repair {counted(len(acting), 'checkpoint')}: {size_text(total_need(acting))} to copy"
