"""What an operator declares bad, and takes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.mark import plan_mark_bad, plan_unmark_bad
from ckptdeck.core.plans.plan import Act, Plan
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.plans.restore import plan_restore
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Sighting
from ckptdeck.core.states import Condition, FlightState, Role, State
from tests.core.plans.scenes import acts_of, item_of, name_of, pair, part, seen

V = State.VERIFIED


def marked(step: int) -> Sighting:
    made = seen(step, V)
    assert made.record is not None
    return replace(made, record=replace(made.record, marked_bad=made.record.digest))


def test_the_records_of_both_sides_are_marked() -> None:
    plan = plan_mark_bad(pair([seen(700, V), seen(800, V)], [seen(700, V)]), [name_of(700)])
    assert acts_of(plan) == [(700, Role.PRIMARY, Act.MARK_BAD), (700, Role.MIRROR, Act.MARK_BAD)]
    record = seen(700, V).record
    assert record is not None
    assert item_of(plan, 700, Role.MIRROR).details == {"digest": record.digest}
    assert (plan.answer, plan.names) == ("1 checkpoint bad", (name_of(700),))


def test_what_is_marked_already_stays_and_can_be_taken_back() -> None:
    survey = pair([marked(700)], [marked(700)])
    assert plan_mark_bad(survey, [name_of(700)]).acting == ()
    assert acts_of(plan_unmark_bad(survey, [name_of(700)])) == [
        (700, Role.PRIMARY, Act.UNMARK_BAD),
        (700, Role.MIRROR, Act.UNMARK_BAD),
    ]
    assert plan_unmark_bad(pair([seen(700, V)], None), [name_of(700)]).answer == "no mark changes"


def test_a_mark_needs_a_record() -> None:
    plan = plan_mark_bad(pair([seen(700, State.STRUCTURE_OK)], None), [name_of(700)])
    assert (plan.acting, item_of(plan, 700).guard) == ((), Guard.NEEDS_ADOPT)


@pytest.mark.parametrize("plan_of", [plan_mark_bad, plan_restore, plan_repair])
def test_a_mere_part_is_told_with_what_clears_it(plan_of: Callable[[Survey, list[str]], Plan]) -> None:
    parts = [part(900), part(910, ours=False), part(920, FlightState.LIVE)]
    survey = pair([seen(700, V)], [seen(700, V)], flights={Role.PRIMARY: parts})
    plan = plan_of(survey, [f"{name_of(step)}.part" for step in (900, 910, 920)])
    assert plan.acting == ()
    told = {item.name: item.reason for item in plan.items if item.guard == Guard.IN_FLIGHT}
    assert "`ckptdeck recover`" in told["step_0900.pt.part"]
    assert "`ckptdeck quarantine step_0910.pt.part`" in told["step_0910.pt.part"]
    assert "live: it is live" in told["step_0920.pt.part"]


def test_names_are_needed_and_both_sides_must_be_there() -> None:
    survey = pair([seen(700, V)], [seen(700, V)])
    with pytest.raises(UsageError, match="No checkpoint was named"):
        plan_mark_bad(survey, [])
    with pytest.raises(UsageError, match=r"nowhere\.pt"):
        plan_mark_bad(survey, ["nowhere.pt"])
    assert survey.mirror is not None
    away = replace(survey.mirror.inventory, condition=Condition.NOT_MOUNTED, why="not mounted")
    gone = replace(survey, mirror=replace(survey.mirror, inventory=away))
    assert plan_mark_bad(gone, [name_of(700)]).refused is not None
