"""A look at what changed says what a look at everything says, whatever changed."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.named_look import look_again
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.register import Register
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import Inventory
from ckptdeck.core.states import Role
from tests.core.happenings import Happenings
from tests.core.looks import make_bench

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
        by_name += 1
        assert ordered(named.inventory) == ordered(full), told
        assert named.inventory.beside == full.beside, told
        fresh = {s.name: s for s in named.inventory.sightings}
        changed = {name for name in seen.keys() | fresh.keys() if seen.get(name) is not fresh.get(name)}
        assert named.changes.keys() == changed
    assert by_name > 5
