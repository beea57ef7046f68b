"""What a retention may take, and everything that stops it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act, Plan
from ckptdeck.core.plans.prune import Wish, plan_prune, wish_of
from ckptdeck.core.policy import KeepBest, Policy
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Condition, Evidence, FlightState, Role, State
from tests.core.looks import DAY, LOCAL, NOW, allocated
from tests.core.plans.scenes import SIZE, acts_of, item_of, name_of, pair, part, seen

V = State.VERIFIED
KEEP_THREE = Policy(keep_last=3)
STEPS = range(100, 1100, 100)


def aged(step: int, state: State = V, **changes: Any) -> Sighting:
    """Recorded in the order of the steps, an hour apart."""
    return seen(step, state, **{"age": DAY + (10_000 - step) * 36, **changes})


def both(*steps: int, policy: Policy = KEEP_THREE, **how: Any) -> Survey:
    return pair([aged(step) for step in steps], [aged(step) for step in steps], policy=policy, **how)


def deleted(plan: Plan) -> set[tuple[int | None, Role]]:
    return {(item.step, item.side) for item in plan.items if item.act is Act.DELETE}


def test_what_is_beyond_the_last_n_goes_on_both_sides_oldest_first() -> None:
    plan = plan_prune(both(100, 200, 300, 400, 500))
    assert acts_of(plan) == [
        (100, Role.MIRROR, Act.DELETE),
        (100, Role.PRIMARY, Act.DELETE),
        (200, Role.MIRROR, Act.DELETE),
        (200, Role.PRIMARY, Act.DELETE),
    ]
    assert plan.frees == 4 * allocated(SIZE)
    assert not plan.at_most
    assert plan.answer == "delete 4 copies: 2 on the primary (4.94 GB), 2 on the mirror (4.94 GB)"
    assert item_of(plan, 100, Role.PRIMARY).reason == (
        "beyond the last 3: step_0300.pt and newer are whole on both sides"
    )
    assert item_of(plan, 300, Role.MIRROR).reason == "number 3 of the last 3 whole steps"


def with_members(made: Sighting, **changes: Any) -> Sighting:
    assert made.identity is not None
    members = tuple(replace(member, **changes) for member in made.identity.members)
    return replace(made, identity=replace(made.identity, members=members))


def test_what_is_freed_is_blocks_that_no_other_name_holds() -> None:
    sparse = with_members(aged(100), blocks=8)
    linked = with_members(aged(200), links=2)
    kept = [aged(step) for step in (300, 400, 500, 600)]
    plan = plan_prune(pair([sparse, linked, *kept], None, policy=KEEP_THREE))
    assert [(item.step, item.frees) for item in plan.acting] == [(100, 4096), (200, 0), (300, allocated(SIZE))]
    assert plan.frees == 4096 + allocated(SIZE)


def test_a_mirror_of_hard_links_is_freed_with_the_second_name() -> None:
    steps = (100, 200, 300, 400)
    twice = [with_members(aged(step), links=2) for step in steps]
    plan = plan_prune(pair(twice, twice, policy=KEEP_THREE, shared=True))
    assert [(item.side, item.frees) for item in plan.acting] == [(Role.MIRROR, 0), (Role.PRIMARY, allocated(SIZE))]


def test_hashing_first_frees_nothing() -> None:
    weak = [
        replace(one, receipt=replace(one.receipt, evidence=Evidence.CACHE)) for one in map(aged, STEPS) if one.receipt
    ]
    plan = plan_prune(pair(weak, None, policy=KEEP_THREE))
    assert {item.act for item in plan.acting} == {Act.VERIFY, Act.DELETE}
    assert plan.frees == 7 * allocated(SIZE)


def test_reflinks_make_it_an_upper_limit() -> None:
    survey = both(100, 200, 300, 400)
    on_xfs = replace(survey.primary.inventory, volume=replace(LOCAL, fs_type="xfs"))
    survey = replace(survey, primary=replace(survey.primary, inventory=on_xfs))
    assert plan_prune(survey).at_most
    assert not plan_prune(survey, Wish(keep_last=4)).at_most


def test_the_primary_relies_on_nothing_that_leaves_the_mirror_in_the_same_plan() -> None:
    """Step 300 came back to the mirror only, so the mirror lets 200 go; then 200 vouches for nothing on the primary."""
    survey = pair(
        [aged(100), aged(200)],
        [aged(100), aged(200), aged(300)],
        policy=Policy(keep_last=1),
    )
    plan = plan_prune(survey)
    assert deleted(plan) == {(100, Role.MIRROR), (200, Role.MIRROR)}
    assert item_of(plan, 100, Role.PRIMARY).guard == Guard.TOO_FEW


def test_what_cannot_be_read_on_one_side_stays_on_the_other() -> None:
    """B33."""
    survey = pair(
        [aged(100, State.UNREADABLE), *(aged(step) for step in (200, 300, 400, 500))],
        [aged(step) for step in (100, 200, 300, 400, 500)],
        policy=KEEP_THREE,
    )
    plan = plan_prune(survey)
    assert deleted(plan) == {(200, Role.PRIMARY), (200, Role.MIRROR)}
    assert {item.guard for item in plan.items if item.step == 100} == {Guard.UNREADABLE}


def test_every_victim_carries_what_the_executor_compares() -> None:
    survey = both(100, 200, 300, 400)
    item = item_of(plan_prune(survey), 100, Role.PRIMARY)
    copy = survey.primary.find(name_of(100))
    assert copy is not None
    assert copy.sighting.identity is not None
    assert item.stamps == copy.sighting.identity.stamps
    assert item.inode == 1100


def test_steps_are_numbers_and_pins_and_best_and_every_add_to_the_last() -> None:
    steps = (9, 90, 99, 100, 1000, 10_000)
    sightings = [aged(step, metrics={"loss": 1.0 if step == 90 else 2.0}) for step in steps]
    sightings[2] = replace(sightings[2], pinned="paper")
    survey = pair(sightings, [aged(step) for step in steps], policy=Policy(keep_last=2))
    assert deleted(plan_prune(survey)) == {(step, side) for step in (9, 90, 100) for side in Role}
    wish = Wish(keep_last=1, keep_every=100, keep_best=KeepBest(1, "loss", highest=False))
    assert {step for step, _ in deleted(plan_prune(survey, wish))} == {9}


def test_a_truncated_one_among_the_newest_neither_counts_nor_displaces() -> None:
    mirror = [aged(step) for step in (100, 200, 300, 400)] + [aged(500, State.TRUNCATED)]
    survey = pair([aged(step) for step in (100, 200, 300, 400, 500)], mirror, policy=KEEP_THREE)
    plan = plan_prune(survey)
    assert deleted(plan) == {(100, Role.PRIMARY), (100, Role.MIRROR)}
    assert item_of(plan, 500, Role.PRIMARY).act is Act.KEEP


@pytest.mark.parametrize(
    ("newest", "why"), [(State.CORRUPT, "corrupt"), (State.TRUNCATED, "short"), (State.SIZE_ONLY, "unproven")]
)
def test_where_too_few_survivors_are_proven_nothing_goes(newest: State, why: str) -> None:
    """A10: keep 3, and the newest are bad, bad and in flight."""
    copies = [aged(step) for step in (100, 200, 300)] + [aged(400, newest), aged(500, newest)]
    plan = plan_prune(pair(copies, copies, policy=KEEP_THREE))
    assert deleted(plan) == set(), why


def test_a_primary_copy_needs_its_survivors_on_the_mirror_too() -> None:
    primary = [aged(step) for step in (100, 200, 300, 400)]
    mirror = [aged(step) for step in (100, 200, 300)]
    plan = plan_prune(pair(primary, mirror, policy=KEEP_THREE))
    assert deleted(plan) == set()
    plan = plan_prune(pair(primary, None, policy=KEEP_THREE))
    assert deleted(plan) == {(100, Role.PRIMARY)}


def test_a_trainers_own_retention_of_three_leaves_the_mirror_its_twelve() -> None:
    """Steps that the trainer removed from the primary still count: they are verified on the mirror."""
    steps = list(range(100, 1600, 100))
    gone = [replace(aged(step), identity=None, receipt=None, seen_missing=2) for step in steps[:-3]]
    primary = gone + [aged(step) for step in steps[-3:]]
    plan = plan_prune(pair(primary, [aged(step) for step in steps], policy=Policy(keep_last=12)))
    assert deleted(plan) == {(step, Role.MIRROR) for step in (100, 200, 300)}


@pytest.mark.parametrize(
    ("change", "guard"),
    [
        ({"held": True}, Guard.LIVE_WRITER),
        ({"moved": True}, Guard.LIVE_WRITER),
        ({"pointed_at_by": "latest"}, Guard.POINTER_TARGET),
        ({"link": "/other/run/step_0100.pt"}, Guard.SYMLINK),
        ({"error": "Input/output error (EIO)"}, Guard.UNREADABLE),
        ({"record": None, "receipt": None}, Guard.NEEDS_ADOPT),
    ],
)
def test_what_protects_one_copy(change: dict[str, Any], guard: Guard) -> None:
    steps = (100, 200, 300, 400)
    primary = [replace(aged(100), **change), *(aged(step) for step in steps[1:])]
    plan = plan_prune(pair(primary, [aged(step) for step in steps], policy=KEEP_THREE))
    item = item_of(plan, 100, Role.PRIMARY)
    assert (item.act, item.guard) == (Act.SKIP, guard)


@pytest.mark.parametrize(
    ("age", "guard"), [(10.0, Guard.AGE), (299.0, Guard.AGE), (NOW, Guard.UNKNOWN_TIME), (-1000.0, Guard.FUTURE_TIME)]
)
def test_time_that_is_young_or_unknown_protects(age: float, guard: Guard) -> None:
    """B1, B48: an mtime of 0 says "I don't know", never "old"."""
    steps = (100, 200, 300, 400)
    plan = plan_prune(
        pair([aged(step) for step in steps], [aged(100, age=age), *(aged(s) for s in steps[1:])], policy=KEEP_THREE)
    )
    item = item_of(plan, 100, Role.MIRROR)
    assert (item.act, item.guard) == (Act.SKIP, guard)


def test_a_copy_that_is_being_written_on_that_side_is_left_alone() -> None:
    flights = {Role.MIRROR: [part(100, FlightState.LIVE)]}
    plan = plan_prune(both(100, 200, 300, 400, flights=flights))
    assert item_of(plan, 100, Role.MIRROR).guard == Guard.IN_FLIGHT


def test_a_step_written_after_a_higher_one_is_of_another_run_and_stays() -> None:
    """B11, B40: 5000 was left by an older run; 300 and 400 are of today."""
    copies = [seen(5000, V, age=20 * DAY), *(seen(step, V, age=DAY - step) for step in (100, 200, 300, 400))]
    plan = plan_prune(pair(copies, copies, policy=Policy(keep_last=2)))
    assert deleted(plan) == set()
    item = item_of(plan, 300, Role.PRIMARY)
    assert item.guard == Guard.OUT_OF_ORDER
    assert "step 300 was written after step 5000" in item.reason
    assert "rollback" in item.reason


@pytest.mark.parametrize("condition", [c for c in Condition if c is not Condition.OK])
@pytest.mark.parametrize("role", Role)
def test_a_side_that_cannot_be_believed_stops_both(condition: Condition, role: Role) -> None:
    plan = plan_prune(both(100, 200, 300, 400, conditions={role: condition}))
    assert plan.refused is not None
    assert plan.items == ()


def test_when_everything_recorded_is_gone_nothing_is_deleted_anywhere() -> None:
    """B34, B35: a mount point without its volume looks like a set whose files were all removed."""
    steps = (100, 200, 300, 400)
    gone = [replace(aged(step), identity=None, receipt=None, seen_missing=2) for step in steps]
    plan = plan_prune(pair(gone, [aged(step) for step in steps], policy=KEEP_THREE))
    assert plan.refused is not None
    assert plan.refused.guard == Guard.VANISHED


def test_an_old_or_weak_proof_is_renewed_before_anything_goes() -> None:
    old = receipt_of_age(aged(300), 8 * DAY)
    primary = [aged(100), aged(200), old, aged(400)]
    plan = plan_prune(pair(primary, [aged(step) for step in (100, 200, 300, 400)], policy=KEEP_THREE))
    assert acts_of(plan)[0] == (300, Role.PRIMARY, Act.VERIFY)
    assert "older than 7 days" in plan.items[0].reason
    assert "hash first: 2.47 GB" in plan.answer
    good = aged(300).receipt
    assert good is not None
    weak = replace(aged(300), receipt=replace(good, evidence=Evidence.CACHE))
    plan = plan_prune(
        pair([aged(100), aged(200), weak, aged(400)], [aged(s) for s in (100, 200, 300, 400)], policy=KEEP_THREE)
    )
    assert "cache evidence" in plan.items[0].reason


def test_what_lets_a_retired_one_go_is_proven_first_too() -> None:
    """It may have any number: what it relies on is not only what is newer."""
    steps = [receipt_of_age(aged(step), 8 * DAY) for step in (100, 200, 300)]
    copies = [*steps, seen(900, State.RETIRED)]
    plan = plan_prune(pair(copies, copies, policy=KEEP_THREE))
    assert deleted(plan) == {(900, Role.PRIMARY), (900, Role.MIRROR)}
    assert [item.act for item in plan.acting[:6]] == [Act.VERIFY] * 6


def receipt_of_age(made: Sighting, age: float) -> Sighting:
    assert made.receipt is not None
    return replace(made, receipt=replace(made.receipt, verified_at=NOW - age))


def test_more_than_half_of_a_side_asks_for_the_number() -> None:
    assert plan_prune(both(*STEPS[:6])).count is None
    assert plan_prune(both(*STEPS[:7])).count == 8
    assert plan_prune(both(*STEPS[:4])).count is None


def test_sides_of_the_policy_and_managers_with_a_list_of_their_own() -> None:
    survey = both(100, 200, 300, 400, policy=Policy(keep_last=3, prune_sides=("mirror",)))
    assert deleted(plan_prune(survey)) == {(100, Role.MIRROR)}
    orbax = [replace(aged(step), family="orbax") for step in (100, 200, 300, 400)]
    plan = plan_prune(pair(orbax, orbax, policy=KEEP_THREE))
    assert deleted(plan) == {(100, Role.MIRROR)}
    assert "keeps a list of its own" in item_of(plan, 100, Role.PRIMARY).reason


def test_what_a_rollback_set_aside_goes_first_and_needs_n_kept_steps_of_any_number() -> None:
    copies = [aged(step) for step in (100, 200, 300)] + [aged(900, State.RETIRED)]
    plan = plan_prune(pair(copies, copies, policy=KEEP_THREE))
    assert deleted(plan) == {(900, Role.PRIMARY), (900, Role.MIRROR)}
    few = copies[1:]
    assert deleted(plan_prune(pair(few, few, policy=KEEP_THREE))) == set()


def test_rolling_and_foreign_names_never_go() -> None:
    rolling = [seen(None, V, name="last.ckpt"), seen(None, State.FOREIGN, name="notes.txt")]
    copies = [*(aged(step) for step in (100, 200, 300, 400)), *rolling]
    assert {step for step, _ in deleted(plan_prune(pair(copies, copies, policy=KEEP_THREE)))} == {100}


@pytest.mark.parametrize("text", ["0", "-1", "", "x", "1.5", "99999999999"])
def test_keeping_none_is_a_usage_error(text: str) -> None:
    """B6, B44, R22."""
    with pytest.raises(UsageError):
        wish_of({"keep-last": text})


def test_a_wish_survives_its_way_through_the_options() -> None:
    wish = Wish(5, 1000, KeepBest(2, "accuracy", highest=True))
    assert wish_of(wish.options()) == wish
    assert plan_prune(both(100, 200), wish).options == {
        "keep-last": "5",
        "keep-every": "1000",
        "keep-best": "2:accuracy:max",
    }


STATES = [
    State.VERIFIED,
    State.VERIFIED,
    State.VERIFIED,
    State.SIZE_ONLY,
    State.UNRECORDED,
    State.TRUNCATED,
    State.CORRUPT,
    State.CHANGED,
    State.SUSPECT,
    State.UNREADABLE,
    State.UNSAFE_WRITE,
    State.MISSING,
    State.RETIRED,
    None,
]
copies = st.lists(st.tuples(st.sampled_from(STATES), st.sampled_from(STATES), st.booleans()), min_size=1, max_size=14)


@settings(max_examples=300, deadline=None)
@given(copies, st.integers(1, 4))
def test_after_any_plan_enough_is_left(rows: list[tuple[State | None, State | None, bool]], keep: int) -> None:
    """Invariants 2 and 3 over whatever a disk may hold."""
    sides: dict[Role, list[Sighting]] = {Role.PRIMARY: [], Role.MIRROR: []}
    for index, (primary, mirror, pinned) in enumerate(rows, start=1):
        for role, state in ((Role.PRIMARY, primary), (Role.MIRROR, mirror)):
            if state is not None:
                made = aged(index * 100, state)
                sides[role].append(replace(made, pinned="kept") if pinned else made)
    survey = pair(sides[Role.PRIMARY], sides[Role.MIRROR], policy=Policy(keep_last=keep))
    plan = plan_prune(survey)
    gone = deleted(plan)
    for row in survey.steps:
        for role in Role:
            if (row.step, role) not in gone:
                continue
            copy = row.on(role)
            assert copy is not None
            assert copy.sighting.pinned is None
            assert copy.sighting.record is not None
            needed = (role,) if role is Role.MIRROR else tuple(Role)
            newer = [
                other
                for other in survey.steps
                if other.step is not None
                and (copy.state is State.RETIRED or (row.step is not None and other.step > row.step))
                and all((each := other.on(one)) is not None and each.state is V for one in needed)
                and not any((other.step, one) in gone for one in needed)
            ]
            assert len(newer) >= keep
