"""After a crash: the answer first, what is finished or dropped, and that nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.items import part_stamps, stamps_of
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import InFlight, Record, Sighting
from ckptdeck.core.states import Condition, FlightState, Origin, Role, State
from tests.core.looks import DAY, NOW, ONE, OTHER, ns, record
from tests.core.plans.scenes import SIZE, acts_of, item_of, name_of, pair, part, seen

P, M = Role.PRIMARY, Role.MIRROR


def announced(step: int, size: int = SIZE + 9, **changes: Any) -> Record:
    """A next record of a day ago."""
    return record(name_of(step), size, step=step, digest=OTHER, **changes)


def recover(primary: list[Sighting], *flights: InFlight, mirror: list[Sighting] | None = None, **how: Any) -> Plan:
    return plan_recover(pair(primary, mirror, flights={P: flights}, **how))


# --- parts


@pytest.mark.parametrize("age", [1, DAY])
def test_a_complete_part_gets_its_name_at_once(age: float) -> None:
    ready = part(820, FlightState.READY, size=SIZE, age=age)
    plan = recover([seen(810, State.VERIFIED)], ready)
    (item,) = plan.acting
    assert (item.name, item.act, item.side, item.step) == (name_of(820), Act.FINISH, P, 820)
    assert (item.stamps, item.inode, item.target) == (part_stamps(ready), 77, ())
    assert dict(item.details) == {"mode": "roll-forward", "part": "step_0820.pt.part"}


def over_final(final: Sighting, following: Record | None, *, side: Role = P) -> PlanItem:
    copies = [replace(final, next_record=following)]
    ready = {side: [part(810, FlightState.READY, size=SIZE + 9)]}
    survey = pair(copies if side is P else [], copies if side is M else [], flights=ready)
    return item_of(plan_recover(survey), 810, side)


def test_a_complete_part_replaces_only_what_its_publish_was_meant_to_replace() -> None:
    old = seen(810, State.VERIFIED, age=20)
    item = over_final(old, announced(810, replaces=ONE))
    assert (item.act, item.details["mode"]) == (Act.FINISH, "roll-forward")
    assert old.identity is not None
    assert (item.target, item.target_inode) == (old.identity.stamps, 1810)
    assert over_final(old, announced(810, replaces="f" * 32)).act is Act.KEEP
    assert over_final(old, announced(810, replaces=None)).act is Act.KEEP
    assert over_final(old, None).act is Act.KEEP


def test_a_final_without_a_record_is_compared_by_its_content_in_the_act() -> None:
    assert over_final(seen(810, State.UNRECORDED), announced(810, replaces=ONE)).act is Act.FINISH


def test_a_final_that_somebody_writes_stays() -> None:
    item = over_final(seen(810, State.VERIFIED, held=True), announced(810, replaces=ONE))
    assert (item.act, item.guard) == (Act.SKIP, Guard.LIVE_WRITER)


@pytest.mark.parametrize(
    ("side", "origin", "command"), [(P, Origin.RESTORED, "`ckptdeck repair"), (M, Origin.MIRRORED, "mirror")]
)
def test_our_own_interrupted_replacement_is_left_to_its_command(side: Role, origin: Origin, command: str) -> None:
    item = over_final(seen(810, State.VERIFIED), announced(810, replaces=ONE, origin=origin), side=side)
    assert (item.act, command in item.reason) == (Act.KEEP, True)


def test_a_second_name_of_the_final_is_taken_away() -> None:
    linked = part(810, size=SIZE, inode=1810, age=1)
    final = seen(810, State.VERIFIED)
    (item,) = recover([final], linked).acting
    assert (item.act, dict(item.details)) == (Act.FINISH, {"mode": "linked-part", "part": "step_0810.pt.part"})
    assert final.identity is not None
    assert (item.stamps, item.inode) == (final.identity.stamps, 1810)


def test_a_part_that_nobody_can_complete_is_discarded() -> None:
    stale = part(820)
    plan = recover([seen(810, State.VERIFIED)], stale)
    (item,) = plan.acting
    assert (item.act, item.name, item.size) == (Act.DISCARD, name_of(820), SIZE // 2)
    assert (item.stamps, item.inode) == (part_stamps(stale), 77)
    assert dict(item.details) == {"mode": "part", "part": "step_0820.pt.part"}
    assert plan.frees == SIZE // 2


@pytest.mark.parametrize(("age", "guard"), [(299, Guard.AGE), (1.79e9, Guard.UNKNOWN_TIME), (-1000, Guard.FUTURE_TIME)])
def test_a_part_is_discarded_only_when_it_is_known_to_be_old(age: float, guard: Guard) -> None:
    item = item_of(recover([], part(820, age=age)), 820)
    assert (item.act, item.guard) == (Act.SKIP, guard)


@pytest.mark.parametrize("state", [FlightState.LIVE, FlightState.UNKNOWN])
@pytest.mark.parametrize("ours", [True, False])
def test_live_and_unknown_parts_stay(state: FlightState, ours: bool) -> None:
    assert item_of(recover([], part(820, state, ours=ours)), 820).act is Act.KEEP


@pytest.mark.parametrize("state", [FlightState.STALE, FlightState.READY])
def test_the_leftover_of_another_program_is_not_ours_to_remove(state: FlightState) -> None:
    item = item_of(recover([], part(820, state, ours=False)), 820)
    assert (item.act, "not ours to remove" in item.reason) == (Act.KEEP, True)


def test_a_direct_write_stays() -> None:
    plan = recover([seen(820, State.UNSAFE_WRITE)], replace(part(820, FlightState.LIVE), final_name=True))
    assert [item.act for item in plan.items] == [Act.KEEP]


def test_an_interrupted_copy_is_left_to_the_command_that_goes_on_with_it() -> None:
    survey = pair([seen(810, State.VERIFIED)], [], flights={M: [part(810)]})
    item = item_of(plan_recover(survey), 810, M)
    assert (item.act, "`ckptdeck mirror step_0810.pt` goes on with it" in item.reason) == (Act.KEEP, True)
    survey = pair([seen(810, State.VERIFIED)], [seen(810, State.CORRUPT)], flights={M: [part(810)]})
    assert "`ckptdeck repair step_0810.pt`" in item_of(plan_recover(survey), 810, M).reason


def test_a_copy_whose_source_is_gone_is_discarded() -> None:
    survey = pair([seen(820, State.VERIFIED)], [], flights={M: [part(810)]})
    assert (810, M, Act.DISCARD) in acts_of(plan_recover(survey))


# --- next records


def test_a_named_file_gets_the_record_that_was_announced() -> None:
    final = seen(810, State.VERIFIED, next_record=announced(810, SIZE))
    plan = recover([final])
    (item,) = plan.acting
    assert final.identity is not None
    assert (item.act, item.stamps, item.inode) == (Act.FINISH, final.identity.stamps, 1810)
    assert dict(item.details) == {"mode": "finish-record"}


@pytest.mark.parametrize("age", [1, DAY])
def test_a_young_final_is_finished_too(age: float) -> None:
    final = seen(810, State.UNRECORDED, age=age, next_record=announced(810, SIZE))
    assert recover([final]).acting[0].details["mode"] == "finish-record"


def test_an_announcement_whose_data_is_gone_is_dropped_and_the_old_file_stays() -> None:
    plan = recover([seen(810, State.VERIFIED, next_record=announced(810))])
    (item,) = plan.acting
    assert (item.act, dict(item.details)) == (Act.DISCARD, {"mode": "next-record"})
    assert plan.frees == 0


def test_a_young_announcement_may_be_of_a_live_publish() -> None:
    for final in (
        seen(810, State.VERIFIED, next_record=announced(810, recorded_at=NOW - 10)),
        seen(810, State.MISSING, next_record=announced(810, recorded_at=NOW - 10)),
    ):
        assert item_of(recover([final]), 810).guard == Guard.AGE


def test_an_announcement_without_any_data_is_dropped() -> None:
    plan = plan_recover(pair([], None, orphans={P: (name_of(820),)}))
    (item,) = plan.acting
    assert (item.name, item.act, dict(item.details)) == (name_of(820), Act.DISCARD, {"mode": "next-record"})


def test_a_part_decides_about_its_announcement() -> None:
    final = seen(810, State.VERIFIED, next_record=announced(810))
    assert [item.details["mode"] for item in recover([final], part(810)).acting] == ["part"]


# --- what cannot be believed


@pytest.mark.parametrize("condition", [Condition.NOT_MOUNTED, Condition.WRONG_SET, Condition.UNREADABLE])
def test_nothing_is_discarded_while_the_other_side_cannot_be_believed(condition: Condition) -> None:
    survey = pair(
        [seen(810, State.VERIFIED)],
        [],
        flights={P: [part(820), part(830, FlightState.READY)]},
        orphans={P: (name_of(840),)},
        conditions={M: condition},
    )
    plan = plan_recover(survey)
    assert acts_of(plan) == [(830, P, Act.FINISH)]
    assert {item_of(plan, step).guard for step in (820, 840)} == {condition.value}
    assert f"the mirror could not be looked at: mirror is {condition}" in plan.answer


def test_without_a_side_to_work_on_there_is_still_an_answer() -> None:
    survey = pair([seen(810, State.STRUCTURE_OK)], None, conditions={P: Condition.UNINITIALISED})
    plan = plan_recover(survey)
    assert plan.refused is not None
    assert (plan.refused.guard, plan.items) == (Guard.UNINITIALISED, ())
    assert "the best candidate is step 810 on the primary (structure-ok)" in plan.answer


# --- findings


@pytest.mark.parametrize(
    ("copy", "told"),
    [
        (seen(820, State.STRUCTURE_OK), "`ckptdeck adopt step_0820.pt`"),
        (seen(820, State.CHANGED), "`ckptdeck adopt step_0820.pt --replace`"),
        (seen(820, State.TRUNCATED), "there is no verified copy to repair it from"),
        (seen(820, State.MISSING), "no whole copy is left; the retention keeps it"),
        (seen(820, State.UNREADABLE), "unreadable: "),
        (seen(820, State.SUSPECT), "suspect: "),
    ],
)
def test_everything_else_that_is_not_well_stays_with_advice(copy: Sighting, told: str) -> None:
    plan = recover([copy, seen(810, State.VERIFIED)])
    item = item_of(plan, 820)
    assert (item.act, item.guard) == (Act.KEEP, None)
    assert told in item.reason


def test_gaps_in_what_the_retention_keeps_are_named() -> None:
    survey = pair([seen(820, State.VERIFIED), seen(810, State.MISSING)], [seen(810, State.VERIFIED)])
    plan = plan_recover(survey)
    assert "`ckptdeck mirror step_0820.pt` copies it" in item_of(plan, 820, M).reason
    survey = pair([seen(810, State.MISSING)], [seen(810, State.VERIFIED)])
    assert "whole on the mirror; the retention keeps it" in item_of(plan_recover(survey), 810, P).reason


def test_a_bad_copy_with_a_good_twin_is_sent_to_repair() -> None:
    plan = plan_recover(pair([seen(810, State.TRUNCATED)], [seen(810, State.VERIFIED)]))
    assert "`ckptdeck repair step_0810.pt` takes the mirror's" in item_of(plan, 810, P).reason


# --- the answer


def answer(survey: Survey) -> str:
    return plan_recover(survey).answer


def test_the_seed_case() -> None:
    """The launcher died in the middle of step 810, under its final name, and 800 is whole."""
    survey = pair([seen(810, State.TRUNCATED), seen(800, State.VERIFIED)], None)
    assert answer(survey) == (
        "resume from step 800 on the primary (step_0800.pt, verified 1h00m ago); steps lost: 810 (truncated)"
    )


def test_a_complete_part_means_that_nothing_is_lost() -> None:
    survey = pair([seen(800, State.VERIFIED)], None, flights={P: [part(810, FlightState.READY, size=SIZE)]})
    assert answer(survey).endswith("this plan finishes step 810 on the primary, then resume from it; no step is lost")


def test_a_discarded_part_is_a_lost_step_and_a_live_one_is_not() -> None:
    flights = {P: [part(810), part(820, FlightState.LIVE)]}
    survey = pair([seen(800, State.VERIFIED)], None, flights=flights)
    assert answer(survey).endswith("; steps lost: 810 (never finished)")


def test_what_may_still_be_proven_is_not_called_lost() -> None:
    survey = pair([seen(810, State.STRUCTURE_OK), seen(800, State.SIZE_ONLY)], None)
    assert answer(survey) == (
        "resume from step 800 on the primary (step_0800.pt, size-only; `ckptdeck resume` proves it first); "
        "newer and not proven: 810 (structure-ok); no step is lost"
    )


def test_the_mirror_answers_where_the_primary_cannot() -> None:
    assert answer(pair([seen(810, State.CORRUPT)], [seen(810, State.VERIFIED)])).startswith(
        "resume from step 810 on the mirror"
    )


def test_nothing_at_all_is_a_fresh_run() -> None:
    assert answer(pair([], [])).startswith("no checkpoint and no record: a fresh run")
    assert answer(pair([seen(810, State.CORRUPT)], [])).startswith("nothing is whole and there is no candidate")


# --- whatever is there

COPIES = st.sampled_from([s for s in State if s not in {State.REMOVED, State.ABSENT, State.INCOMPLETE, State.FOREIGN}])
SIDES = st.dictionaries(st.integers(1, 6), st.tuples(COPIES, st.sampled_from([None, SIZE, SIZE + 9])), max_size=6)
FLIGHTS = st.lists(
    st.tuples(
        st.integers(1, 6), st.sampled_from(FlightState), st.booleans(), st.sampled_from([1.0, DAY, -1000.0, 1.79e9])
    ),
    max_size=3,
    unique_by=lambda flight: flight[0],
)


@settings(max_examples=150, deadline=None)
@given(SIDES, SIDES, FLIGHTS, FLIGHTS, st.sampled_from([Condition.OK, Condition.NOT_MOUNTED]))
def test_whatever_is_there_recovery_removes_only_old_leftovers_of_our_own(
    primary: dict[int, tuple[State, int | None]],
    mirror: dict[int, tuple[State, int | None]],
    here: list[tuple[int, FlightState, bool, float]],
    there: list[tuple[int, FlightState, bool, float]],
    condition: Condition,
) -> None:
    def sightings(side: dict[int, tuple[State, int | None]]) -> list[Sighting]:
        return [
            seen(step, state, next_record=None if size is None else announced(step, size, replaces=ONE))
            for step, (state, size) in side.items()
        ]

    flights = {
        role: [part(step, state, ours=ours, age=age) for step, state, ours, age in found]
        for role, found in ((P, here), (M, there))
    }
    survey = pair(sightings(primary), sightings(mirror), flights=flights, conditions={M: condition})
    plan = plan_recover(survey)
    parts = {(role, flight.name): flight for role, found in flights.items() for flight in found}
    acted = [(item.side, item.name) for item in plan.acting]
    assert len(acted) == len(set(acted))
    for item in plan.acting:
        assert item.act in (Act.FINISH, Act.DISCARD)
        flight = parts.get((item.side, item.details.get("part", "")))
        if item.details["mode"] in ("part", "roll-forward"):
            assert flight is not None
            assert flight.ours
            assert item.stamps == part_stamps(flight)
        else:
            copy = survey.side(item.side)
            assert copy is not None
            final = copy.find(item.name)
            assert final is not None
            assert item.stamps == stamps_of(final)
        if item.act is Act.DISCARD:
            assert condition is Condition.OK
            if flight is not None:
                assert flight.state is FlightState.STALE
                assert ns(NOW) - flight.mtime_ns >= ns(300)
                assert flight.mtime_ns > ns(631_152_000)
    assert plan_recover(survey) == plan
