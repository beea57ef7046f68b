"""A look at what is told to have changed says what a look at everything says, whatever is told."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.named_look import look_again
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.register import Register
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import Identity, Inventory
from ckptdeck.core.states import Role
from tests.core.happenings import INSIDE, Happenings
from tests.core.looks import make_bench, set_age

MIN_AGE = DEFAULT_POLICY.min_age


def ordered(inventory: Inventory) -> Inventory:
    """As far as a listing, which comes in any order, can tell."""
    return replace(
        inventory,
        sightings=tuple(sorted(inventory.sightings, key=lambda one: one.name)),
        in_flight=tuple(sorted(inventory.in_flight, key=lambda one: one.name)),
        orphan_next=tuple(sorted(inventory.orphan_next)),
        volume=None,
    )


def identities(inventory: Inventory) -> dict[str, Identity | None]:
    return {sighting.name: sighting.identity for sighting in inventory.sightings}


@pytest.mark.parametrize("seed", range(12))
def test_it_says_what_a_look_at_everything_says(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    bench = make_bench(tmp_path, role=chance.choice(tuple(Role)))
    happenings = Happenings(bench, chance)
    register = Register(scan(bench.host, bench.found, DEFAULT_POLICY), MIN_AGE)
    by_name = 0
    for _ in range(40):
        told = [happenings.happen() for _ in range(chance.choice((1, 1, 1, 3)))]
        bench.clock.time += chance.choice((0.5, 10.0, 400.0))
        before = register.inventory
        full = scan(bench.host, bench.found, DEFAULT_POLICY, before)
        seen = dict(register.by_name)
        paths = {path for _, some in told for path in some}
        named = look_again(bench.host, bench.found, DEFAULT_POLICY, register, paths)
        if named is None:
            register = Register(full, MIN_AGE)
            continue
        if any(what in INSIDE for what, _ in told):  # only a look at everything is sure to see it
            register = Register(scan(bench.host, bench.found, DEFAULT_POLICY, named.inventory), MIN_AGE)
            assert identities(register.inventory) == identities(full), told
            continue
        by_name += 1
        assert ordered(named.inventory) == ordered(full), told
        assert named.inventory.beside == full.beside, told
        fresh = {s.name: s for s in named.inventory.sightings}
        changed = {name for name in seen.keys() | fresh.keys() if seen.get(name) is not fresh.get(name)}
        assert named.changes.keys() == changed
    assert by_name >= 15


def test_files_that_came_with_old_times_are_looked_at_without_being_told_while_they_are_young(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    tree = bench.root / "checkpoint-500"
    tree.mkdir()
    member = tree / "model.bin"
    member.write_bytes(b"x" * 1000)
    for path in (member, tree):
        set_age(path, bench.clock.now(), 86_400.0)  # as `cp -a` and rsync do
    bench.clock.time = tree.stat().st_ctime + 1
    register = Register(scan(bench.host, bench.found, DEFAULT_POLICY), MIN_AGE)
    os.truncate(member, 10)
    set_age(member, bench.clock.now(), 86_400.0)
    named = look_again(bench.host, bench.found, DEFAULT_POLICY, register, ())
    assert named is not None
    assert named.changes.keys() == {"checkpoint-500"}
    assert named.inventory.sightings[0].moved
    for path in (member, tree):
        set_age(path, bench.clock.now(), 86_400.0)
    bench.clock.time = max(path.stat().st_ctime for path in (member, tree)) + MIN_AGE + 1
    for _ in range(2):  # once more for what moved, and then it is at rest
        assert look_again(bench.host, bench.found, DEFAULT_POLICY, register, ()) is not None
    assert not register.restless
