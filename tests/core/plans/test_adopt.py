"""What is recorded in place, how the two sides are held against each other, and why the rest is not."""

from __future__ import annotations

from typing import Any

import pytest

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.adopt import plan_adopt
from ckptdeck.core.plans.items import stamps_of
from ckptdeck.core.plans.plan import Act, Plan
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Condition, FlightState, Role, State, Structure
from tests.core.looks import ONE, record, structure
from tests.core.plans.scenes import SIZE, acts_of, all_seen, item_of, name_of, pair, part, seen

BOTH = (Role.PRIMARY, Role.MIRROR)


def adopt(primary: list[Sighting], mirror: list[Sighting] | None = None, *names: str, **how: Any) -> Plan:
    return plan_adopt(pair(primary, [] if mirror is None else mirror), names, **how)


def test_a_candidate_on_one_side_is_recorded_with_all_the_executor_needs() -> None:
    survey = pair([seen(810, State.STRUCTURE_OK)])
    plan = plan_adopt(survey)
    (item,) = plan.items
    source = survey.primary.find(name_of(810))
    assert source is not None
    assert (item.act, item.side, item.step, item.size) == (Act.RECORD, Role.PRIMARY, 810, SIZE)
    assert (item.stamps, item.inode, item.target) == (stamps_of(source), 1810, ())
    assert dict(item.details) == {"source": "adopt"}
    assert plan.answer == "record 1 checkpoint: 2.47 GB to read"


@pytest.mark.parametrize(
    ("copy", "act", "guard"),
    [
        (seen(810, State.UNRECORDED), Act.RECORD, None),
        (seen(810, State.STRUCTURE_OK, age=299), Act.SKIP, Guard.AGE),
        (seen(810, State.STRUCTURE_OK, age=1.79e9), Act.SKIP, Guard.UNKNOWN_TIME),
        (seen(810, State.STRUCTURE_OK, age=-1000), Act.SKIP, Guard.FUTURE_TIME),
        (seen(810, State.UNSAFE_WRITE), Act.SKIP, Guard.LIVE_WRITER),
        (seen(810, State.UNREADABLE), Act.KEEP, None),
        (seen(810, State.SUSPECT), Act.SKIP, Guard.SUSPECT),
        (seen(810, State.CHANGED), Act.SKIP, Guard.CHANGED),
        (seen(810, State.VERIFIED), Act.KEEP, None),
        (seen(810, State.SIZE_ONLY), Act.KEEP, None),
        (seen(810, State.CORRUPT), Act.KEEP, None),
        (seen(810, State.RETIRED), Act.KEEP, None),
        (seen(810, State.VERIFIED, link="/other/step_0810.pt"), Act.SKIP, Guard.SYMLINK),
        (seen(810, State.STRUCTURE_OK, next_record=record(size=SIZE + 1)), Act.SKIP, Guard.INTERRUPTED),
    ],
)
def test_what_may_be_recorded(copy: Sighting, act: Act, guard: Guard | None) -> None:
    (item,) = adopt([copy]).items
    assert (item.act, item.guard) == (act, guard)
    assert item.reason


def test_bad_structure_is_never_recorded_even_when_asked_for() -> None:
    for what in (Structure.CUT, Structure.BROKEN):
        broken = seen(810, State.UNRECORDED, structure=structure(what))
        (item,) = adopt([broken], [], name_of(810), side=Role.PRIMARY).items
        assert (item.act, item.guard) == (Act.SKIP, Guard.BAD)


def test_a_save_under_way_stops_the_record_of_its_name() -> None:
    survey = pair([seen(810, State.STRUCTURE_OK)], flights={Role.PRIMARY: [part(810, FlightState.LIVE)]})
    assert item_of(plan_adopt(survey), 810).guard == Guard.IN_FLIGHT


# --- two sides


def test_twins_of_one_size_are_recorded_together() -> None:
    plan = adopt([seen(810, State.STRUCTURE_OK)], [seen(810, State.STRUCTURE_OK)])
    assert acts_of(plan) == [(810, role, Act.RECORD) for role in BOTH]
    assert [item.details["twin"] for item in plan.items] == ["mirror", "primary"]
    assert "record 1 checkpoint: 4.94 GB to read" in plan.answer


