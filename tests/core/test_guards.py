"""Each reason not to touch something, by its stable name; and that the list of invariant 2 is the whole list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckptdeck.core import guards
from ckptdeck.core.guards import Guard
from ckptdeck.core.sighting import Checkpoint, Identity, Writer
from ckptdeck.core.states import Condition, FlightState, MemberKind, Origin, Role, State
from tests.core.looks import NOW, SERVER, identity, inventory, ns, record
from tests.core.plans.scenes import SIZE, name_of, pair, part, seen

MIN_AGE = 300.0


@pytest.mark.parametrize(
    ("mtime", "guard"),
    [
        (NOW - 301, None),
        (NOW - 300, None),
        (NOW - 299, Guard.AGE),
        (NOW, Guard.AGE),
        (NOW + 299, Guard.AGE),
        (NOW + 301, Guard.FUTURE_TIME),
        (0, Guard.UNKNOWN_TIME),
        (-5, Guard.UNKNOWN_TIME),
        (631_151_999, Guard.UNKNOWN_TIME),
        (631_152_000, None),
        (9.9e9, Guard.FUTURE_TIME),
    ],
)
def test_the_four_kinds_of_time(mtime: float, guard: Guard | None) -> None:
    refusal = guards.not_quiet(ns(mtime), NOW, MIN_AGE)
    assert (refusal.guard if refusal is not None else None) == guard


def test_the_age_guard_tells_both_figures() -> None:
    refusal = guards.age_guard(ns(NOW - 41), NOW, MIN_AGE)
    assert refusal is not None
    assert "41s ago" in refusal.text
    assert "5m00s" in refusal.text


def test_one_young_member_makes_the_whole_young() -> None:
    side = pair([]).primary
    old, young = identity().members[0], identity(age=10).members[0]
    both = replace(identity(), members=(old, replace(young, path="shard-2")))
    refusal = guards.any_not_quiet(both, side, NOW, MIN_AGE)
    assert refusal is not None
    assert refusal.guard == Guard.AGE
    assert guards.any_not_quiet(None, side, NOW, MIN_AGE) is None


def test_times_that_are_all_alike_on_a_server_are_not_believed() -> None:
    steps = [seen(step, State.STRUCTURE_OK) for step in (700, 800, 810)]
    survey = pair(steps)
    assert guards.times_alike(survey.primary) is None
    served = replace(survey.primary, inventory=inventory(*steps, volume=SERVER))
    refusal = guards.times_alike(served)
    assert refusal is not None
    assert refusal.guard == Guard.UNKNOWN_TIME


def protected(checkpoint_changes: dict[str, Any], *, state: State = State.VERIFIED, twin: Any = None) -> str | None:
    """The guard over step 700 of two steps that are verified on both sides."""
    mine = seen(700, state, **checkpoint_changes)
    others = [seen(810, State.VERIFIED)]
    survey = pair([*others, mine], [*others, twin if twin is not None else seen(700, State.VERIFIED)])
    found = survey.primary.find(name_of(700))
    assert found is not None
    refusal = guards.protects(found, Role.PRIMARY, survey, NOW)
    return None if refusal is None else refusal.guard


def test_an_old_whole_twin_of_an_older_step_is_not_protected() -> None:
    assert protected({}) is None


@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"age": 10}, Guard.AGE),
        ({"age": NOW}, Guard.UNKNOWN_TIME),
        ({"age": -4000}, Guard.FUTURE_TIME),
        ({"pinned": ""}, Guard.PINNED),
        ({"pinned": "paper", "pointed_at_by": "latest"}, Guard.PINNED),
        ({"pointed_at_by": "latest"}, Guard.POINTER_TARGET),
        ({"link": "/other/run/step_0700.pt"}, Guard.SYMLINK),
        ({"error": "Input/output error (EIO)"}, Guard.UNREADABLE),
        ({"held": True}, Guard.LIVE_WRITER),
        ({"moved": True}, Guard.LIVE_WRITER),
        ({"writer": Writer(4711, "python")}, Guard.LIVE_WRITER),
    ],
)
def test_the_list_of_invariant_2(changes: dict[str, Any], guard: Guard) -> None:
    assert protected(changes) == guard


def test_a_pin_on_either_side_protects_both() -> None:
    assert protected({}, twin=seen(700, State.VERIFIED, pinned="keep")) == Guard.PINNED


def test_a_foreign_name_is_protected() -> None:
    survey = pair([seen(None, State.FOREIGN, name="notes.txt")])
    notes = survey.primary.find("notes.txt")
    assert notes is not None
    refusal = guards.protects(notes, Role.PRIMARY, survey, NOW)
    assert refusal is not None
    assert refusal.guard == Guard.FOREIGN


@pytest.mark.parametrize(
    ("state", "guard"),
    [
        (FlightState.LIVE, Guard.IN_FLIGHT),
        (FlightState.UNKNOWN, Guard.IN_FLIGHT),
        (FlightState.READY, Guard.IN_FLIGHT),
        (FlightState.STALE, None),
    ],
)
def test_what_is_in_flight_protects_its_name(state: FlightState, guard: Guard | None) -> None:
    copies = [seen(810, State.VERIFIED), seen(700, State.VERIFIED)]
    survey = pair(copies, copies, flights={Role.PRIMARY: [part(700, state)]})
    for step, expected in ((700, guard), (810, None)):
        refusal = guards.in_flight(name_of(step), survey.primary)
        assert (None if refusal is None else refusal.guard) == expected


@pytest.mark.parametrize(
    ("origin", "stops"), [(Origin.PUBLISHED, True), (Origin.MIRRORED, False), (Origin.RESTORED, False)]
)
def test_our_own_complete_copy_beside_an_old_final_is_gone_on_with(origin: Origin, stops: bool) -> None:
    announced = record(name_of(700), SIZE + 9, step=700, origin=origin)
    mine = seen(700, State.VERIFIED, next_record=announced)
    survey = pair([mine], [], flights={Role.PRIMARY: [part(700, FlightState.READY)]})
    assert (guards.in_flight(name_of(700), survey.primary) is not None) == stops


def last_good(primary: list[Any], mirror: list[Any] | None, step: int, side: Role) -> bool:
    return guards.last_good_copy(name_of(step), side, pair(primary, mirror)) is not None


def test_the_last_good_copy_is_the_only_verified_one_of_the_newest_step_that_has_one() -> None:
    whole = [seen(810, State.VERIFIED), seen(800, State.VERIFIED)]
    rotten = [seen(810, State.CORRUPT), seen(800, State.VERIFIED)]
    assert last_good(whole, rotten, 810, Role.PRIMARY)
    assert not last_good(whole, rotten, 810, Role.MIRROR)
    assert not last_good(whole, rotten, 800, Role.PRIMARY)
    assert not last_good(whole, whole, 810, Role.PRIMARY)
    assert last_good(whole, None, 810, Role.PRIMARY)
    assert not last_good(whole, None, 800, Role.PRIMARY)


def test_an_unproven_newer_step_does_not_take_the_protection_from_the_proven_one() -> None:
    assert last_good([seen(820, State.STRUCTURE_OK), seen(810, State.VERIFIED)], [], 810, Role.PRIMARY)


def test_while_nothing_is_proven_the_newest_candidate_is_protected() -> None:
    steps = [seen(820, State.TRUNCATED), seen(810, State.STRUCTURE_OK), seen(800, State.SIZE_ONLY)]
    assert last_good(steps, [], 810, Role.PRIMARY)
    assert not last_good(steps, [], 820, Role.PRIMARY)
    assert not last_good(steps, [], 800, Role.PRIMARY)


@pytest.mark.parametrize(
    "condition", [Condition.NOT_MOUNTED, Condition.WRONG_SET, Condition.TWO_CONTROLS, Condition.UNREADABLE]
)
def test_a_side_that_cannot_be_believed_says_so_by_its_condition(condition: Condition) -> None:
    survey = pair([], [], conditions={Role.MIRROR: condition})
    refusal = guards.side_not_usable(survey, Role.MIRROR)
    assert refusal is not None
    assert (refusal.guard, refusal.text) == (condition.value, f"mirror is {condition}")
    assert guards.side_not_usable(survey, Role.PRIMARY) is None


def test_an_uninitialised_side_is_told_the_command() -> None:
    survey = pair([], [], conditions={Role.MIRROR: Condition.UNINITIALISED})
    refusal = guards.side_not_usable(survey, Role.MIRROR)
    assert refusal is not None
    assert refusal.guard == Guard.UNINITIALISED
    assert "`ckptdeck init /primary /mirror`" in refusal.text


def test_no_mirror_is_a_refusal_of_its_own() -> None:
    refusal = guards.side_not_usable(pair([], None), Role.MIRROR)
    assert refusal is not None
    assert refusal.guard == Guard.NO_MIRROR


def reading(copy: Any) -> str | None:
    survey = pair([copy])
    found = survey.primary.find(copy.name)
    assert isinstance(found, Checkpoint)
    refusal = guards.blocks_reading(found, survey.primary, NOW, MIN_AGE)
    return None if refusal is None else refusal.guard


@pytest.mark.parametrize(
    ("state", "age", "guard"),
    [
        (State.STRUCTURE_OK, 299, Guard.AGE),
        (State.STRUCTURE_OK, 301, None),
        (State.UNRECORDED, NOW, Guard.UNKNOWN_TIME),
        (State.CHANGED, 10, Guard.AGE),
        (State.SIZE_ONLY, 1, None),
        (State.VERIFIED, NOW, None),
    ],
)
def test_only_what_no_record_vouches_for_must_be_quiet_to_be_read(
    state: State, age: float, guard: Guard | None
) -> None:
    assert reading(seen(810, state, age=age)) == guard


def test_a_writer_keeps_readers_away_whatever_the_record_says() -> None:
    assert reading(seen(810, State.SIZE_ONLY, held=True)) == Guard.LIVE_WRITER
    assert reading(seen(810, State.UNREADABLE)) == Guard.UNREADABLE


def test_hostile_names_are_shown_escaped() -> None:
    survey = pair([seen(810, State.VERIFIED, pinned="\x1b[2J", pointed_at_by="\x1b]0;x\x07")])
    found = survey.primary.find(name_of(810))
    assert found is not None
    for refusal in (guards.pinned(found), guards.pointer_target(found)):
        assert refusal is not None
        assert "\x1b" not in refusal.text


def test_a_link_is_no_younger_than_what_it_leads_to_and_an_empty_directory_as_young_as_itself() -> None:
    """A copy makes its links anew, and nothing else tells how old a directory without a file is."""
    side = pair([]).primary
    old, young = identity().members[0], identity(age=10).members[0]
    link = replace(young, path="to", kind=MemberKind.LINK, target="x", size=0)
    itself = replace(young, kind=MemberKind.DIRECTORY)
    assert guards.any_not_quiet(Identity((old, link), itself), side, NOW, MIN_AGE) is None
    for members in ((), (link,)):
        refusal = guards.any_not_quiet(Identity(members, itself), side, NOW, MIN_AGE)
        assert refusal is not None
        assert refusal.guard == Guard.AGE
