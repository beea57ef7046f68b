"""What the retention keeps: arithmetic of the last N, every K, best M and pins, over both sides."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.core.plans.keep import keep_set, row_counts, would_free
from ckptdeck.core.policy import KeepBest, Policy
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Condition, Role, State
from tests.core.looks import ONE, OTHER
from tests.core.plans.scenes import SIZE, all_seen, name_of, pair, seen


def kept_steps(survey: Survey, expecting: tuple[int, ...] = ()) -> list[int]:
    kept = keep_set(survey, {name_of(step) for step in expecting})
    return [row.step for row in survey.steps if row.name in kept and row.step is not None]


def both(steps: list[Sighting], policy: Policy) -> Survey:
    return pair(steps, steps, policy=policy)


def test_the_last_n_whole_steps_are_kept_with_their_place() -> None:
    survey = both(all_seen(range(100, 600, 100), State.VERIFIED), Policy(keep_last=3))
    assert keep_set(survey) == {
        name_of(500): "number 1 of the last 3 whole steps",
        name_of(400): "number 2 of the last 3 whole steps",
        name_of(300): "number 3 of the last 3 whole steps",
    }


def test_steps_are_numbers_not_text() -> None:
    names = {9900: "step_9900.pt", 9990: "step_09990.pt", 10000: "step_10000.pt"}
    steps = [seen(step, State.VERIFIED, name=name) for step, name in names.items()]
    survey = both(steps, Policy(keep_last=2))
    assert set(keep_set(survey)) == {"step_10000.pt", "step_09990.pt"}


def test_a_broken_step_neither_counts_nor_displaces() -> None:
    primary = [seen(900, State.TRUNCATED), *all_seen((800, 700, 600, 500), State.VERIFIED)]
    survey = pair(primary, primary, policy=Policy(keep_last=3))
    kept = keep_set(survey)
    assert kept_steps(survey) == [900, 800, 700, 600]
    assert kept[name_of(900)] == "only 0 of 3 newer steps are whole"


def test_what_is_older_than_n_whole_steps_is_not_kept_whatever_it_is() -> None:
    primary = [*all_seen((800, 700), State.VERIFIED), seen(600, State.STRUCTURE_OK), seen(500, State.CORRUPT)]
    assert kept_steps(pair(primary, policy=Policy(keep_last=2))) == [800, 700]


@pytest.mark.parametrize(
    ("mirror", "counts"),
    [
        (State.VERIFIED, True),
        (None, True),
        (State.CORRUPT, False),
        (State.SIZE_ONLY, False),
        (State.STRUCTURE_OK, False),
        (State.UNREADABLE, False),
        (State.MISSING, False),
    ],
)
def test_a_step_counts_when_verified_here_and_verified_or_rightly_gone_there(
    mirror: State | None, counts: bool
) -> None:
    survey = pair([seen(810, State.VERIFIED)], [] if mirror is None else [seen(810, mirror)])
    assert row_counts(survey.steps[0], survey) is counts


def test_what_a_retention_removed_on_one_side_still_counts() -> None:
    gone = [seen(800, State.VERIFIED), seen(700, State.MISSING)]
    survey = pair(gone, all_seen((800, 700), State.VERIFIED), policy=Policy(keep_last=2))
    assert survey.primary.checkpoints[1].state is State.REMOVED
    assert [row_counts(row, survey) for row in survey.steps] == [True, True]


def test_sides_that_differ_do_not_count() -> None:
    survey = pair([seen(810, State.VERIFIED, digest=ONE)], [seen(810, State.VERIFIED, digest=OTHER)])
    assert not row_counts(survey.steps[0], survey)


@pytest.mark.parametrize("condition", [Condition.NOT_MOUNTED, Condition.UNREADABLE, Condition.WRONG_SET])
def test_nothing_counts_while_a_side_cannot_be_believed(condition: Condition) -> None:
    steps = all_seen((800, 700, 600), State.VERIFIED)
    survey = pair(steps, [], policy=Policy(keep_last=1), conditions={Role.MIRROR: condition})
    assert kept_steps(survey) == [800, 700, 600]


def test_a_step_with_two_names_counts_only_when_both_are_whole() -> None:
    steps = [seen(800, State.VERIFIED), seen(800, State.TRUNCATED, name="optim_800.pt"), seen(700, State.VERIFIED)]
    survey = both(steps, Policy(keep_last=1))
    assert set(keep_set(survey)) == {name_of(800), "optim_800.pt", name_of(700)}


def test_one_is_kept_every_k_steps_unless_it_is_only_bad() -> None:
    steps = [*all_seen((1000, 900, 800, 700, 600), State.VERIFIED), seen(500, State.CORRUPT)]
    survey = both(steps, Policy(keep_last=1, keep_every=250))
    assert kept_steps(survey) == [1000]
    survey = both(steps, Policy(keep_last=1, keep_every=100))
    assert kept_steps(survey) == [1000, 900, 800, 700, 600]


@pytest.mark.parametrize(("highest", "best"), [(False, [400, 300]), (True, [500, 100])])
def test_the_best_by_a_recorded_metric_are_kept(highest: bool, best: list[int]) -> None:
    losses = {900: 0.5, 500: 0.9, 400: 0.1, 300: 0.2, 200: math.nan, 100: 0.6}
    steps = [seen(step, State.VERIFIED, metrics={"loss": loss}) for step, loss in losses.items()]
    survey = both(steps, Policy(keep_last=1, keep_best=KeepBest(2, "loss", highest)))
    assert kept_steps(survey) == [900, *best]


def test_of_equally_good_ones_the_newer_is_better_and_a_broken_one_is_none() -> None:
    steps = [seen(step, State.VERIFIED, metrics={"loss": 1.0}) for step in (900, 500, 400)]
    steps.append(seen(300, State.CORRUPT, metrics={"loss": 0.1}))
    survey = both(steps, Policy(keep_last=1, keep_best=KeepBest(2, "loss", highest=False)))
    assert keep_set(survey)[name_of(500)] == "number 2 of the best 2 by loss (1)"
    assert kept_steps(survey) == [900, 500]


def test_pins_stand_outside_n() -> None:
    steps = [*all_seen((810, 800, 700), State.VERIFIED), seen(100, State.VERIFIED, pinned="paper")]
    survey = pair(steps, all_seen((810, 800, 700, 100), State.VERIFIED), policy=Policy(keep_last=2))
    assert kept_steps(survey) == [810, 800, 100]
    assert keep_set(survey)[name_of(100)] == "pinned: paper"


def test_retired_steps_are_kept_by_a_pin_only() -> None:
    steps = [seen(900, State.RETIRED), seen(850, State.RETIRED, pinned=""), *all_seen((800, 700), State.VERIFIED)]
    survey = both(steps, Policy(keep_last=1))
    assert keep_set(survey) == {name_of(850): "pinned", name_of(800): "number 1 of the last 1 whole steps"}


def test_rolling_names_are_kept_and_not_counted() -> None:
    steps = [seen(None, State.VERIFIED, name="last.ckpt"), *all_seen((800, 700), State.VERIFIED)]
    assert set(keep_set(both(steps, Policy(keep_last=1)))) == {"last.ckpt", name_of(800)}


def test_what_the_plan_is_about_to_make_whole_counts_ahead() -> None:
    survey = pair(all_seen((900, 800, 700), State.STRUCTURE_OK), policy=Policy(keep_last=2))
    assert kept_steps(survey) == [900, 800, 700]
    assert kept_steps(survey, (900, 800, 700)) == [900, 800]


STATES = st.sampled_from(
    [
        State.VERIFIED,
        State.VERIFIED,
        State.SIZE_ONLY,
        State.STRUCTURE_OK,
        State.TRUNCATED,
        State.CORRUPT,
        State.CHANGED,
        State.SUSPECT,
        State.RETIRED,
        State.UNREADABLE,
        State.MISSING,
    ]
)
SIDES = st.dictionaries(st.integers(1, 30), STATES, max_size=12)


@settings(max_examples=80, deadline=None)
@given(SIDES, SIDES, st.integers(1, 5))
def test_every_step_outside_the_set_has_n_newer_counting_ones(
    primary: dict[int, State], mirror: dict[int, State], keep_last: int
) -> None:
    """What invariant 3 needs of the set, whatever is on disk."""
    survey = pair(
        [seen(step, state) for step, state in primary.items()],
        [seen(step, state) for step, state in mirror.items()],
        policy=Policy(keep_last=keep_last),
    )
    kept = keep_set(survey)
    counting = [row.step for row in survey.steps if row.step is not None and row_counts(row, survey)]
    for row in survey.steps:
        retired = State.RETIRED in {copy.state for copy in (row.primary, row.mirror) if copy is not None}
        if row.name not in kept and not retired:
            assert row.step is not None
            assert len([step for step in counting if step > row.step]) >= keep_last
    assert len([step for step in counting if name_of(step) in kept]) == min(keep_last, len(counting))
    assert keep_set(survey) == kept


def test_what_pruning_would_free_is_what_has_n_newer_whole_ones_on_that_side() -> None:
    steps = all_seen(range(100, 600, 100), State.VERIFIED)
    policy = Policy(keep_last=2)
    assert would_free(pair(steps, steps, policy=policy), Role.MIRROR) == 3 * SIZE
    assert would_free(pair(steps, steps[:1], policy=policy), Role.PRIMARY) == 0
    assert would_free(pair(steps, steps, policy=replace(policy, prune_sides=("primary",))), Role.MIRROR) == 0
    pinned = [replace(step, pinned="") if step.step == 100 else step for step in steps]
    assert would_free(pair(pinned, steps, policy=policy), Role.MIRROR) == 2 * SIZE
