from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import Pair, find_pair
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.states import FlightState, Role, State, Verdict
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.verify import verify_one
from ckptdeck.demo.scene import CUT_STEP, DIRECT_STEPS, FLIPPED_STEP, MIRRORED_STEPS, NEWEST_STEP, Scene, build_scene
from ckptdeck.demo.training import checkpoint_name
from ckptdeck.monitor.host import this_host

SMALL = 200_000


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return build_scene(this_host(), str(tmp_path_factory.mktemp("demo")), SMALL)


@pytest.fixture(scope="module")
def pair(scene: Scene) -> Pair:
    return find_pair(this_host().fs, scene.primary, scene.mirror)


@pytest.fixture(scope="module")
def survey(pair: Pair) -> Survey:
    return take_survey(this_host(), pair, DEFAULT_POLICY)


def state_of(survey: Survey, side: Role, name: str) -> State:
    judged = survey.side(side)
    assert judged is not None
    checkpoint = judged.find(name)
    assert checkpoint is not None
    return checkpoint.state


def verdicts(survey: Survey) -> dict[int, Verdict]:
    return {step.step: step.verdict for step in survey.steps if step.step is not None}


def test_most_steps_are_safe_and_the_newest_waits_for_its_mirror(survey: Survey) -> None:
    found = verdicts(survey)
    for step in set(MIRRORED_STEPS) - {CUT_STEP, FLIPPED_STEP}:
        assert found[step] is Verdict.SAFE
    assert found[NEWEST_STEP] is Verdict.MIRROR_ME
    assert survey.resume is not None
    assert (survey.resume.step, survey.resume.certain) == (NEWEST_STEP, True)


def test_the_cut_copy_is_found_at_once(survey: Survey) -> None:
    assert state_of(survey, Role.MIRROR, checkpoint_name(CUT_STEP)) is State.TRUNCATED
    assert verdicts(survey)[CUT_STEP] is Verdict.REPAIR


def test_the_flipped_bit_is_found_by_hashing_and_not_before(pair: Pair, survey: Survey) -> None:
    name = checkpoint_name(FLIPPED_STEP)
    assert state_of(survey, Role.PRIMARY, name) is State.SIZE_ONLY
    assert verify_one(this_host(), pair.primary, name).state is State.CORRUPT
    assert verify_one(this_host(), pair.mirror or pair.primary, name).state is State.VERIFIED


def test_the_old_ones_have_no_record_and_a_whole_structure(survey: Survey) -> None:
    old = [c for c in survey.primary.checkpoints if c.step in DIRECT_STEPS]
    assert len(old) == len(DIRECT_STEPS)
    assert {c.state for c in old} == {State.STRUCTURE_OK}
    assert {c.name.rpartition(".")[2] for c in old} == {"pt", "safetensors"}


def test_the_leftover_of_the_crash_belongs_to_nobody(survey: Survey) -> None:
    (leftover,) = survey.primary.inventory.in_flight
    assert leftover.name == "step_0680.pt.part"
    assert leftover.state is FlightState.STALE
    assert 0 < leftover.size < SMALL


def test_there_is_a_rolling_one_and_a_stranger(survey: Survey) -> None:
    rolling = survey.primary.find("last.pt")
    assert rolling is not None
    assert rolling.sighting.rolling
    assert state_of(survey, Role.PRIMARY, "notes.md") is State.FOREIGN


def test_the_past_is_spread_and_beyond_the_age_guard(survey: Survey) -> None:
    times = sorted(
        c.sighting.identity.mtime_ns / 1e9
        for c in survey.primary.checkpoints
        if c.sighting.identity is not None and c.step is not None
    )
    assert survey.taken_at - times[-1] > DEFAULT_POLICY.min_age
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(600 < gap < 720 for gap in gaps)
    projection = survey.space[Role.PRIMARY]
    assert projection.interval == pytest.approx(660, abs=1)


def test_it_is_the_same_every_time(scene: Scene, tmp_path: Path) -> None:
    again = build_scene(this_host(), str(tmp_path), SMALL)
    for one, other in ((scene.primary, again.primary), (scene.mirror, again.mirror)):
        names = sorted(name for name in os.listdir(one) if not name.startswith("."))
        assert names == sorted(name for name in os.listdir(other) if not name.startswith("."))
        for name in names:
            assert Path(one, name).read_bytes() == Path(other, name).read_bytes()
