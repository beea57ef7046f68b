"""What comes back from the mirror to the primary: the same copy as a mirror, in the other direction, pointers last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.guards import Guard, in_flight, live_writer, other_kind, side_not_usable, symlink
from ckptdeck.core.plans.clashes import Clashes
from ckptdeck.core.plans.items import choose_rows, does, in_order, leftover_part, part_details, stays, stopped
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.plans.pointers import pointer_items
from ckptdeck.core.plans.repair import REPAIRABLE
from ckptdeck.core.plans.room import fit, nothing_fits, total_need
from ckptdeck.core.safe_text import shell_word
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.states import NOT_THERE, Role, State, Verdict


def plan_restore(survey: Survey, names: Sequence[str] = (), *, newest: int | None = None) -> Plan:
    """Copies to the primary what the mirror has verified and the primary lacks.

    Without names and `newest`: what is `missing` there; what was removed on purpose only by name or among the
    `newest` N whole steps. Raises UsageError for a name that is nowhere.
    """
    options = {} if newest is None else {"newest": str(newest)}
    refused = side_not_usable(survey, Role.PRIMARY) or side_not_usable(survey, Role.MIRROR)
    if refused is not None:
        return Plan("restore", (), refused, options=options, names=tuple(names))
    rows, strangers = choose_rows(survey, names)
    wanted = _wanted(survey, rows, named=bool(names), newest=newest)
    clashes = Clashes(survey, Role.PRIMARY)
    items = tuple(item for row in rows if row.name in wanted for item in _row_item(row, survey, clashes))
    fitted = fit(items, survey)
    refused = nothing_fits(items, fitted, survey)
    copies = tuple(item for item in fitted if item.acts)
    pointers = pointer_items(survey, Role.PRIMARY, frozenset(item.name for item in copies))
    return Plan(
        "restore",
        in_order(fitted) + tuple(pointers) + strangers,
        refused,
        needs=total_need(fitted if refused is None else items),
        answer=_answer(copies),
        options=options,
        names=tuple(names),
    )


def _wanted(survey: Survey, rows: Sequence[Step], *, named: bool, newest: int | None) -> frozenset[str]:
    if newest is not None:
        whole = [row for row in rows if _is_whole(row) and row.step is not None]
        return frozenset(row.name for row in whole[:newest])
    if named:
        return frozenset(row.name for row in rows)
    return frozenset(row.name for row in survey.steps if row.primary is not None and row.primary.state is State.MISSING)


def _is_whole(row: Step) -> bool:
    return row.mirror is not None and row.mirror.state is State.VERIFIED and row.verdict is not Verdict.RETIRED


def _row_item(row: Step, survey: Survey, clashes: Clashes) -> Iterator[PlanItem]:
    good, here, mirror = row.mirror, row.primary, survey.mirror
    if good is None or mirror is None or good.state in NOT_THERE:
        if here is not None:
            yield stopped(here, Role.PRIMARY, Refusal(Guard.NO_GOOD_COPY, "there is no copy of it on the mirror"))
        return
    name = shell_word(row.name)
    if here is not None and here.state in REPAIRABLE:
        text = f"{here.state} on the primary: {here.reason}; `ckptdeck repair {name}` replaces it"
        yield stopped(here, Role.PRIMARY, Refusal(Guard.NEEDS_REPAIR, text))
    elif here is not None and here.state not in NOT_THERE:
        yield stays(here, Role.PRIMARY, f"{here.state} on the primary already")
    elif good.state is not State.VERIFIED:
        text = f"{good.state} on the mirror; `ckptdeck verify {name}` proves it first"
        yield stopped(good, Role.PRIMARY, Refusal(Guard.NO_GOOD_COPY, text))
    elif row.verdict is Verdict.RETIRED:
        yield stays(good, Role.PRIMARY, "retired: set aside by rollback")
    else:
        refusal = symlink(good) or live_writer(good) or other_kind(good, here) or in_flight(good.name, mirror)
        part = leftover_part(survey.primary, good.name)
        refusal = refusal or clashes.refusal(good)
        refusal = refusal or (in_flight(good.name, survey.primary) if part is None else None)
        if refusal is not None:
            yield stopped(good, Role.PRIMARY, refusal)
            return
        state = "absent" if here is None else here.state
        details = {"from": str(Role.MIRROR), "source": "recorded", **part_details(part)}
        yield does(Act.COPY, Role.PRIMARY, good, f"verified on the mirror, {state} on the primary", details)


def _answer(copies: Sequence[PlanItem]) -> str:
    if not copies:
        return "nothing to restore"
    return f"restore {counted(len(copies), 'checkpoint')} to the primary: {size_text(total_need(copies))}, newest first"
