from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.demo.training import Stopped, Training, loss_at, train
from ckptdeck.monitor.host import this_host
from tests.demo.waiting import wait_until

SMALL = 200_000
AT_ONCE = 0.001


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None, run_id="run-1").pair.primary


def test_saves_are_published_and_every_so_many_are_not(run_set: CheckpointSet) -> None:
    training = Training(run_set.root, saves=3, interval=AT_ONCE, size=SMALL)
    train(training, threading.Event())
    names = ["last.pt", "step_0050.pt", "step_0100.pt", "step_0150.pt"]
    assert sorted(os.listdir(run_set.root)) == names
    for name in names:
        with zipfile.ZipFile(run_set.path_of(name)) as archive:
            assert archive.testzip() is None
    manifest = Manifest(FileSystem(), run_set)
    record = manifest.record("step_0150.pt")
    assert record is not None
    assert (record.step, record.metrics) == (150, {"loss": loss_at(150)})
    assert manifest.record("last.pt") is not None
    assert manifest.record("step_0100.pt") is None, "the second one went straight to its final name"


@pytest.mark.parametrize(("every", "expected"), [(4, [1, 5]), (1, [0, 1, 2, 3, 4, 5]), (2, [1, 3, 5]), (0, [])])
def test_which_saves_are_unsafe(every: int, expected: list[int]) -> None:
    training = Training("", direct_every=every)
    assert [save for save in range(6) if training.saves_directly(save)] == expected


def test_the_loss_falls() -> None:
    assert loss_at(50) > loss_at(500) > loss_at(1000)


def test_a_run_stopped_within_a_save_leaves_no_name(run_set: CheckpointSet) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        train(Training(run_set.root, saves=1, size=SMALL), stop)
    assert os.listdir(run_set.root) == []


# --- the process


@pytest.fixture
def start(run_set: CheckpointSet) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def trainer(*options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "ckptdeck.demo.trainer", run_set.root, "--size", str(SMALL), *options]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield trainer
    for process in started:
        process.kill()
        process.communicate()


def test_the_process_saves_and_ends(run_set: CheckpointSet, start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("--saves", "1", "--interval", "0.01", "--first-step", "750")
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert output.startswith(b"step 750 saved, loss ")
    assert sorted(os.listdir(run_set.root)) == ["last.pt", "step_0750.pt"]


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGHUP", "end of input"])
def test_the_process_ends_in_the_middle_of_a_save(
    run_set: CheckpointSet, start: Callable[..., subprocess.Popen[bytes]], ending: str
) -> None:
    process = start("--interval", "1000", "--until-eof")
    part = Path(run_set.root, "step_0050.pt.part")
    wait_until(lambda: part.exists() and part.stat().st_size > 0)
    if ending == "end of input":
        process.communicate(timeout=10)
    else:
        process.send_signal(signal.Signals[ending])
    assert process.wait(timeout=10) == 0
    assert os.listdir(run_set.root) == []
