"""Reading what nobody recorded: what the checksums inside prove, refute, and leave open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.deep_look import look_deep, verify_deep
from ckptdeck.core.plans.adopt import plan_adopt
from ckptdeck.core.plans.plan import Outcome
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.states import Kind, Role, State, Structure
from ckptdeck.core.survey import Survey, take_survey
from ckptdeck.core.unit import Unit
from tests.core.workbench import Workbench

ONE = Path(__file__).parents[1] / "fixtures" / "one_save"
TORCH = "step_0100.pt"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench.fresh(tmp_path)


def put(bench: Workbench, source: str, name: str) -> Unit:
    """A quiet copy of a fixture in the primary."""
    path = bench.primary / name
    old = bench.host.clock.now() - 86_400
    if (ONE / source).is_dir():
        shutil.copytree(ONE / source, path)
    else:
        shutil.copy(ONE / source, path)
    for each in (path, *path.rglob("*")):
        os.utime(each, (old, old))
    return Unit(str(bench.primary), name, Kind.DIRECTORY if path.is_dir() else Kind.FILE)


def flip(path: Path, position: int) -> None:
    """One bit, with the times kept: what memory or a disk does."""
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def survey_of(bench: Workbench) -> Survey:
    return take_survey(bench.host, bench.pair, DEFAULT_POLICY)


def test_checksums_prove_a_whole_file(bench: Workbench) -> None:
    finding = look_deep(bench.host, put(bench, "torch_zip/model.pt", TORCH), Role.PRIMARY)
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums")
    assert "all 30 checksums inside agree" in finding.text


def test_where_there_are_none_that_is_said(bench: Workbench) -> None:
    unit = put(bench, "safetensors/model.safetensors", "model_100.safetensors")
    finding = look_deep(bench.host, unit, Role.PRIMARY)
    assert finding.structure is Structure.OK
    assert finding.proof != "checksums"
    assert "hold no checksum" in finding.text


def test_a_flipped_bit_is_corrupt_and_stays_known(bench: Workbench) -> None:
    """torch loads it without a word; the quick look cannot know."""
    unit = put(bench, "torch_zip/model.pt", TORCH)
    flip(bench.primary / TORCH, (bench.primary / TORCH).stat().st_size // 2)
    before = survey_of(bench).primary.find(TORCH)
    assert before is not None
    assert before.state is State.STRUCTURE_OK
    seen = verify_deep(bench.host, bench.on(Role.PRIMARY), unit)
    assert seen.state is State.CORRUPT
    assert "does not agree" in seen.reason
    assert "torch.load says nothing" in seen.reason
    after = survey_of(bench).primary.find(TORCH)
    assert after is not None
    assert after.state is State.CORRUPT
    assert "does not agree" in after.reason


def test_a_directory_is_read_member_by_member(bench: Workbench) -> None:
    unit = put(bench, "hf_trainer", "checkpoint-2")
    assert verify_deep(bench.host, bench.on(Role.PRIMARY), unit).state is State.STRUCTURE_OK
    optimizer = bench.primary / "checkpoint-2" / "optimizer.pt"
    flip(optimizer, optimizer.stat().st_size // 2)
    seen = verify_deep(bench.host, bench.on(Role.PRIMARY), unit)
    assert seen.state is State.CORRUPT
    assert "optimizer.pt" in seen.reason


@pytest.mark.parametrize(("damaged", "outcome"), [(False, Outcome.DONE), (True, Outcome.FAILED)])
def test_adopt_asks_the_checksums_first_and_says_what_they_proved(
    bench: Workbench, damaged: bool, outcome: Outcome
) -> None:
    put(bench, "torch_zip/model.pt", TORCH)
    if damaged:
        flip(bench.primary / TORCH, (bench.primary / TORCH).stat().st_size // 2)
    result = apply(bench.host, bench.pair, DEFAULT_POLICY, plan_adopt(survey_of(bench)))
    (one,) = result.results
    assert one.outcome is outcome
    assert ("does not agree" if damaged else "all 30 checksums inside agree") in one.text
    assert (bench.manifest().record(TORCH) is None) is damaged


def test_what_is_gone_is_missing_and_what_changes_is_being_written(bench: Workbench) -> None:
    target = bench.on(Role.PRIMARY)
    assert verify_deep(bench.host, target, Unit(target.root, TORCH)).state is State.MISSING
    (bench.primary / TORCH).mkdir()
    assert verify_deep(bench.host, target, Unit(target.root, TORCH)).state is State.UNSAFE_WRITE
