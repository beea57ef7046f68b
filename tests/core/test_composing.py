"""A survey of what changed is the survey of everything, whatever changed on either side."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ckptdeck.core import composing
from ckptdeck.core.composing import Composer
from ckptdeck.core.named_look import look_again
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.register import Changes, Register
from ckptdeck.core.scan import scan
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey, compose
from tests.core.happenings import Happenings
from tests.core.looks import Bench, make_bench

MIN_AGE = DEFAULT_POLICY.min_age


class Watched:
    """One side that is looked at by name where names do."""

    def __init__(self, bench: Bench, chance: random.Random, *, recorded: bool) -> None:
        self.bench = bench
        self.chance = chance
        self.happenings = Happenings(bench, chance, recorded=recorded)
        self.register = Register(scan(bench.host, bench.found, DEFAULT_POLICY), MIN_AGE)

    def look(self) -> Changes:
        """Lets something happen, or nothing, and looks."""
        told = [self.happenings.happen() for _ in range(self.chance.choice((0, 1, 2)))]
        before = self.register
        seen = Register(before.inventory, MIN_AGE)
        paths = {path for _, some in told for path in some}
        named = look_again(self.bench.host, self.bench.found, DEFAULT_POLICY, before, paths)
        if named is not None:
            return named.changes
        self.register = Register(scan(self.bench.host, self.bench.found, DEFAULT_POLICY, before.inventory), MIN_AGE)
        return seen.changes_to(self.register.inventory)


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> list[Survey | None]:
    """The previous surveys of those that were composed of everything."""
    calls: list[Survey | None] = []

    def counted(*arguments: object, previous: Survey | None) -> Survey:
        calls.append(previous)
        return compose(*arguments, previous=previous)  # type: ignore[arg-type]

    monkeypatch.setattr(composing, "compose", counted)
    return calls


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_survey_of_everything(tmp_path: Path, seed: int, composed: list[Survey | None]) -> None:
    chance = random.Random(seed)
    recorded = seed % 4 != 0
    primary = Watched(make_bench(tmp_path, role=Role.PRIMARY), chance, recorded=recorded)
    mirror = Watched(make_bench(tmp_path, role=Role.MIRROR), chance, recorded=recorded)
    composer, changes = Composer(), None
    turns = 50
    for _ in range(turns):
        now = primary.bench.clock.now()
        one, other = primary.register.inventory, mirror.register.inventory
        survey = composer.compose(one, other, DEFAULT_POLICY, now, changes)
        assert survey == compose(one, other, DEFAULT_POLICY, now)
        for side in survey.sides:
            assert all(side.find(checkpoint.name) is checkpoint for checkpoint in side.checkpoints)
        step = chance.choice((0.5, 10.0, 400.0))
        for watched in (primary, mirror):
            watched.bench.clock.time += step
        changes = {Role.PRIMARY: primary.look(), Role.MIRROR: mirror.look()}
    # The siblings of what has no record have a say in it: while there is any, everything is composed.
    assert len(composed) < (turns * 0.8 if recorded else turns)
