"""A survey that follows on another one says the same as one taken from nothing, and makes anew only what changed."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sighting import Inventory, Sighting
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.survey import Survey, compose
from tests.core.looks import NOW, identity, inventory, verified

STEPS = range(10, 90, 10)


def both(*changed: Sighting) -> tuple[Inventory, Inventory]:
    by_name = {one.name: one for one in changed}
    sides = []
    for role in Role:
        there = [by_name.get(name_of(step)) or FIRST[role, step] for step in STEPS]
        sides.append(inventory(*there, role=role))
    return sides[0], sides[1]


def name_of(step: int) -> str:
    return f"step_{step:04d}.pt"


FIRST = {(role, step): verified(name_of(step), step) for role in Role for step in STEPS}


def follow(primary: Inventory, mirror: Inventory | None, previous: Survey | None) -> Survey:
    after = compose(primary, mirror, DEFAULT_POLICY, NOW, previous=previous)
    assert after == compose(primary, mirror, DEFAULT_POLICY, NOW)
    return after


def test_rows_of_what_did_not_change_stand() -> None:
    before = follow(*both(), None)
    cut = replace(FIRST[Role.PRIMARY, 40], identity=identity(7))
    after = follow(*both(cut), before)
    fresh = {row.name for row, earlier in zip(after.steps, before.steps, strict=True) if row is not earlier}
    assert fresh == {name_of(40)}


def test_a_new_step_comes_into_its_place() -> None:
    primary, mirror = both()
    before = follow(primary, mirror, None)
    grown = replace(primary, sightings=(*primary.sightings, verified("step_0095.pt", 95), verified("step_0035.pt", 35)))
    assert [row.step for row in follow(grown, mirror, before).steps][:2] == [95, 80]


def test_a_side_that_comes_goes_or_cannot_be_read_changes_every_row_it_must() -> None:
    primary, mirror = both()
    alone = follow(primary, None, None)
    together = follow(primary, mirror, alone)
    bare = replace(mirror, sightings=mirror.sightings[:3])
    less = follow(primary, bare, together)
    blind = follow(primary, replace(bare, condition=Condition.UNREADABLE, why="its cable is out"), less)
    follow(primary, None, blind)


def test_a_mark_takes_back_what_was_verified() -> None:
    primary, mirror = both()
    before = follow(primary, mirror, None)
    first = primary.sightings[0]
    assert first.record is not None
    marked = replace(first, record=replace(first.record, marked_bad=first.record.digest))
    follow(*both(marked), before)