def test_the_seed_case_of_differing_twins_is_decided_by_a_side() -> None:
    primary, mirror = [seen(810, State.UNRECORDED)], [seen(810, State.UNRECORDED, size=1_820_000_000)]
    plan = adopt(primary, mirror)
    assert [(item.side, item.guard) for item in plan.items] == [(role, Guard.TWINS_DIFFER) for role in BOTH]
    for item in plan.items:
        assert "2470000000 bytes (2.47 GB)" in item.reason
        assert "1820000000 bytes (1.82 GB)" in item.reason
        assert f"`ckptdeck adopt step_0810.pt --side {item.side}`" in item.reason
    plan = adopt(primary, mirror, name_of(810), side=Role.PRIMARY)
    (item,) = plan.items
    assert (item.act, item.side, item.details["chosen"]) == (Act.RECORD, Role.PRIMARY, "true")
    assert plan.options == {"side": "primary"}


def test_a_side_alone_does_not_vouch_for_every_doubtful_copy() -> None:
    primary, mirror = [seen(810, State.UNRECORDED)], [seen(810, State.UNRECORDED, size=1_820_000_000)]
    assert adopt(primary, mirror, side=Role.PRIMARY).acting == ()


def test_a_copy_must_be_what_the_other_sides_record_says() -> None:
    """A control directory that was lost: the other side's records tell."""
    (item, other) = adopt([seen(810, State.STRUCTURE_OK)], [seen(810, State.VERIFIED)]).items
    assert (item.act, item.details["expect"]) == (Act.RECORD, ONE)
    assert (other.act, other.side) == (Act.KEEP, Role.MIRROR)
    plan = adopt([seen(810, State.STRUCTURE_OK, size=SIZE - 1)], [seen(810, State.VERIFIED)])
    assert item_of(plan, 810, Role.PRIMARY).guard == Guard.TWINS_DIFFER


def test_the_record_counts_even_where_its_file_is_gone() -> None:
    plan = adopt([seen(810, State.STRUCTURE_OK)], [seen(810, State.MISSING)])
    assert item_of(plan, 810).details["expect"] == ONE


@pytest.mark.parametrize("state", [State.UNSAFE_WRITE, State.UNREADABLE])
def test_a_twin_that_cannot_be_compared_stops_the_other(state: State) -> None:
    twin = seen(810, state, record=None)
    plan = adopt([seen(810, State.STRUCTURE_OK)], [twin])
    assert item_of(plan, 810, Role.PRIMARY).act is Act.SKIP
    chosen = adopt([seen(810, State.STRUCTURE_OK)], [twin], name_of(810), side=Role.PRIMARY)
    assert item_of(chosen, 810).act is Act.RECORD


def test_a_young_twin_stops_both() -> None:
    plan = adopt([seen(810, State.STRUCTURE_OK)], [seen(810, State.STRUCTURE_OK, age=10)])
    assert [item.guard for item in plan.items] == [Guard.AGE, Guard.AGE]


# --- replace


def test_what_changed_is_recorded_again_on_request() -> None:
    changed = seen(810, State.CHANGED, digest=ONE)
    plan = adopt([changed], [seen(810, State.VERIFIED)], replace=True)
    item = item_of(plan, 810, Role.PRIMARY)
    assert (item.act, dict(item.details)) == (Act.RECORD, {"source": "adopt", "replaces": ONE})
    assert plan.options == {"replace": "true"}
    young = adopt([seen(810, State.CHANGED, age=10)], replace=True)
    assert item_of(young, 810).guard == Guard.AGE


def test_replace_records_nothing_else_again() -> None:
    assert adopt(all_seen((810, 800), State.VERIFIED), replace=True).acting == ()


# --- whole plans


def test_items_are_in_order_newest_first_and_then_what_stays() -> None:
    plan = adopt([seen(900, State.VERIFIED), *all_seen((800, 700), State.UNRECORDED)])
    assert [(item.step, item.act) for item in plan.items] == [
        (800, Act.RECORD),
        (700, Act.RECORD),
        (900, Act.KEEP),
    ]


@pytest.mark.parametrize("condition", [c for c in Condition if c is not Condition.OK])
def test_a_side_that_is_not_what_it_should_be_refuses_unless_the_other_is_named(condition: Condition) -> None:
    survey = pair([seen(810, State.STRUCTURE_OK)], [], conditions={Role.MIRROR: condition})
    plan = plan_adopt(survey)
    assert plan.refused is not None
    assert plan.refused.guard == condition.value
    named = plan_adopt(survey, side=Role.PRIMARY)
    assert (named.refused, acts_of(named)) == (None, [(810, Role.PRIMARY, Act.RECORD)])


def test_one_set_alone_is_adopted_too() -> None:
    assert acts_of(plan_adopt(pair([seen(810, State.STRUCTURE_OK)], None))) == [(810, Role.PRIMARY, Act.RECORD)]
