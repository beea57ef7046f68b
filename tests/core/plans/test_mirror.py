"""What is copied to the mirror, in which order, and why the rest is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.items import stamps_of
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import InFlight, Sighting
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, Condition, FlightState, Kind, Role, State
from tests.core.looks import DAY, GB, ONE, OTHER, record
from tests.core.plans.scenes import SIZE, acts_of, all_seen, item_of, name_of, pair, part, seen


def only(survey: Survey, step: int = 810, **how: Any) -> PlanItem:
    return item_of(plan_mirror(survey, **how), step)


def test_a_verified_step_that_is_not_there_is_copied_with_all_the_executor_needs() -> None:
    survey = pair([seen(810, State.VERIFIED)])
    source = survey.primary.find(name_of(810))
    assert source is not None
    plan = plan_mirror(survey)
    item = plan.items[0]
    assert (item.act, item.side, item.step, item.size) == (Act.COPY, Role.MIRROR, 810, SIZE)
    assert (item.stamps, item.inode) == (stamps_of(source), 1810)
    assert (item.target, item.target_inode) == ((), None)
    assert dict(item.details) == {"from": "primary", "source": "recorded"}
    assert (plan.needs, plan.refused) == (SIZE, None)
    assert plan.answer == "copy 1 checkpoint to the mirror: 2.47 GB, newest first"


@pytest.mark.parametrize(
    ("copy", "word", "guard"),
    [
        (seen(810, State.SIZE_ONLY, age=1), "recorded", None),
        (seen(810, State.STRUCTURE_OK), "candidate", None),
        (seen(810, State.UNRECORDED), "candidate", None),
        (seen(810, State.STRUCTURE_OK, age=299), None, Guard.AGE),
        (seen(810, State.UNRECORDED, age=1.79e9), None, Guard.UNKNOWN_TIME),
        (seen(810, State.STRUCTURE_OK, age=-1000), None, Guard.FUTURE_TIME),
        (seen(810, State.SIZE_ONLY, held=True), None, Guard.LIVE_WRITER),
        (seen(810, State.TRUNCATED), None, Guard.BAD),
        (seen(810, State.CORRUPT), None, Guard.BAD),
        (seen(810, State.SUSPECT), None, Guard.SUSPECT),
        (seen(810, State.CHANGED), None, Guard.CHANGED),
        (seen(810, State.UNREADABLE), None, Guard.UNREADABLE),
        (seen(810, State.SIZE_ONLY, link="/other/step_0810.pt"), None, Guard.SYMLINK),
        (
            seen(810, State.STRUCTURE_OK, next_record=record(name_of(810), SIZE + 1, step=810)),
            None,
            Guard.INTERRUPTED,
        ),
    ],
)
def test_which_sources_may_be_read(copy: Sighting, word: str | None, guard: Guard | None) -> None:
    item = only(pair([copy]))
    assert item.guard == guard
    assert item.details.get("source") == word
    assert item.act is (Act.COPY if guard is None else Act.SKIP)
    assert item.reason


@pytest.mark.parametrize(
    ("copy", "act", "guard"),
    [
        (seen(810, State.VERIFIED), Act.KEEP, None),
        (seen(810, State.SIZE_ONLY), Act.KEEP, None),
        (seen(810, State.STRUCTURE_OK), Act.SKIP, Guard.NEEDS_ADOPT),
        (seen(810, State.TRUNCATED), Act.SKIP, Guard.NEEDS_REPAIR),
        (seen(810, State.CORRUPT), Act.SKIP, Guard.NEEDS_REPAIR),
        (seen(810, State.SUSPECT), Act.SKIP, Guard.NEEDS_REPAIR),
        (seen(810, State.UNREADABLE), Act.SKIP, Guard.UNREADABLE),
        (seen(810, State.UNSAFE_WRITE), Act.SKIP, Guard.LIVE_WRITER),
        (seen(810, State.UNRECORDED, kind=Kind.DIRECTORY, family="foreign"), Act.SKIP, Guard.FOREIGN),
        (seen(810, State.UNRECORDED, link="/other"), Act.SKIP, Guard.SYMLINK),
        (seen(810, State.VERIFIED, digest=OTHER), Act.SKIP, Guard.DIVERGED),
        (seen(810, State.MISSING), Act.COPY, None),
    ],
)
def test_what_has_the_name_on_the_mirror_is_never_copied_over(copy: Sighting, act: Act, guard: Guard | None) -> None:
    item = only(pair([seen(810, State.VERIFIED)], [copy]))
    assert (item.act, item.guard) == (act, guard)


def test_the_wrong_copy_is_told_its_repair() -> None:
    reason = only(pair([seen(810, State.VERIFIED)], [seen(810, State.TRUNCATED)])).reason
    assert "1.24 of 2.47 GB" in reason or "1.23 of 2.47 GB" in reason
    assert "`ckptdeck repair step_0810.pt`" in reason
    reason = only(pair([seen(810, State.SIZE_ONLY)], [seen(810, State.TRUNCATED)])).reason
    assert "`ckptdeck verify step_0810.pt`, then `ckptdeck repair step_0810.pt`" in reason


def test_a_rotten_source_leaves_the_good_mirror_copy_and_names_the_repair() -> None:
    item = only(pair([seen(810, State.CORRUPT)], [seen(810, State.VERIFIED)]))
    assert (item.act, item.guard) == (Act.SKIP, Guard.BAD)
    assert "`ckptdeck repair step_0810.pt` takes the mirror's" in item.reason


def test_only_what_the_retention_would_keep_is_copied_newest_first() -> None:
    survey = pair(all_seen(range(100, 1000, 100), State.STRUCTURE_OK), policy=Policy(keep_last=3))
    plan = plan_mirror(survey)
    assert acts_of(plan) == [(step, Role.MIRROR, Act.COPY) for step in (900, 800, 700)]
    assert "number 1 of the last 3 whole steps" in plan.items[0].reason
    assert item_of(plan, 600).act is Act.KEEP
    assert "`--all`" in item_of(plan, 600).reason
    assert len(plan.items) == 9


def test_what_counts_already_leaves_no_place_for_older_ones() -> None:
    """Else mirror and prune chase each other."""
    primary = all_seen(range(100, 600, 100), State.VERIFIED)
    survey = pair(primary, all_seen((500, 400), State.VERIFIED), policy=Policy(keep_last=3))
    assert acts_of(plan_mirror(survey)) == [(300, Role.MIRROR, Act.COPY)]


def test_all_and_names_override_the_retention() -> None:
    survey = pair(all_seen(range(100, 600, 100), State.VERIFIED), policy=Policy(keep_last=1))
    plan = plan_mirror(survey, all_steps=True)
    assert [item.step for item in plan.acting] == [500, 400, 300, 200, 100]
    assert plan.options == {"all": "true"}
    plan = plan_mirror(survey, (name_of(200), name_of(400)))
    assert [item.step for item in plan.items] == [400, 200]
    assert plan.names == (name_of(200), name_of(400))
    assert all(item.acts for item in plan.items)


def test_what_was_removed_from_the_mirror_on_purpose_comes_back_by_name_only() -> None:
    mirror = [seen(900, State.VERIFIED), seen(800, State.MISSING)]
    survey = pair(all_seen((900, 800), State.VERIFIED), mirror)
    assert only(survey, 800).act is Act.KEEP
    assert only(survey, 800, names=(name_of(800),)).act is Act.COPY


def test_a_name_that_is_nowhere_is_a_usage_error_and_a_foreign_one_is_skipped() -> None:
    survey = pair([seen(None, State.FOREIGN, name="notes.txt")])
    with pytest.raises(UsageError, match=r"notes\.md"):
        plan_mirror(survey, ("notes.md",))
    (item,) = plan_mirror(survey, ("notes.txt",)).items
    assert (item.act, item.guard) == (Act.SKIP, Guard.FOREIGN)


def test_a_step_that_is_being_written_is_shown_as_that() -> None:
    item = only(pair([], flights={Role.PRIMARY: [part(810, FlightState.LIVE)]}))
    assert (item.act, "still being written" in item.reason) == (Act.KEEP, True)


def test_a_step_that_is_being_saved_again_waits() -> None:
    survey = pair([seen(810, State.VERIFIED)], flights={Role.PRIMARY: [part(810, FlightState.LIVE)]})
    assert only(survey).guard == Guard.IN_FLIGHT


@pytest.mark.parametrize("state", [FlightState.LIVE, FlightState.UNKNOWN])
def test_a_copy_under_way_is_left_alone(state: FlightState) -> None:
    survey = pair([seen(810, State.VERIFIED)], flights={Role.MIRROR: [part(810, state)]})
    assert only(survey).guard == Guard.IN_FLIGHT


def test_interrupted_copies_come_first_and_their_bytes_are_paid() -> None:
    survey = pair(all_seen((900, 800, 700), State.VERIFIED), flights={Role.MIRROR: [part(700, size=2_000_000_000)]})
    plan = plan_mirror(survey)
    assert [item.step for item in plan.acting] == [700, 900, 800]
    first = plan.acting[0]
    assert first.details["part"] == f"{name_of(700)}.part"
    assert (first.details["part_size"], first.details["part_inode"]) == ("2000000000", "77")
    assert "2.00 GB of 2.47 GB" in first.reason
    assert plan.needs == 2 * SIZE + 470_000_000


def test_a_part_of_another_program_is_not_continued() -> None:
    survey = pair([seen(810, State.VERIFIED)], flights={Role.MIRROR: [part(810, ours=False)]})
    item = only(survey)
    assert item.act is Act.COPY
    assert "part" not in item.details


# --- diverged


def diverged(**changes: Any) -> Survey:
    return pair(
        [seen(810, State.VERIFIED, digest=ONE, **changes)],
        [seen(810, State.VERIFIED, digest=OTHER, size=SIZE + 5, **changes)],
    )


def test_a_diverged_copy_is_replaced_only_by_name_and_with_replace() -> None:
    survey = diverged()
    for how in ({}, {"replace": True}, {"names": (name_of(810),)}, {"replace": True, "all_steps": True}):
        assert only(survey, **how).guard == Guard.DIVERGED
    plan = plan_mirror(survey, (name_of(810),), replace=True)
    (item,) = plan.acting
    assert survey.mirror is not None
    old = survey.mirror.find(name_of(810))
    assert old is not None
    assert (item.act, item.target, item.target_inode) == (Act.COPY, stamps_of(old), 1810)
    assert item.target != item.stamps
    assert item.details["replace"] == "true"
    assert plan.options == {"replace": "true"}


@pytest.mark.parametrize(("changes", "guard"), [({"pinned": "x"}, Guard.PINNED), ({"age": 10}, Guard.AGE)])
def test_a_replacement_respects_the_list_of_invariant_2(changes: dict[str, Any], guard: Guard) -> None:
    assert only(diverged(**changes), names=(name_of(810),), replace=True).guard == guard


# --- room


def test_the_case_of_a_mirror_with_less_than_one_checkpoint_left() -> None:
    """C2: 2.40 GB beside the reserve, 2.47 GB needed."""
    plan = plan_mirror(pair([seen(810, State.VERIFIED)], free=12_400_000_000))
    assert plan.refused is not None
    assert plan.refused.guard == Guard.NO_SPACE
    assert "2.40 GB are left on the mirror beside the reserve of 10.0 GB" in plan.refused.text
    assert plan.acting == ()
    assert plan.needs == SIZE


def test_what_does_not_fit_is_skipped_and_says_what_is_beyond_the_retention() -> None:
    steps = all_seen(range(100, 700, 100), State.VERIFIED)
    policy = Policy(keep_last=2)
    survey = pair(steps, all_seen((400, 300, 200, 100), State.VERIFIED), policy=policy, free=10 * GB + SIZE)
    plan = plan_mirror(survey)
    assert [item.step for item in plan.acting] == [600]
    skipped = item_of(plan, 500)
    assert (skipped.act, skipped.guard, skipped.details) == (Act.SKIP, Guard.NO_SPACE, {})
    assert "4.94 GB there are beyond the retention" in skipped.reason
    assert (plan.refused, plan.needs) == (None, SIZE)


def test_an_interrupted_copy_fits_where_a_new_one_would_not() -> None:
    steps = all_seen((900, 800), State.VERIFIED)
    flights = {Role.MIRROR: [part(800, size=SIZE - GB)]}
    plan = plan_mirror(pair(steps, flights=flights, free=12 * GB))
    assert [item.step for item in plan.acting] == [800]
    assert item_of(plan, 900).guard == Guard.NO_SPACE


@pytest.mark.parametrize(("shared", "steps"), [(False, [900, 800]), (True, [900])])
def test_what_the_trainer_still_writes_on_the_same_device_is_kept_free(shared: bool, steps: list[int]) -> None:
    flights = {Role.PRIMARY: [part(950, FlightState.LIVE, size=0)]}
    survey = pair(all_seen((900, 800), State.VERIFIED), flights=flights, free=10 * GB + 2 * SIZE, shared=shared)
    assert [item.step for item in plan_mirror(survey).acting] == steps


# --- whole plans


def test_without_a_mirror_there_is_no_plan() -> None:
    plan = plan_mirror(pair([seen(810, State.VERIFIED)], None))
    assert plan.refused is not None
    assert (plan.refused.guard, plan.items) == (Guard.NO_MIRROR, ())


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("condition", [c for c in Condition if c is not Condition.OK])
def test_a_side_that_is_not_what_it_should_be_refuses_the_plan(role: Role, condition: Condition) -> None:
    plan = plan_mirror(pair([seen(810, State.VERIFIED)], conditions={role: condition}))
    assert plan.refused is not None
    assert (plan.refused.guard, plan.items) == (condition.value, ())


COPIES = st.sampled_from(
    [None, *(s for s in State if s not in {State.REMOVED, State.ABSENT, State.INCOMPLETE, State.FOREIGN})]
)
AGES = st.sampled_from([1.0, 299.0, 301.0, DAY, -1000.0, 1.79e9])
ROWS = st.lists(st.tuples(COPIES, AGES, COPIES, st.sampled_from([ONE, OTHER])), max_size=8)
PARTS = st.lists(st.tuples(st.integers(1, 8), st.sampled_from(FlightState), st.sampled_from(Role)), max_size=3)


def scene(
    rows: Iterable[tuple[State | None, float, State | None, str]],
    parts: Iterable[tuple[int, FlightState, Role]],
    free: int,
) -> Survey:
    primary, mirror = [], []
    for step, (here, age, there, digest) in enumerate(rows, start=1):
        if here is not None:
            primary.append(seen(step, here, age=age))
        if there is not None:
            mirror.append(seen(step, there, digest=digest))
    flights: dict[Role, list[InFlight]] = {role: [] for role in Role}
    for step, state, role in parts:
        flights[role].append(part(step, state))
    return pair(primary, mirror, flights=flights, free=10 * GB + free, policy=Policy(keep_last=2))


@settings(max_examples=150, deadline=None)
@given(ROWS, PARTS, st.integers(0, 6 * SIZE), st.booleans(), st.booleans())
def test_whatever_is_there_a_mirror_plan_is_harmless(
    rows: list[tuple[State | None, float, State | None, str]],
    parts: list[tuple[int, FlightState, Role]],
    free: int,
    all_steps: bool,
    replacing: bool,
) -> None:
    survey = scene(rows, parts, free)
    names = tuple(row.name for row in survey.steps) if replacing else ()
    plan = plan_mirror(survey, names, all_steps=all_steps, replace=replacing)
    assert survey.mirror is not None
    for item in plan.acting:
        source, there = survey.primary.find(item.name), survey.mirror.find(item.name)
        assert item.act is Act.COPY
        assert item.side is Role.MIRROR
        assert source is not None
        assert source.state in CANDIDATES | {State.VERIFIED}
        assert item.stamps == stamps_of(source)
        if there is not None and there.state not in NOT_THERE:
            assert there.state not in BAD
            assert item.target == stamps_of(there)
            assert item.details["replace"] == "true"
            assert there.digest != source.digest or there.state is State.RETIRED
    assert plan.needs <= free or plan.refused is not None
    begun = [item.step for item in plan.acting if "part" in item.details]
    fresh = [item.step for item in plan.acting if "part" not in item.details]
    assert [item.step for item in plan.acting] == begun + fresh
    for steps in (begun, fresh):
        assert steps == sorted(steps, key=lambda step: -(step or 0))
    assert sorted(item.name for item in plan.items) == sorted(row.name for row in survey.steps)
    assert all(item.guard is not None for item in plan.items if item.act is Act.SKIP)
    again = plan_mirror(scene(rows, parts, free), names, all_steps=all_steps, replace=replacing)
    assert again == plan
    assert again.digest == plan.digest


def test_the_digest_moves_with_what_would_be_read_or_replaced() -> None:
    base = plan_mirror(pair([seen(810, State.VERIFIED)]))
    touched = plan_mirror(pair([seen(810, State.VERIFIED, age=DAY + 1)]))
    assert base.digest != touched.digest
    replaced = plan_mirror(diverged(), (name_of(810),), replace=True)
    item = replaced.items[0]
    other = replace(replaced, items=(replace(item, target=(replace(item.target[0], size=1),)),))
    assert other.digest != replaced.digest
