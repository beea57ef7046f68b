"""What goes to quarantine, what comes back from it, and what is purged there for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard, not_quiet, protects, side_not_usable
from ckptdeck.core.plans.interrupted import no_deletion
from ckptdeck.core.plans.items import OWN_LEFTOVER, choose_rows, does, may_share_blocks, part_stamps, stays, stopped
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.sighting import InFlight, Quarantined
from ckptdeck.core.states import BAD, NOT_THERE, FlightState, Kind, Role, State


def plan_quarantine(survey: Survey, names: Sequence[str] = (), *, side: Role | None = None) -> Plan:
    """Bad copies by one rename each; with `side` the named ones of that side, whatever their state.

    Without names: every bad copy, and every stale part that no copy would go on with. It frees nothing until `purge`.
    Raises UsageError for a name that is nowhere.
    """
    options = {} if side is None else {"side": str(side)}
    refused = _unusable(survey, side)
    if refused is not None:
        return Plan("quarantine", (), refused, options=options, names=tuple(names))
    flights = {flight.name for each in survey.sides for flight in each.inventory.in_flight if not flight.final_name}
    rows, strangers = choose_rows(survey, [name for name in names if name not in flights])
    if names and all(name in flights for name in names):
        rows = ()
    roles = [each.role for each in survey.sides if side is None or each.role is side]
    items = [
        item for row in rows for item in _row_items(row, survey, roles, named=bool(names), chosen=side is not None)
    ]
    items += [item for role in roles for item in _part_items(survey, role, frozenset(names))]
    acting = [item for item in items if item.acts]
    ordered = tuple(sorted([*items, *strangers], key=lambda item: not item.acts))
    return Plan("quarantine", ordered, answer=_answer(acting), options=options, names=tuple(names))


def plan_quarantine_again(survey: Survey, plan: Plan) -> Plan:
    """The same plan over a later look. What vanished meanwhile is left out."""
    there = {copy.name for side in survey.sides for copy in side.checkpoints}
    there |= {flight.name for side in survey.sides for flight in side.inventory.in_flight}
    names = tuple(name for name in plan.names if name in there)
    if plan.names and not names:
        return replace(plan, items=())
    side = plan.options.get("side")
    return plan_quarantine(survey, names, side=None if side is None else Role(side))


def plan_put_back(survey: Survey, ids: Sequence[str]) -> Plan:
    """From quarantine to its name, if that is free. Raises UsageError for an id that is nowhere."""
    options = {"from-quarantine": " ".join(ids)}
    refused = next((r for s in survey.sides if (r := side_not_usable(survey, s.role)) is not None), None)
    if refused is not None:
        return Plan("restore", (), refused, options=options)
    items = []
    for entry in ids:
        side, one = _find(survey, entry)
        refusal = _may_not_come_back(side, one)
        reason = f"set aside {visible(one.reason)}; its name is free"
        items.append(_entry_item(one, side.role, Act.PUT_BACK, reason, refusal))
    return Plan("restore", tuple(items), options=options)


def plan_purge(survey: Survey, ids: Sequence[str] = (), *, older_than: float | None = None) -> Plan:
    """Takes artifacts in quarantine apart, for good: all without `ids`, those older than `older_than` seconds.

    Raises UsageError for an id that is nowhere.
    """
    options = {} if older_than is None else {"older-than": f"{older_than:g}s"}
    refused = no_deletion(survey)
    if refused is not None:
        return Plan("purge", (), refused, options=options, names=tuple(ids))
    chosen = [_find(survey, entry) for entry in ids] or [
        (side, one) for side in survey.sides for one in side.inventory.quarantine
    ]
    items = [_purge_item(side, one, survey, older_than) for side, one in chosen]
    total = sum(item.size for item in items if item.acts)
    answer = f"purge {counted(sum(item.acts for item in items), 'artifact')}, for good: {size_text(total)}"
    at_most = may_share_blocks(survey, items)
    return Plan("purge", tuple(items), at_most=at_most, answer=answer, options=options, names=tuple(ids))


def _unusable(survey: Survey, side: Role | None) -> Refusal | None:
    """A side that cannot be believed stops the other one too (invariant 5)."""
    if side is not None and survey.side(side) is None:
        return side_not_usable(survey, side)
    return no_deletion(survey) or next(
        (refusal for each in survey.sides if (refusal := side_not_usable(survey, each.role)) is not None), None
    )


def _row_items(row: Step, survey: Survey, roles: list[Role], *, named: bool, chosen: bool) -> Iterator[PlanItem]:
    """Bad copies; others only when their name and their side were given."""
    for role in roles:
        copy = row.on(role)
        if copy is None or copy.state in NOT_THERE:
            continue
        if copy.state not in BAD and not chosen:
            if named:
                yield stays(copy, role, f"{copy.state}, not bad; `--side {role}` takes it all the same")
            continue
        refusal = protects(copy, role, survey, survey.taken_at)
        if refusal is not None:
            yield stopped(copy, role, refusal)
        else:
            yield does(Act.QUARANTINE, role, copy, f"{copy.state}: {copy.reason}", {})


def _part_items(survey: Survey, role: Role, names: frozenset[str]) -> Iterator[PlanItem]:
    """Stale leftovers; a temporary name of a trainer only once it is quiet and nobody has it open."""
    side = survey.side(role)
    for flight in side.inventory.in_flight if side is not None else ():
        if flight.final_name or (names and flight.name not in names):
            continue
        if flight.state is not FlightState.STALE:
            if flight.name in names:
                reason = f"{flight.state}: {visible(flight.reason)}"
                yield _flight_item(flight, role, Act.SKIP, reason, Guard.IN_FLIGHT)
            continue
        refusal = not_quiet(flight.mtime_ns, survey.taken_at, survey.policy.min_age)
        if refusal is not None:
            yield _flight_item(flight, role, Act.SKIP, refusal.text, refusal.guard)
        elif flight.ours or flight.staged:
            yield _flight_item(flight, role, Act.KEEP, OWN_LEFTOVER, None)
        else:
            yield _flight_item(flight, role, Act.QUARANTINE, f"a stale leftover: {visible(flight.reason)}", None)


def _flight_item(flight: InFlight, role: Role, act: Act, reason: str, guard: str | None) -> PlanItem:
    acts = act is Act.QUARANTINE
    return PlanItem(
        flight.name,
        role,
        act,
        reason,
        size=flight.size,
        step=flight.step,
        guard=None if guard is None else str(guard),
        stamps=part_stamps(flight) if acts and flight.kind is Kind.FILE else (),
        inode=flight.inode if acts else None,
        kind=flight.kind,
        details={"leftover": "true"} if acts else {},
    )


def _find(survey: Survey, entry: str) -> tuple[Side, Quarantined]:
    for side in survey.sides:
        for one in side.inventory.quarantine:
            if one.id == entry:
                return side, one
    raise UsageError(
        f"There is nothing called {visible(entry)} in quarantine", next_step="`ckptdeck quarantined` lists the ids"
    )


def _may_not_come_back(side: Side, one: Quarantined) -> Refusal | None:
    if not one.named:
        return Refusal(Guard.FOREIGN, "its note is lost, so nobody knows its name; move it by hand")
    there = side.find(one.name)
    if there is not None and there.state is State.INCOMPLETE and one.kind is Kind.GROUP:
        return None  # the rest of what was put back in part, file by file; none of them replaces another
    if there is not None and there.state not in NOT_THERE:
        text = f"{visible(one.name)} is there ({there.state}); quarantine or move that first"
        return Refusal(Guard.EXISTS, text)
    return None


def _purge_item(side: Side, one: Quarantined, survey: Survey, older_than: float | None) -> PlanItem:
    age = survey.taken_at - one.at
    if older_than is not None and not age >= older_than:
        return _entry_item(one, side.role, Act.KEEP, "younger than asked for", None)
    return _entry_item(one, side.role, Act.PURGE, f"{visible(one.name)}, set aside: {visible(one.reason)}", None)


def _entry_item(one: Quarantined, role: Role, act: Act, reason: str, refusal: Refusal | None) -> PlanItem:
    if refusal is not None:
        return PlanItem(one.id, role, Act.SKIP, refusal.text, size=one.size, guard=str(refusal.guard))
    details = {"checkpoint": one.name} if act is not Act.KEEP else {}
    frees = one.frees if act is Act.PURGE else 0
    return PlanItem(one.id, role, act, reason, size=one.size, details=details, kind=one.kind, frees=frees)


def _answer(acting: list[PlanItem]) -> str:
    if not acting:
        return "nothing to set aside"
    total = size_text(sum(item.size for item in acting))
    return f"set aside {counted(len(acting), 'artifact')} ({total}); this frees nothing until `ckptdeck purge`"
