"""What comes back from the mirror, and where pointers follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act
from ckptdeck.core.plans.restore import plan_restore
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Pointer
from ckptdeck.core.states import Condition, Role, State
from tests.core.plans.scenes import acts_of, item_of, name_of, pair, seen

V = State.VERIFIED


def pointing(survey: Survey, *pointers: Pointer, role: Role = Role.MIRROR) -> Survey:
    side = survey.side(role)
    assert side is not None
    changed = replace(side, inventory=replace(side.inventory, pointers=pointers))
    return replace(survey, primary=changed) if role is Role.PRIMARY else replace(survey, mirror=changed)


def test_without_names_only_what_is_missing_and_never_what_was_removed_on_purpose() -> None:
    primary = [seen(700, V), seen(800, State.MISSING)]
    removed = replace(seen(600, V), identity=None, receipt=None, seen_missing=2)
    survey = pair([removed, *primary], [seen(step, V) for step in (600, 700, 800)])
    assert acts_of(plan_restore(survey)) == [(800, Role.PRIMARY, Act.COPY)]
    assert acts_of(plan_restore(survey, (name_of(600),))) == [(600, Role.PRIMARY, Act.COPY)]


def test_after_a_dead_disk_the_newest_come_first() -> None:
    survey = pair([], [seen(step, V) for step in (600, 700, 800)])
    assert acts_of(plan_restore(survey, newest=2)) == [
        (800, Role.PRIMARY, Act.COPY),
        (700, Role.PRIMARY, Act.COPY),
    ]


def test_a_broken_newest_on_the_mirror_is_not_counted_among_them() -> None:
    survey = pair([], [seen(700, V), seen(800, State.CORRUPT)])
    assert acts_of(plan_restore(survey, newest=1)) == [(700, Role.PRIMARY, Act.COPY)]


@pytest.mark.parametrize(
    ("here", "there", "guard"),
    [
        (State.TRUNCATED, V, Guard.NEEDS_REPAIR),
        (None, State.SIZE_ONLY, Guard.NO_GOOD_COPY),
        (None, State.CORRUPT, Guard.NO_GOOD_COPY),
        (State.MISSING, None, Guard.NO_GOOD_COPY),
    ],
)
def test_what_cannot_be_restored_says_why(here: State | None, there: State | None, guard: Guard) -> None:
    survey = pair([seen(800, here)] if here else [], [seen(800, there)] if there else [])
    item = item_of(plan_restore(survey, (name_of(800),)), 800)
    assert (item.act, item.guard) == (Act.SKIP, guard)


def test_what_is_there_stays_as_it_is() -> None:
    survey = pair([seen(800, State.CHANGED)], [seen(800, V)])
    assert item_of(plan_restore(survey, (name_of(800),)), 800).act is Act.KEEP


@pytest.mark.parametrize("role", Role)
def test_both_sides_are_needed(role: Role) -> None:
    survey = pair([seen(800, V)], [seen(800, V)], conditions={role: Condition.NOT_MOUNTED})
    assert plan_restore(survey).refused is not None


def test_a_pointer_comes_last_and_only_to_what_is_whole() -> None:
    survey = pair([], [seen(700, V), seen(800, V)])
    latest = Pointer("latest", (name_of(800),), b"step_0800.pt")
    lost = Pointer("LATEST", (name_of(700),), b"step_0700.pt")
    plan = plan_restore(pointing(survey, latest, lost), newest=1)
    assert [(item.name, item.act) for item in plan.acting] == [
        (name_of(800), Act.COPY),
        ("latest", Act.POINTER),
    ]


def test_a_pointer_of_the_trainers_own_is_never_overwritten() -> None:
    survey = pair([seen(800, V)], [seen(800, V)])
    theirs = Pointer("latest", (name_of(800),), b"step_0800.pt\n")
    survey = pointing(pointing(survey, theirs, role=Role.PRIMARY), replace(theirs, content=b"x"))
    assert plan_restore(survey, (name_of(800),)).acting == ()
