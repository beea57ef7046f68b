"""One plan for everything a crash left: the items of four planners, none invented and none twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.core.plans.mend import plan_mend
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.plans.restore import plan_restore
from ckptdeck.core.states import Condition, FlightState, Role, State
from tests.core.looks import GB
from tests.core.plans.scenes import SIZE, acts_of, item_of, pair, part, seen

P, M = Role.PRIMARY, Role.MIRROR


def test_what_is_finished_comes_before_what_takes_time() -> None:
    survey = pair(
        [seen(840, State.MISSING), seen(820, State.VERIFIED), seen(800, State.VERIFIED), seen(790, State.CORRUPT)],
        [seen(840, State.VERIFIED), seen(800, State.TRUNCATED), seen(790, State.VERIFIED)],
        flights={P: [part(830, FlightState.READY, size=SIZE)], M: [part(820)]},
    )
    plan = plan_mend(survey)
    assert acts_of(plan) == [
        (830, P, Act.FINISH),
        (840, P, Act.COPY),
        (790, P, Act.REPAIR),
        (800, M, Act.REPAIR),
        (820, M, Act.COPY),
    ]
    assert item_of(plan, 820, M).details["part"].endswith(".part")
    assert plan.needs == 3 * SIZE + SIZE - SIZE // 2
    assert plan.answer.endswith(
        "; then repairs 2, brings 1 checkpoint back, copies 1 checkpoint to the mirror (8.64 GB to write)"
    )


def test_without_anything_to_copy_it_is_the_recovery_alone() -> None:
    survey = pair([seen(810, State.VERIFIED)], [seen(810, State.VERIFIED)], flights={P: [part(820)]})
    assert plan_mend(survey).items == plan_recover(survey).items
    assert plan_mend(survey).answer == plan_recover(survey).answer


def test_a_side_that_is_not_ready_leaves_the_recovery_of_the_other() -> None:
    survey = pair(
        [seen(810, State.VERIFIED)],
        [],
        flights={P: [part(820, FlightState.READY)]},
        conditions={M: Condition.NOT_MOUNTED},
    )
    assert acts_of(plan_mend(survey)) == [(820, P, Act.FINISH)]
    alone = pair([seen(810, State.TRUNCATED)], None)
    assert plan_mend(alone).items == plan_recover(alone).items


def test_what_a_guard_holds_back_says_so_instead_of_naming_the_command() -> None:
    survey = pair([seen(810, State.VERIFIED)], [seen(810, State.TRUNCATED, age=40)])
    item = item_of(plan_mend(survey), 810, M)
    assert item.act is Act.SKIP
    assert item.guard == "age-guard"


def test_repairs_and_copies_share_the_room() -> None:
    survey = pair(
        [seen(820, State.VERIFIED), seen(810, State.VERIFIED)], [seen(810, State.TRUNCATED)], free=10 * GB + SIZE
    )
    plan = plan_mend(survey)
    assert acts_of(plan) == [(810, M, Act.REPAIR)]
    assert item_of(plan, 820, M).guard == "no-space"


def test_what_its_copy_records_is_not_left_to_adopt() -> None:
    plan = plan_mend(pair([seen(820, State.VERIFIED), seen(810, State.STRUCTURE_OK)], [seen(820, State.VERIFIED)]))
    assert [(item.step, item.side, item.act) for item in plan.items] == [(810, M, Act.COPY)]


STATES = st.sampled_from([s for s in State if s not in {State.REMOVED, State.ABSENT, State.INCOMPLETE, State.FOREIGN}])
SIDES = st.dictionaries(st.integers(1, 6), STATES, max_size=6)
FLIGHTS = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(FlightState), st.booleans()),
    max_size=3,
    unique_by=lambda flight: flight[0],
)


@settings(max_examples=100, deadline=None)
@given(SIDES, SIDES, FLIGHTS, FLIGHTS)
def test_whatever_is_there_it_does_what_one_of_the_commands_would_do(
    primary: dict[int, State],
    mirror: dict[int, State],
    here: list[tuple[int, FlightState, bool]],
    there: list[tuple[int, FlightState, bool]],
) -> None:
    flights = {
        role: [part(step, state, ours=ours) for step, state, ours in found] for role, found in ((P, here), (M, there))
    }
    survey = pair([seen(*one) for one in primary.items()], [seen(*one) for one in mirror.items()], flights=flights)
    plan = plan_mend(survey)
    offered = [
        item
        for each in (plan_recover(survey), plan_repair(survey), plan_restore(survey), plan_mirror(survey))
        for item in each.acting
    ]
    assert all(item in offered for item in plan.acting)
    acted = [(item.side, item.name) for item in plan.acting]
    assert len(acted) == len(set(acted))
    assert [item.acts for item in plan.items] == sorted((item.acts for item in plan.items), reverse=True)


@pytest.mark.parametrize("state", [State.SUSPECT, State.CORRUPT])
def test_a_lone_bad_copy_keeps_its_place(state: State) -> None:
    plan = plan_mend(pair([seen(810, state)], []))
    assert plan.acting == ()
