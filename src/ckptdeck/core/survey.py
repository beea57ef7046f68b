"""Both sides looked at together. `Survey` is what planners, the command line and the console read.

`take_survey` looks at the disks; `compose` is its pure half.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ckptdeck.core.amounts import size_text
from ckptdeck.core.checkpoint_set import Pair
from ckptdeck.core.flight import going_on
from ckptdeck.core.health import judge
from ckptdeck.core.host import Host
from ckptdeck.core.naming import FOREIGN_FAMILY
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.scan import scan
from ckptdeck.core.sides import Projection as Projection
from ckptdeck.core.sides import ResumePoint as ResumePoint
from ckptdeck.core.sides import Side as Side
from ckptdeck.core.sides import Step as Step
from ckptdeck.core.sides import Survey as Survey
from ckptdeck.core.sighting import Checkpoint, InFlight, Inventory, Sighting, Warning
from ckptdeck.core.space import project
from ckptdeck.core.standing import digests_marked_bad
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, FlightState, Role, State
from ckptdeck.core.times import all_alike, known_age
from ckptdeck.core.verdict import align

_NOT_TO_POINT_AT = BAD | {State.SUSPECT, State.UNSAFE_WRITE}
_COPIED = frozenset({State.VERIFIED, State.SIZE_ONLY})
"""What a mirror takes from the primary whatever else is there."""
SECOND_LOOK = 1.0
"""Seconds between the two looks that tell a file at rest from one that is being written."""


def take_survey(host: Host, pair: Pair, policy: Policy, previous: Survey | None = None) -> Survey:
    """Looks at both sides. Never raises for what is on disk; a side that cannot be read says so in its condition.

    With `previous` only what changed is opened, and growth and movement can be told.
    """
    before = previous if previous is not None and _same_names(previous.policy, policy) else None
    primary = scan(host, pair.primary, policy, before.primary.inventory if before is not None else None)
    mirror = None
    if pair.mirror is not None:
        seen = before.mirror.inventory if before is not None and before.mirror is not None else None
        mirror = scan(host, pair.mirror, policy, seen)
    return compose(primary, mirror, policy, host.clock.now(), previous=before)


def take_settled_survey(host: Host, pair: Pair, policy: Policy) -> Survey:
    """A survey for a caller that looks only once: a second look after 1 s where something young may be moving."""
    survey = take_survey(host, pair, policy)
    if not any(_may_move(side, policy) for side in survey.sides):
        return survey
    host.clock.sleep(SECOND_LOOK)
    return take_survey(host, pair, policy, survey)


def compose(
    primary: Inventory, mirror: Inventory | None, policy: Policy, now: float, *, previous: Survey | None = None
) -> Survey:
    """Judges both inventories, holds them against each other, and says where the run would go on. Pure.

    `previous`, the survey these inventories followed on, only saves work.
    """
    sides = _judge_both(primary, mirror, policy, now, previous)
    sides = _with_twins_doubted(sides)
    sides = with_expected_sizes(sides)
    steps = align(sides[0], sides[1] if mirror is not None else None, previous.steps if previous is not None else ())
    return conclude(sides, steps, policy, now)


def conclude(sides: tuple[Side, ...], steps: tuple[Step, ...], policy: Policy, now: float) -> Survey:
    """The survey of judged sides and their rows: where the run would go on, how long the disks will do. Pure."""
    first = sides[0]
    second = sides[1] if len(sides) == 2 else None
    shared = second is not None and _same_device(first.inventory, second.inventory)
    run_id = first.inventory.run_id
    return Survey(
        taken_at=now,
        run_id=run_id if run_id is not None or second is None else second.inventory.run_id,
        policy=policy,
        primary=first,
        mirror=second,
        steps=steps,
        resume=find_resume(sides, steps),
        space={side.role: project(side, policy, now, shares_with=_sharer(side, sides, shared)) for side in sides},
        shared_device=shared,
        warnings=tuple(_warnings(sides, shared)),
    )


def find_resume(sides: tuple[Side, ...], steps: tuple[Step, ...]) -> ResumePoint | None:
    """Newest step first, the primary before the mirror. A receipt is certain, `size-only` must still be hashed.

    What no record vouches for is no resume point, whatever its structure says.
    """
    by_role = {side.role: side for side in sides}
    for step in steps:
        for role, side in by_role.items():
            copy = step.on(role)
            if copy is None or copy.state not in (State.VERIFIED, State.SIZE_ONLY):
                continue
            return ResumePoint(
                name=step.name,
                step=step.step,
                side=role,
                path=f"{side.inventory.root.rstrip('/')}/{step.name}",
                state=copy.state,
                evidence=copy.evidence,
                verified_at=copy.verified_at,
                certain=copy.state is State.VERIFIED,
            )
    return None


def _judge_both(
    primary: Inventory, mirror: Inventory | None, policy: Policy, now: float, previous: Survey | None
) -> tuple[Side, ...]:
    inventories = (primary,) if mirror is None else (_known_by(primary, mirror), _known_by(mirror, primary))
    marks = frozenset[str]().union(*map(digests_marked_bad, inventories))
    return tuple(
        Side(one, judge(one, policy, now, marked_bad=marks, verified_before=_still_verified(one, marks, previous)))
        for one in inventories
    )


def _still_verified(inventory: Inventory, marks: frozenset[str], previous: Survey | None) -> dict[str, Checkpoint]:
    """What was verified the last time, where a receipt that counted then counts now."""
    side = previous.side(inventory.role) if previous is not None else None
    if side is None or marks or inventory.volume is None or side.inventory.volume is None:
        return {}
    if (side.inventory.boot_id, side.inventory.volume.mount) != (inventory.boot_id, inventory.volume.mount):
        return {}
    return {checkpoint.name: checkpoint for checkpoint in side.checkpoints if checkpoint.state is State.VERIFIED}


def _known_by(inventory: Inventory, other: Inventory) -> Inventory:
    """With what only the other side knows: records, and pins of names that it does not have itself."""
    return _named_by(_pinned_by(inventory, other), other)


def _pinned_by(inventory: Inventory, other: Inventory) -> Inventory:
    """A pin on either side protects both, also where only the other one has the copy."""
    elsewhere = other.pins.keys() - {s.name for s in other.sightings} if other.pins else set[str]()
    if not elsewhere or not any(s.name in elsewhere and s.pinned is None for s in inventory.sightings):
        return inventory
    sightings = tuple(known_by_other(s, other.pins, None) if s.name in elsewhere else s for s in inventory.sightings)
    return replace(inventory, sightings=sightings)


def _named_by(inventory: Inventory, other: Inventory) -> Inventory:
    """A recorded name is never foreign, on the side without the record neither."""
    foreign = {s.name for s in inventory.sightings if s.family == FOREIGN_FAMILY}
    recorded = {s.name: s for s in other.sightings if foreign and s.name in foreign and _says_what_it_is(s)}
    if not recorded:
        return inventory
    sightings = tuple(known_by_other(s, {}, recorded.get(s.name)) for s in inventory.sightings)
    return replace(inventory, sightings=sightings)


def known_by_other(sighting: Sighting, pins: Mapping[str, str], twin: Sighting | None) -> Sighting:
    """With what the other side knows of the name: its `pins`, and the `twin` that it has itself."""
    pin = pins.get(sighting.name) if twin is None else None
    if sighting.pinned is None and pin is not None:
        sighting = replace(sighting, pinned=pin)
    if sighting.family == FOREIGN_FAMILY and twin is not None and _says_what_it_is(twin):
        return replace(sighting, family=twin.family, step=twin.step, rolling=twin.rolling)
    return sighting


def _says_what_it_is(sighting: Sighting) -> bool:
    return sighting.record is not None and sighting.family != FOREIGN_FAMILY


# --- one side held against the other


def _with_twins_doubted(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    """Copies of one name whose sizes differ, where no record says which is right, are suspect.

    With a record on the primary only the mirror's copy is: the mirror is ours, and any difference there is bad. An
    unrecorded copy on the primary stays what it is: it may be the trainer's newer save.
    """
    if len(sides) == 1:
        return sides
    primary, mirror = sides
    of_mirror = {checkpoint.name: checkpoint for checkpoint in mirror.checkpoints if _is_unrecorded(checkpoint)}
    if not of_mirror:
        return sides
    doubted: dict[Role, dict[str, Checkpoint]] = {Role.PRIMARY: {}, Role.MIRROR: {}}
    for one in primary.checkpoints:
        other = of_mirror.get(one.name)
        if other is None or one.sighting.identity is None:
            continue
        if _is_unrecorded(one) and one.size != other.size:
            both = f"{size_text(one.size)} on primary, {size_text(other.size)} on mirror, and no record of either"
            doubted[Role.PRIMARY][one.name] = replace(one, state=State.SUSPECT, reason=both)
            doubted[Role.MIRROR][one.name] = replace(other, state=State.SUSPECT, reason=both)
        elif one.state in (State.VERIFIED, State.SIZE_ONLY) and one.size != other.size:
            text = f"{size_text(other.size)}, unrecorded here; the primary's record says {size_text(one.size)}"
            doubted[Role.MIRROR][one.name] = replace(other, state=State.SUSPECT, reason=text)
    return tuple(_with(side, doubted[side.role]) for side in sides)


def _is_unrecorded(checkpoint: Checkpoint) -> bool:
    return checkpoint.sighting.record is None and checkpoint.state in CANDIDATES


def _with(side: Side, changed: dict[str, Checkpoint]) -> Side:
    if not changed:
        return side
    return replace(side, checkpoints=tuple(changed.get(c.name, c) for c in side.checkpoints))


def with_expected_sizes(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    """A copy under way becomes what the other side holds or records."""
    if len(sides) == 1:
        return sides
    mirror = sides[1]
    if not mirror.inventory.in_flight:
        return sides
    flights = tuple(_expecting(flight, sides[0], mirror) for flight in mirror.inventory.in_flight)
    return (sides[0], mirror.with_inventory(replace(mirror.inventory, in_flight=flights)))


def _expecting(flight: InFlight, primary: Side, mirror: Side) -> InFlight:
    source = primary.find(flight.target)
    if source is None or not source.size or flight.final_name:
        return flight
    there = mirror.find(flight.target)
    free = there is None or there.state in NOT_THERE
    if flight.ours and flight.state is FlightState.STALE and free and source.state in _COPIED:
        flight = going_on(flight, source.size, f"ckptdeck mirror {shell_word(flight.target)}")
    return replace(flight, expected_size=source.size)


def _same_device(one: Inventory, other: Inventory) -> bool:
    return one.volume is not None and other.volume is not None and one.volume.device == other.volume.device


def _sharer(side: Side, sides: tuple[Side, ...], shared: bool) -> Side | None:
    return next((other for other in sides if other is not side), None) if shared else None


def _warnings(sides: tuple[Side, ...], shared: bool) -> Iterator[Warning]:
    if shared:
        yield Warning("shared-device", "primary and mirror are on one device: one dead disk takes both")
    for side in sides:
        if all_alike(side.inventory.sightings, side.inventory.volume):
            yield Warning("W16", f"every mtime on the {side.role} is the same: none of them is believed")
        yield from _pointers_ahead(side)


def _pointers_ahead(side: Side) -> Iterator[Warning]:
    for pointer in side.inventory.pointers:
        for copy in map(side.find, pointer.targets):
            if copy is not None and copy.state in _NOT_TO_POINT_AT:
                what = (
                    f"{visible(pointer.name)} on the {side.role} points to {visible(copy.name)}, which is {copy.state}"
                )
                yield Warning("pointer-ahead", f"{what}: {copy.reason}")


# --- looking twice


def _may_move(side: Side, policy: Policy) -> bool:
    inventory = side.inventory
    if inventory.in_flight:
        return True
    times = (s.identity.mtime_ns for s in inventory.sightings if s.identity is not None)
    ages = (known_age(time, inventory.taken_at) for time in times)
    return any(age is not None and age < policy.min_age for age in ages)


def _same_names(one: Policy, other: Policy) -> bool:
    """Both policies read names alike, so that what was read before may be used again."""
    return one.patterns == other.patterns and one.ignore == other.ignore
