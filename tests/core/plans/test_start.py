"""Day one: what `A` plans over two bare directories."""

from __future__ import annotations

import pytest

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.plans.start import plan_start
from ckptdeck.core.states import Condition, Role, State
from tests.core.looks import GB
from tests.core.plans.scenes import SIZE, acts_of, all_seen, item_of, pair, seen

BARE = dict.fromkeys(Role, Condition.UNINITIALISED)


def test_forty_six_checkpoints_no_manifest_knows() -> None:
    survey = pair(all_seen(range(360, 820, 10), State.STRUCTURE_OK), conditions=BARE)
    plan = plan_start(survey)
    assert plan.refused is None
    assert plan.answer == "record and mirror 46 checkpoints: 114 GB, newest first"
    assert [item.step for item in plan.acting] == list(range(810, 350, -10))
    assert {(item.act, item.side) for item in plan.acting} == {(Act.COPY, Role.MIRROR)}
    assert all(item.details["mode"] == "start" for item in plan.acting)
    assert all(item.details["source"] == "candidate" for item in plan.acting)
    assert plan.needs == 46 * SIZE


def test_what_is_on_both_sides_is_recorded_on_both_and_what_is_on_one_is_copied_or_recorded() -> None:
    primary = [*all_seen((900, 800), State.STRUCTURE_OK), seen(850, State.TRUNCATED)]
    mirror = all_seen((800, 700), State.STRUCTURE_OK)
    plan = plan_start(pair(primary, mirror, conditions=BARE))
    assert acts_of(plan) == [
        (900, Role.MIRROR, Act.COPY),
        (800, Role.PRIMARY, Act.RECORD),
        (800, Role.MIRROR, Act.RECORD),
        (700, Role.MIRROR, Act.RECORD),
    ]
    assert item_of(plan, 850).guard == Guard.BAD
    assert plan.answer == "record and mirror 3 checkpoints: 7.41 GB, newest first"


def test_what_finds_no_room_is_recorded_where_it_is() -> None:
    survey = pair(all_seen((900, 800), State.STRUCTURE_OK), conditions=BARE, free=10 * GB + SIZE)
    plan = plan_start(survey)
    assert acts_of(plan) == [(900, Role.MIRROR, Act.COPY), (800, Role.PRIMARY, Act.RECORD)]
    assert item_of(plan, 800, Role.MIRROR).guard == Guard.NO_SPACE
    assert plan.refused is None


def test_the_seed_twins_are_left_to_the_operator() -> None:
    primary, mirror = [seen(810, State.UNRECORDED)], [seen(810, State.UNRECORDED, size=1_820_000_000)]
    plan = plan_start(pair(primary, mirror, conditions=BARE))
    assert plan.acting == ()
    assert [item.guard for item in plan.items if item.guard == Guard.TWINS_DIFFER] == [Guard.TWINS_DIFFER] * 2
    assert plan.answer == "nothing to record or to mirror"


def test_the_newest_save_still_young_waits() -> None:
    plan = plan_start(pair([seen(820, State.STRUCTURE_OK, age=40), seen(810, State.STRUCTURE_OK)], conditions=BARE))
    assert [item.step for item in plan.acting] == [810]
    assert item_of(plan, 820).guard == Guard.AGE


def test_one_directory_alone_is_only_recorded() -> None:
    plan = plan_start(pair([seen(810, State.STRUCTURE_OK)], None, conditions={Role.PRIMARY: Condition.UNINITIALISED}))
    assert acts_of(plan) == [(810, Role.PRIMARY, Act.RECORD)]
    assert plan.answer == "record 1 checkpoint: 2.47 GB, newest first"


@pytest.mark.parametrize(
    "condition", [Condition.NOT_MOUNTED, Condition.WRONG_SET, Condition.TWO_CONTROLS, Condition.UNREADABLE]
)
def test_a_side_that_cannot_be_believed_is_no_place_to_start(condition: Condition) -> None:
    plan = plan_start(pair([seen(810, State.STRUCTURE_OK)], conditions={**BARE, Role.MIRROR: condition}))
    assert plan.refused is not None
    assert (plan.refused.guard, plan.items) == (condition.value, ())


def test_no_name_is_acted_on_twice_on_one_side() -> None:
    states = [State.STRUCTURE_OK, State.UNRECORDED, State.VERIFIED, State.SIZE_ONLY, State.SUSPECT, State.CORRUPT]
    primary = [seen(10 * i + j, a) for i, a in enumerate(states) for j, _ in enumerate(states)]
    mirror = [seen(10 * i + j, b) for i, _ in enumerate(states) for j, b in enumerate(states)]
    plan = plan_start(pair(primary, mirror))
    acted = [(item.name, item.side) for item in plan.acting]
    assert len(acted) == len(set(acted))
