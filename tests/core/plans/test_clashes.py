"""Copies that would be one on the side they go to (R31, B62)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import Act, Plan
from ckptdeck.core.plans.restore import plan_restore
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Identity, Inventory, Sighting
from ckptdeck.core.states import Kind, NameFolding, Role, State
from ckptdeck.core.survey import compose
from tests.core.looks import NOW, identity, verified
from tests.core.plans.scenes import pair, seen

UNICODE = ("caf\u00e9_1.pt", "cafe\u0301_1.pt")
CASE = ("A_1.pt", "a_1.pt")


def survey(*names: str, folding: NameFolding, on_mirror: tuple[str, ...] = (), role: Role = Role.MIRROR) -> Survey:
    """Verified on the primary under each name; `role` is the side that takes names for one."""
    return folding_on(role, folding, pair([verified(n, 1) for n in names], [verified(n, 1) for n in on_mirror]))


def folding_on(role: Role, folding: NameFolding, made: Survey) -> Survey:
    assert made.mirror is not None
    sides: dict[Role, Inventory] = {side.role: side.inventory for side in made.sides}
    sides[role] = replace(sides[role], folding=folding)
    return compose(sides[Role.PRIMARY], sides[Role.MIRROR], made.policy, NOW)


def copied(plan: Plan) -> set[str]:
    return {item.name for item in plan.items if item.act is Act.COPY}


def clashing(plan: Plan) -> set[str]:
    return {item.name for item in plan.items if item.guard == Guard.NAME_CLASH}


@pytest.mark.parametrize(
    ("names", "folding", "refused"),
    [
        (CASE, NameFolding.CASE, True),
        (CASE, NameFolding.UNICODE, False),
        (CASE, NameFolding.NONE, False),
        (UNICODE, NameFolding.CASE, True),
        (UNICODE, NameFolding.UNICODE, True),
        (UNICODE, NameFolding.NONE, False),
        (("A_1.pt", "b_1.pt"), NameFolding.CASE, False),
    ],
)
def test_both_are_refused_or_none(names: tuple[str, str], folding: NameFolding, refused: bool) -> None:
    plan = plan_mirror(survey(*names, folding=folding), all_steps=True)
    assert clashing(plan) == (set(names) if refused else set())
    assert copied(plan) == (set() if refused else set(names))


def test_one_that_is_there_stays_and_the_other_is_refused() -> None:
    plan = plan_mirror(survey(*CASE, folding=NameFolding.CASE, on_mirror=CASE[:1]), all_steps=True)
    assert clashing(plan) == {"a_1.pt"}
    (reason,) = [item.reason for item in plan.items if item.guard == Guard.NAME_CLASH]
    assert "does not tell upper from lower case: a_1.pt would be A_1.pt there; rename one of them" in reason


def test_what_is_on_one_side_only_clashes_with_what_is_on_the_other() -> None:
    assert clashing(plan_mirror(survey("a_1.pt", folding=NameFolding.CASE, on_mirror=("A_1.pt",)))) == {"a_1.pt"}


def test_what_comes_back_to_the_primary_is_asked_the_same() -> None:
    made = survey(folding=NameFolding.CASE, on_mirror=CASE, role=Role.PRIMARY)
    assert clashing(plan_restore(made, CASE)) == set(CASE)


def holding(kind: Kind, *paths: str) -> Sighting:
    (member,) = identity().members
    members = tuple(replace(member, path=path) for path in sorted(paths))
    there = Identity(members, member if kind is Kind.DIRECTORY else None)
    return replace(seen(1, State.STRUCTURE_OK), kind=kind, identity=there)


@pytest.mark.parametrize(
    ("paths", "refused"),
    [(("Model/a.bin", "model/b.bin"), True), (("x/A.bin", "x/a.bin"), True), (("x/A.bin", "y/a.bin"), False)],
)
def test_a_directory_that_cannot_be_held_there_is_refused(paths: tuple[str, str], refused: bool) -> None:
    made = folding_on(Role.MIRROR, NameFolding.CASE, pair([holding(Kind.DIRECTORY, *paths)]))
    assert len(clashing(plan_mirror(made, all_steps=True))) == refused


def test_files_of_a_group_clash_like_files() -> None:
    group = holding(Kind.GROUP, "MODEL_1.pt", "optim_1.pt")
    made = folding_on(Role.MIRROR, NameFolding.CASE, pair([group, verified("model_1.pt", 2)]))
    assert clashing(plan_mirror(made, all_steps=True)) == {group.name, "model_1.pt"}
