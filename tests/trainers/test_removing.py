"""What a trainer's own retention deletes: un-named first, its record with it, and never the end of a training."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import ckptdeck
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.lock import set_lock
from ckptdeck.core.manifest import Manifest
from ckptdeck.monitor.host import SystemClock, this_host
from ckptdeck.trainers.removing import remove_checkpoint
from tests.core.units import contents, fill

FILE, TREE = "step_0100.pt", "checkpoint-100"
FILES: dict[str, bytes | str | None] = {"model.safetensors": b"m" * 900, "trainer_state.json": b"{}"}


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None).pair.primary


def save(root: str | Path, name: str) -> Path:
    if name == FILE:
        with ckptdeck.publish(root, name) as stream:
            stream.write(b"weights")
    else:
        with ckptdeck.publish_directory(root, name) as path:
            fill(Path(path), FILES)
    return Path(root, name)


def put(root: str | Path, name: str) -> Path:
    """As somebody writes it who knows nothing of us."""
    path = Path(root, name)
    if name == FILE:
        path.write_bytes(b"weights")
        return path
    return fill(path, FILES)


def left_in(run_set: CheckpointSet) -> dict[str, list[str]]:
    places = ("manifest", "receipts", "quarantine", "removing", "staging")
    return {place: found for place in places if (found := os.listdir(run_set.control_path(place)))}


@pytest.mark.parametrize("make", [save, put], ids=["recorded", "unrecorded"])
@pytest.mark.parametrize("name", [FILE, TREE])
def test_it_goes_with_its_record_and_leaves_nothing(
    run_set: CheckpointSet, name: str, make: Callable[[str, str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = make(run_set.root, name)
    with caplog.at_level(logging.INFO, "ckptdeck"):
        remove_checkpoint(str(path))
    assert os.listdir(run_set.root) == []
    assert left_in(run_set) == {}
    assert f"{path}: removed by the trainer's own retention" in caplog.text


@pytest.mark.parametrize("name", [FILE, TREE])
def test_the_name_is_gone_before_the_first_byte_is(
    run_set: CheckpointSet, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(run_set.root, name)
    named = []

    def unlink(_fs: FileSystem, victim: str) -> None:
        if "/removing/" in victim:
            named.append(path.exists())
        os.unlink(victim)

    def unlink_in(_fs: FileSystem, directory: int, victim: str) -> None:
        named.append(path.exists())
        os.unlink(victim, dir_fd=directory)

    monkeypatch.setattr(FileSystem, "unlink", unlink)
    monkeypatch.setattr(FileSystem, "unlink_in", unlink_in)
    remove_checkpoint(str(path))
    assert len(named) > 0
    assert not any(named)


@pytest.mark.parametrize("name", [FILE, TREE])
def test_without_init_it_goes_too(tmp_path: Path, name: str) -> None:
    remove_checkpoint(str(put(tmp_path, name)))
    assert os.listdir(tmp_path) == []


def test_a_link_goes_and_what_it_means_stays(run_set: CheckpointSet) -> None:
    save(run_set.root, FILE)
    link = Path(run_set.root, "last.ckpt")
    link.symlink_to(FILE)
    remove_checkpoint(str(link))
    assert os.listdir(run_set.root) == [FILE]


def test_what_is_not_there_needs_no_removing(run_set: CheckpointSet, caplog: pytest.LogCaptureFixture) -> None:
    remove_checkpoint(os.path.join(run_set.root, FILE))
    assert caplog.text == ""


def test_a_damaged_record_goes_too(run_set: CheckpointSet) -> None:
    path = save(run_set.root, FILE)
    Path(run_set.control_path("manifest", FILE + ".json")).write_text("{")
    remove_checkpoint(str(path))
    assert (os.listdir(run_set.root), left_in(run_set)) == ([], {})


def test_a_directory_with_a_socket_in_it_goes_too(run_set: CheckpointSet, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(run_set.root, TREE)
    monkeypatch.chdir(path)
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind("s")
    remove_checkpoint(str(path))
    assert (os.listdir(run_set.root), left_in(run_set)) == ([], {})


def test_it_waits_for_the_set_lock(run_set: CheckpointSet, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(run_set.root, FILE)
    held = set_lock(this_host(), run_set)
    held.__enter__()
    waited: list[float] = []

    def sleep(_clock: SystemClock, seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            held.__exit__(None, None, None)

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    remove_checkpoint(str(path))
    assert (os.listdir(run_set.root), len(waited)) == ([], 3)


def test_what_cannot_be_removed_stays_whole_and_is_told(
    run_set: CheckpointSet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = save(run_set.root, TREE)
    monkeypatch.setattr(SystemClock, "sleep", lambda _self, _seconds: None)
    with set_lock(this_host(), run_set):
        remove_checkpoint(str(path))
    assert contents(path) == FILES
    assert Manifest(FileSystem(), run_set).record(TREE) is not None
    assert f"{path} stays, though the trainer wanted it removed" in caplog.text
    assert "is locked by process" in caplog.text


def test_an_error_of_the_disk_is_told_and_no_end(
    run_set: CheckpointSet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = save(run_set.root, FILE)

    def rename(_fs: FileSystem, _source: str, _target: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(FileSystem, "rename", rename)
    remove_checkpoint(str(path))
    assert path.read_bytes() == b"weights"
    assert "stays, though the trainer wanted it removed" in caplog.text
