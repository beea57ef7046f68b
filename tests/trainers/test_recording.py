"""Directories that a trainer saves in place: recorded once they are finished, and forgotten when it removes them."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet, find_pair
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Origin, State
from ckptdeck.core.survey import take_survey
from ckptdeck.monitor.host import this_host
from ckptdeck.trainers.recording import InPlaceRecorder
from tests.core.units import fill
from tests.crash.sandbox import machine

FILES: dict[str, bytes | str | None] = {
    "model.safetensors": b"\x08\0\0\0\0\0\0\0{}      ",
    "trainer_state.json": b'{"global_step": 100}',
}
NAME = "checkpoint-100"


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None, run_id="run-1").pair.primary


def put(root: str | Path, step: int) -> Path:
    return fill(Path(root, f"checkpoint-{step}"), FILES | {"trainer_state.json": b'{"global_step": %d}' % step})


def record_of(run_set: CheckpointSet, name: str = NAME) -> Record | None:
    return Manifest(FileSystem(), run_set).record(name)


def states(run_set: CheckpointSet) -> dict[str, State]:
    """An hour from now; what is gone has been gone for two looks."""
    pair = find_pair(FileSystem(), run_set.root, None)
    survey = take_survey(machine(FileSystem()), pair, DEFAULT_POLICY)
    survey = take_survey(machine(FileSystem()), pair, DEFAULT_POLICY, survey)
    return {one.name: one.state for one in survey.primary.checkpoints}


def test_what_is_finished_is_recorded_and_verified(run_set: CheckpointSet) -> None:
    put(run_set.root, 100)
    assert states(run_set) == {NAME: State.STRUCTURE_OK}
    assert InPlaceRecorder(run_set.root).record(NAME, 100, {"loss": 1.5})
    record = record_of(run_set)
    assert record is not None
    assert (record.step, record.metrics, record.origin, record.run_id) == (100, {"loss": 1.5}, Origin.ADOPTED, "run-1")
    assert states(run_set) == {NAME: State.VERIFIED}


def test_saved_again_it_is_recorded_again(run_set: CheckpointSet) -> None:
    put(run_set.root, 100)
    recorder = InPlaceRecorder(run_set.root)
    assert recorder.record(NAME, 100, {})
    before = record_of(run_set)
    fill(Path(run_set.root, NAME), {"model.safetensors": b"\x08\0\0\0\0\0\0\0{ }     "})
    assert recorder.record(NAME, 100, {})
    after = record_of(run_set)
    assert before is not None
    assert after is not None
    assert before.digest != after.digest
    assert states(run_set) == {NAME: State.VERIFIED}


def test_what_its_own_format_calls_unfinished_is_not(run_set: CheckpointSet, caplog: pytest.LogCaptureFixture) -> None:
    fill(Path(run_set.root, NAME), {"optimizer.pt": b"o" * 100, "rng_state.pth": b"r" * 100})
    assert not InPlaceRecorder(run_set.root).record(NAME, 100, {})
    assert record_of(run_set) is None
    assert f"{run_set.root}/{NAME} is saved and not recorded: " in caplog.text
    assert "trainer_state.json, which is written last" in caplog.text


def test_what_somebody_still_writes_is_not(run_set: CheckpointSet, caplog: pytest.LogCaptureFixture) -> None:
    place = put(run_set.root, 100)
    with (place / "late.pt").open("wb") as late:
        late.write(b"half")
        late.flush()
        assert not InPlaceRecorder(run_set.root).record(NAME, 100, {})
    assert record_of(run_set) is None
    assert "held open for writing" in caplog.text


def test_what_is_not_there_is_told(run_set: CheckpointSet, caplog: pytest.LogCaptureFixture) -> None:
    assert not InPlaceRecorder(run_set.root).record(NAME, 100, {})
    assert "is saved and not recorded" in caplog.text


def test_without_init_it_warns_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, 100)
    recorder = InPlaceRecorder(str(tmp_path))
    assert not recorder.record(NAME, 100, {})
    assert not recorder.record(NAME, 100, {})
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "`ckptdeck init` changes that" in warnings[0]


def test_a_disk_that_refuses_the_record_is_told_each_time(
    run_set: CheckpointSet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(run_set.root, 100)

    def write_record(_manifest: Manifest, _record: Record) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Manifest, "write_record", write_record)
    recorder = InPlaceRecorder(run_set.root)
    assert not recorder.record(NAME, 100, {})
    assert not recorder.record(NAME, 100, {})
    assert caplog.text.count("is saved and not recorded") == 2


def test_what_the_runs_retention_removed_is_no_trouble(run_set: CheckpointSet) -> None:
    """The newest too: with a limit of one, Trainer keeps the best and removes the last."""
    recorder = InPlaceRecorder(run_set.root)
    for step in (100, 200, 300):
        put(run_set.root, step)
        assert recorder.record(f"checkpoint-{step}", step, {})
    for step in (100, 300):
        shutil.rmtree(Path(run_set.root, f"checkpoint-{step}"))
    assert states(run_set)["checkpoint-300"] is State.MISSING
    recorder.forget_removed({"checkpoint-200": 200})
    assert states(run_set) == {
        "checkpoint-300": State.REMOVED,
        "checkpoint-200": State.VERIFIED,
        "checkpoint-100": State.REMOVED,
    }


def test_what_was_gone_before_the_run_began_stays_missing(run_set: CheckpointSet) -> None:
    for step in (100, 200):
        put(run_set.root, step)
        assert InPlaceRecorder(run_set.root).record(f"checkpoint-{step}", step, {})
    shutil.rmtree(Path(run_set.root, "checkpoint-200"))
    resumed = InPlaceRecorder(run_set.root)
    resumed.look({"checkpoint-100": 100})
    resumed.forget_removed({"checkpoint-100": 100})
    assert states(run_set)["checkpoint-200"] is State.MISSING


def test_a_retired_one_that_is_saved_again_counts_again(run_set: CheckpointSet) -> None:
    recorder = InPlaceRecorder(run_set.root)
    for step in (100, 200):
        put(run_set.root, step)
        assert recorder.record(f"checkpoint-{step}", step, {})
    shutil.rmtree(Path(run_set.root, "checkpoint-200"))
    recorder.forget_removed({"checkpoint-100": 100})
    put(run_set.root, 200)
    assert states(run_set)["checkpoint-200"] is State.RETIRED
    assert recorder.record("checkpoint-200", 200, {})
    assert states(run_set)["checkpoint-200"] is State.VERIFIED
    assert os.listdir(run_set.control_path("removing")) == []
