"""The bad copy from the good one: which side, from what, and what stops it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.items import stamps_of
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Condition, FlightState, Role, State
from tests.core.looks import GB, ONE
from tests.core.plans.scenes import SIZE, acts_of, item_of, name_of, pair, part, seen

WHOLE = seen(810, State.VERIFIED)


def on(side: Role, bad: Sighting, good: Sighting, **how: Any) -> Survey:
    return pair([bad], [good], **how) if side is Role.PRIMARY else pair([good], [bad], **how)


@pytest.mark.parametrize("side", list(Role))
@pytest.mark.parametrize("state", [State.TRUNCATED, State.CORRUPT, State.SUSPECT])
def test_the_bad_side_is_repaired_from_the_verified_one(side: Role, state: State) -> None:
    survey = on(side, seen(810, state), WHOLE)
    plan = plan_repair(survey)
    (item,) = plan.items
    bad, good = survey.steps[0].on(side), survey.steps[0].on(side.other)
    assert bad is not None
    assert good is not None
    assert (item.act, item.side, item.size) == (Act.REPAIR, side, SIZE)
    assert (item.stamps, item.target) == (stamps_of(good), stamps_of(bad))
    assert (item.inode, item.target_inode) == (1810, 1810)
    assert dict(item.details) == {"from": str(side.other), "source": "recorded", "expect": ONE}
    assert (plan.needs, plan.refused) == (SIZE, None)
    assert plan.answer == "repair 1 checkpoint: 2.47 GB to copy"


@pytest.mark.parametrize(
    ("good", "told"),
    [
        (State.SIZE_ONLY, "`ckptdeck verify step_0810.pt`"),
        (State.STRUCTURE_OK, "`ckptdeck adopt step_0810.pt`"),
        (State.CORRUPT, "the mirror's is corrupt too"),
        (State.MISSING, "no other copy"),
    ],
)
def test_nothing_less_than_a_verified_copy_is_taken(good: State, told: str) -> None:
    plan = plan_repair(pair([seen(810, State.TRUNCATED)], [seen(810, good)]))
    item = item_of(plan, 810, Role.PRIMARY)
    assert (item.act, item.guard) == (Act.SKIP, Guard.NO_GOOD_COPY)
    assert told in item.reason
    assert plan.acting == ()


@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"age": 10}, Guard.AGE),
        ({"age": 1.79e9}, Guard.UNKNOWN_TIME),
        ({"age": -1000}, Guard.FUTURE_TIME),
        ({"pinned": "paper"}, Guard.PINNED),
        ({"pointed_at_by": "latest"}, Guard.POINTER_TARGET),
    ],
)
def test_the_bad_copy_has_the_protection_of_invariant_2(changes: dict[str, Any], guard: Guard) -> None:
    plan = plan_repair(pair([WHOLE], [seen(810, State.SUSPECT, **changes)]))
    assert item_of(plan, 810).guard == guard


def test_a_link_in_the_place_of_a_recorded_file_is_not_replaced() -> None:
    plan = plan_repair(pair([WHOLE], [seen(810, State.SIZE_ONLY, link="/other")]))
    assert item_of(plan, 810).guard == Guard.SYMLINK


def test_a_pin_of_the_good_copy_protects_the_bad_one() -> None:
    plan = plan_repair(pair([replace(WHOLE, pinned="")], [seen(810, State.CORRUPT)]))
    assert item_of(plan, 810).guard == Guard.PINNED
    assert "`ckptdeck unpin step_0810.pt`" in item_of(plan, 810).reason


def test_what_somebody_writes_is_no_case_for_repair() -> None:
    assert plan_repair(pair([seen(810, State.UNSAFE_WRITE)], [WHOLE])).items == ()
    survey = pair([WHOLE], [seen(810, State.CORRUPT)], flights={Role.PRIMARY: [part(810, FlightState.LIVE)]})
    item = item_of(plan_repair(survey), 810)
    assert (item.guard, "the primary's copy cannot be read now" in item.reason) == (Guard.IN_FLIGHT, True)


def test_what_the_trainer_wrote_again_is_never_repaired() -> None:
    survey = pair([seen(810, State.CHANGED)], [WHOLE])
    assert plan_repair(survey).items == ()
    assert item_of(plan_repair(survey, (name_of(810),)), 810).act is Act.KEEP


def test_a_named_whole_step_says_that_nothing_is_to_do() -> None:
    plan = plan_repair(pair([WHOLE], [WHOLE]), (name_of(810),))
    assert item_of(plan, 810).reason == "nothing to repair: verified on the primary and verified on the mirror"


def test_an_interrupted_repair_goes_on() -> None:
    survey = on(Role.MIRROR, seen(810, State.CORRUPT), WHOLE, flights={Role.MIRROR: [part(810, size=SIZE - 7)]})
    plan = plan_repair(survey)
    assert plan.items[0].details["part"] == "step_0810.pt.part"
    assert plan.needs == 7


def test_room_is_needed_because_the_bad_copy_stays_in_quarantine() -> None:
    plan = plan_repair(on(Role.MIRROR, seen(810, State.CORRUPT), WHOLE, free=0))
    assert plan.refused is not None
    assert plan.refused.guard == Guard.NO_SPACE


def test_both_directions_fit_into_one_plan_newest_first() -> None:
    primary = [seen(900, State.CORRUPT), seen(800, State.VERIFIED)]
    mirror = [seen(900, State.VERIFIED), seen(800, State.TRUNCATED)]
    assert acts_of(plan_repair(pair(primary, mirror))) == [
        (900, Role.PRIMARY, Act.REPAIR),
        (800, Role.MIRROR, Act.REPAIR),
    ]


@pytest.mark.parametrize(("shared", "steps"), [(False, [900, 800]), (True, [900])])
def test_both_directions_share_the_room_of_one_device(shared: bool, steps: list[int]) -> None:
    primary = [seen(900, State.CORRUPT), seen(800, State.VERIFIED)]
    mirror = [seen(900, State.VERIFIED), seen(800, State.TRUNCATED)]
    plan = plan_repair(pair(primary, mirror, free=10 * GB + SIZE, shared=shared))
    assert [item.step for item in plan.acting] == steps


@pytest.mark.parametrize("condition", [c for c in Condition if c is not Condition.OK])
def test_both_sides_are_needed(condition: Condition) -> None:
    plan = plan_repair(pair([WHOLE], [], conditions={Role.MIRROR: condition}))
    assert plan.refused is not None
    assert plan.refused.guard == condition.value
    alone = plan_repair(pair([WHOLE], None))
    assert alone.refused is not None
    assert alone.refused.guard == Guard.NO_MIRROR
