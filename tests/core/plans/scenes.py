"""Pairs of sets as planners see them, built from one word per copy and judged by the real code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import InFlight, Inventory, Sighting
from ckptdeck.core.states import Condition, FlightState, Role, State, Structure
from ckptdeck.core.survey import compose
from tests.core.looks import (
    DAY,
    GB,
    LOCAL,
    NOW,
    ONE,
    OTHER,
    identity,
    inventory,
    ns,
    receipt,
    record,
    sighting,
    structure,
    verified,
)

SIZE = 2_470_000_000


def name_of(step: int) -> str:
    return f"step_{step:04d}.pt"


def seen(
    step: int | None,
    state: State,
    *,
    name: str | None = None,
    size: int = SIZE,
    digest: str = ONE,
    age: float = DAY,
    metrics: Mapping[str, float] | None = None,
    **changes: Any,
) -> Sighting:
    """What a scan sees of a copy that will be judged `state`. Inodes differ from step to step."""
    name = name if name is not None else name_of(step or 0)
    there = identity(size, age=age, inode=1000 + (step or 0))
    promised = record(name, size, digest=digest, step=step, mtime_ns=there.mtime_ns, metrics=metrics or {})
    bare = sighting(name, step, identity=there)
    made: Sighting
    match state:
        case State.VERIFIED:
            made = replace(verified(name, step, size, digest=digest, age=age), record=promised)
            made = replace(made, identity=there, receipt=receipt(there, digest=digest, name=name))
        case State.SIZE_ONLY:
            made = replace(bare, record=promised)
        case State.STRUCTURE_OK:
            made = replace(bare, structure=structure(Structure.OK))
        case State.UNRECORDED:
            made = bare
        case State.TRUNCATED:
            cut = identity(size // 2, age=age, inode=1000 + (step or 0))
            made = replace(bare, identity=cut, record=promised)
        case State.CORRUPT:
            rotten = receipt(there, digest=OTHER, name=name, good=False)
            made = replace(bare, record=promised, receipt=rotten)
        case State.CHANGED:
            members = (replace(promised.members[0], size=size + 1),)
            earlier = replace(promised, size=size + 1, members=members, mtime_ns=there.mtime_ns - ns(DAY))
            made = replace(bare, record=earlier)
        case State.SUSPECT:
            made = replace(bare, structure=structure(Structure.SUSPECT, "64 kB of zeros inside a tensor"))
        case State.UNREADABLE:
            made = replace(bare, record=promised, error="Input/output error (EIO)")
        case State.UNSAFE_WRITE:
            made = replace(bare, held=True)
        case State.MISSING:
            made = replace(bare, identity=None, record=promised, seen_missing=2)
        case State.RETIRED:
            made = replace(bare, record=replace(promised, retired=True))
        case State.FOREIGN:
            made = replace(bare, family="foreign", step=None)
        case _:
            raise AssertionError(f"no scene for {state}")
    return replace(made, **changes)


def all_seen(steps: Iterable[int], state: State, **changes: Any) -> list[Sighting]:
    return [seen(step, state, **changes) for step in steps]


def part(
    step: int,
    state: FlightState = FlightState.STALE,
    *,
    size: int = SIZE // 2,
    age: float = DAY,
    ours: bool = True,
    expected: int | None = SIZE,
    inode: int = 77,
) -> InFlight:
    target = name_of(step)
    return InFlight(
        name=f"{target}.part",
        target=target,
        step=step,
        size=size,
        mtime_ns=ns(NOW - age),
        inode=inode,
        state=state,
        reason=f"it is {state}",
        expected_size=expected,
        writer=None,
        bytes_per_second=None,
        ours=ours,
    )


def pair(
    primary: Iterable[Sighting],
    mirror: Iterable[Sighting] | None = (),
    *,
    policy: Policy = DEFAULT_POLICY,
    free: int = 500 * GB,
    conditions: Mapping[Role, Condition] | None = None,
    flights: Mapping[Role, Iterable[InFlight]] | None = None,
    orphans: Mapping[Role, tuple[str, ...]] | None = None,
    shared: bool = False,
) -> Survey:
    """The survey of both sides; `free` bytes on the mirror (of 1000 GB, 10 GB of which are reserve)."""

    def side(role: Role, sightings: Iterable[Sighting]) -> Inventory:
        volume = replace(LOCAL, device=7 if role is Role.PRIMARY or shared else 9)
        condition = (conditions or {}).get(role, Condition.OK)
        return inventory(
            *sightings,
            role=role,
            volume=replace(volume, free=free if role is Role.MIRROR or shared else volume.free),
            condition=condition,
            why="" if condition in (Condition.OK, Condition.UNINITIALISED) else f"{role} is {condition}",
            in_flight=tuple((flights or {}).get(role, ())),
            orphan_next=(orphans or {}).get(role, ()),
        )

    second = None if mirror is None else side(Role.MIRROR, mirror)
    return compose(side(Role.PRIMARY, primary), second, policy, NOW)


def item_of(plan: Plan, step: int, side: Role | None = None) -> PlanItem:
    """The one item about a step, on one side where both have some."""
    found = [item for item in plan.items if item.name == name_of(step) and side in (None, item.side)]
    assert len(found) == 1, found
    return found[0]


def acts_of(plan: Plan) -> list[tuple[int | None, Role, Act]]:
    return [(item.step, item.side, item.act) for item in plan.acting]
