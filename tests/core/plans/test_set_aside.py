"""What goes to quarantine, what comes back, what is purged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.plans.set_aside import plan_purge, plan_put_back, plan_quarantine
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Quarantined
from ckptdeck.core.states import Condition, FlightState, Kind, Role, State
from tests.core.looks import DAY, NOW
from tests.core.plans.scenes import acts_of, item_of, name_of, pair, part, seen

V, CUT = State.VERIFIED, State.TRUNCATED
ENTRY = Quarantined(
    "20260101T000000-abc", name_of(700), "truncated", 1000, NOW - 2 * DAY, Kind.FILE, named=True, frees=4096
)


def with_quarantine(survey: Survey, *entries: Quarantined, role: Role = Role.MIRROR) -> Survey:
    side = survey.side(role)
    assert side is not None
    changed = replace(side, inventory=replace(side.inventory, quarantine=entries))
    return replace(survey, primary=changed) if role is Role.PRIMARY else replace(survey, mirror=changed)


def test_without_names_every_bad_copy_goes_and_nothing_else() -> None:
    survey = pair([seen(700, V), seen(800, V), seen(900, V)], [seen(700, CUT), seen(800, V), seen(900, V)])
    plan = plan_quarantine(survey)
    assert acts_of(plan) == [(700, Role.MIRROR, Act.QUARANTINE)]
    assert "frees nothing until" in plan.answer


def test_a_name_alone_takes_only_bad_copies_and_a_side_takes_any() -> None:
    survey = pair([seen(700, V), seen(800, V)], [seen(700, V), seen(800, V)])
    plan = plan_quarantine(survey, (name_of(700),))
    assert acts_of(plan) == []
    assert "`--side primary` takes it" in item_of(plan, 700, Role.PRIMARY).reason
    plan = plan_quarantine(survey, (name_of(700),), side=Role.MIRROR)
    assert acts_of(plan) == [(700, Role.MIRROR, Act.QUARANTINE)]


@pytest.mark.parametrize(
    ("change", "guard"),
    [
        ({"pinned": "paper"}, Guard.PINNED),
        ({"pointed_at_by": "latest"}, Guard.POINTER_TARGET),
        ({"age": 20.0}, Guard.AGE),
    ],
)
def test_what_invariant_two_protects_stays(change: dict[str, object], guard: Guard) -> None:
    survey = pair([seen(800, V)], [seen(700, CUT, **change), seen(800, V)])  # type: ignore[arg-type]
    item = item_of(plan_quarantine(survey), 700, Role.MIRROR)
    assert (item.act, item.guard) == (Act.SKIP, guard)


def test_stale_leftovers_of_others_go_and_our_own_are_recovers() -> None:
    flights = {Role.PRIMARY: [part(900, ours=False), part(800), part(700, FlightState.UNKNOWN, ours=False)]}
    plan = plan_quarantine(pair([seen(600, V)], flights=flights))
    assert [(item.name, item.act) for item in plan.items] == [
        ("step_0900.pt.part", Act.QUARANTINE),
        ("step_0800.pt.part", Act.KEEP),
    ]


def test_a_side_that_is_not_there_stops_both() -> None:
    survey = pair([seen(700, CUT)], [], conditions={Role.MIRROR: Condition.NOT_MOUNTED})
    assert plan_quarantine(survey).refused is not None


def test_purge_takes_what_was_asked_for_and_says_it_is_for_good() -> None:
    old, young = ENTRY, replace(ENTRY, id="young", at=NOW - 60)
    survey = with_quarantine(pair([seen(700, V)], []), old, young)
    assert [item.name for item in plan_purge(survey).acting] == [old.id, "young"]
    plan = plan_purge(survey, older_than=DAY)
    assert [item.name for item in plan.acting] == [old.id]
    assert plan.frees == 4096
    assert "for good" in plan.answer
    assert [item.name for item in plan_purge(survey, ("young",)).acting] == ["young"]
    with pytest.raises(UsageError, match="nothing called"):
        plan_purge(survey, ("nowhere",))


def test_putting_back_needs_a_free_name_and_a_known_one() -> None:
    survey = with_quarantine(pair([seen(700, V)], []), ENTRY)
    assert [item.act for item in plan_put_back(survey, (ENTRY.id,)).items] == [Act.PUT_BACK]
    taken = with_quarantine(pair([], [seen(700, V)]), ENTRY)
    assert plan_put_back(taken, (ENTRY.id,)).items[0].guard == Guard.EXISTS
    nameless = with_quarantine(pair([], []), replace(ENTRY, named=False))
    assert plan_put_back(nameless, (ENTRY.id,)).items[0].guard == Guard.FOREIGN


def test_a_name_that_is_being_written_directly_says_why_it_stays() -> None:
    direct = replace(part(900), name=name_of(900), final_name=True, state=FlightState.LIVE)
    survey = pair([seen(800, V), seen(900, State.UNSAFE_WRITE)], flights={Role.PRIMARY: [direct]})
    plan = plan_quarantine(survey, (name_of(900),))
    assert acts_of(plan) == []
    assert "unsafe-write, not bad" in item_of(plan, 900, Role.PRIMARY).reason
