"""Going back: what is set aside, and what is mirrored again once the run has saved it anew."""

from __future__ import annotations

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.plans.rollback import plan_rollback
from ckptdeck.core.states import Role, State, Verdict
from tests.core.looks import OTHER
from tests.core.plans.scenes import acts_of, item_of, pair, seen

V = State.VERIFIED


def test_every_recorded_step_above_is_retired_on_both_sides() -> None:
    copies = [seen(step, V) for step in (800, 810, 2500)]
    plan = plan_rollback(pair(copies, copies), 800)
    assert set(acts_of(plan)) == {(step, side, Act.RETIRE) for step in (810, 2500) for side in Role}
    assert plan.answer == "set 2 steps above 800 aside"


def test_what_has_no_record_must_be_adopted_first_and_retired_ones_stay() -> None:
    survey = pair([seen(800, V), seen(900, State.UNRECORDED), seen(950, State.RETIRED)], None)
    plan = plan_rollback(survey, 800)
    assert plan.acting == ()
    assert item_of(plan, 900).guard == Guard.NEEDS_ADOPT


def test_going_back_to_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="Nothing at step 700"):
        plan_rollback(pair([seen(800, V)], None), 700)


@pytest.mark.parametrize("state", [None, State.TRUNCATED, State.RETIRED])
def test_a_step_the_run_could_not_go_on_from_is_refused_and_the_one_below_named(state: State | None) -> None:
    copies = [seen(700, V), *([] if state is None else [seen(750, state)]), seen(800, V)]
    with pytest.raises(UsageError, match=r"no recorded step 750.*from step 700 instead"):
        plan_rollback(pair(copies, None), 750)


def test_a_step_saved_again_replaces_the_mirrors_of_before_the_rollback() -> None:
    survey = pair([seen(800, V), seen(810, V, digest=OTHER)], [seen(800, V), seen(810, State.RETIRED)])
    row = next(row for row in survey.steps if row.step == 810)
    assert row.verdict is Verdict.MIRROR_ME
    item = item_of(plan_mirror(survey), 810)
    assert item.act is Act.COPY
    assert item.target
    assert "before the rollback" in item.reason


def test_a_retired_step_is_no_resume_point() -> None:
    survey = pair([seen(800, V), seen(2500, State.RETIRED)], [seen(800, V), seen(2500, State.RETIRED)])
    assert survey.resume is not None
    assert survey.resume.step == 800
