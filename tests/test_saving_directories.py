"""The library as a trainer saves a directory with it: all of it under its name, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import ckptdeck
from ckptdeck.core.checkpoint_set import CheckpointSet, find_set
from ckptdeck.core.errors import CkptdeckError, InUse, Refused, UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Kind, Role
from ckptdeck.monitor.host import this_host
from tests.core.units import contents, fill

FILES: dict[str, bytes | str | None] = {
    "model.safetensors": b"m" * 70_000,
    "global_step500/zero_pp_rank_0.pt": b"z" * 9000,
    "latest": b"global_step500",
    "trainer_state.json": b"{}",
    "to": "global_step500",
}
NAME = "checkpoint-500"


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    initialise(this_host(), str(root), None, run_id="run-1")
    return find_set(FileSystem(), str(root), Role.PRIMARY)


def record_of(run_set: CheckpointSet, name: str = NAME) -> Record:
    record = Manifest(FileSystem(), run_set).record(name)
    assert record is not None
    return record


def save(root: str | os.PathLike[str], files: dict[str, bytes | str | None] | None = None, name: str = NAME) -> None:
    with ckptdeck.publish_directory(root, name) as path:
        fill(Path(path), FILES if files is None else files)


def is_clean(run_set: CheckpointSet, *names: str) -> bool:
    manifest = Manifest(FileSystem(), run_set)
    left = os.listdir(run_set.control_path("staging"))
    return sorted(os.listdir(run_set.root)) == sorted(names) and left == [] and manifest.next_record(NAME) is None


def test_what_was_saved_is_whole_recorded_and_alone(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, NAME, metrics={"loss": 1.9}) as path:
        assert os.listdir(path) == []
        assert os.listdir(run_set.root) == []
        fill(Path(path), FILES)
    assert contents(Path(run_set.root, NAME)) == FILES
    record = record_of(run_set)
    assert (record.kind, record.step, record.metrics, record.run_id) == (Kind.DIRECTORY, 500, {"loss": 1.9}, "run-1")
    assert is_clean(run_set, NAME)


def test_the_step_may_be_told(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, "final", step=9) as path:
        fill(Path(path), FILES)
    assert record_of(run_set, "final").step == 9


def _raise(_path: Path) -> None:
    raise RuntimeError("out of memory")


def _interrupt(_path: Path) -> None:
    raise KeyboardInterrupt


def _exit(_path: Path) -> None:
    sys.exit(3)


@pytest.mark.parametrize("fails", [_raise, _interrupt, _exit])
@pytest.mark.parametrize("old", [False, True])
def test_whatever_ends_the_block_leaves_what_was_there(
    run_set: CheckpointSet, fails: Callable[[Path], None], old: bool
) -> None:
    if old:
        save(run_set.root, {"old": b"1"})

    def save_and_fail() -> None:
        with ckptdeck.publish_directory(run_set.root, NAME) as path:
            fill(Path(path), FILES)
            fails(Path(path))

    with pytest.raises((RuntimeError, KeyboardInterrupt, SystemExit)):
        save_and_fail()
    assert is_clean(run_set, *([NAME] if old else []))
    if old:
        assert contents(Path(run_set.root, NAME)) == {"old": b"1"}
        assert record_of(run_set).size == 1


def test_a_restarted_run_replaces_its_step(run_set: CheckpointSet) -> None:
    save(run_set.root, {"first": b"1", "both": b"1"})
    save(run_set.root, {"second": b"22", "both": b"2"})
    assert contents(Path(run_set.root, NAME)) == {"second": b"22", "both": b"2"}
    assert record_of(run_set).size == 3
    assert is_clean(run_set, NAME)


def test_refusing_to_replace_is_said_before_the_block(run_set: CheckpointSet) -> None:
    save(run_set.root)
    with pytest.raises(Refused, match="exists already"):
        with ckptdeck.publish_directory(run_set.root, NAME, exists="refuse"):
            pytest.fail("the block must not run")
    with pytest.raises(UsageError, match="exists="):
        with ckptdeck.publish_directory(run_set.root, NAME, exists="maybe"):  # type: ignore[arg-type]
            pytest.fail("the block must not run")


def test_reading_back_leaves_a_receipt(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, NAME, readback=True) as path:
        fill(Path(path), FILES)
    receipt = Manifest(FileSystem(), run_set).receipt(NAME)
    assert receipt is not None
    assert (receipt.good, receipt.digest) == (True, record_of(run_set).digest)


def test_without_init_it_is_named_and_nothing_else_is_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "ckpt"
    root.mkdir()
    save(root)
    assert contents(root / NAME) == FILES
    assert (os.listdir(tmp_path), os.listdir(root)) == (["ckpt"], [NAME])
    assert "not recorded" in caplog.text


def test_a_set_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CkptdeckError):
        save(tmp_path / "nothing")
    assert os.listdir(tmp_path) == []


def test_blocks_may_lie_inside_one_another_and_files_be_published_in_one(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, NAME) as outer:
        fill(Path(outer), FILES)
        save(run_set.root, {"x": b"1"}, "checkpoint-501")
        with ckptdeck.publish(run_set.root, "step_0502.pt") as stream:
            stream.write(b"2")
        with pytest.raises(InUse):
            save(run_set.root)
    assert is_clean(run_set, NAME, "checkpoint-501", "step_0502.pt")
    assert contents(Path(run_set.root, NAME)) == FILES


def test_threads_of_one_process_save_other_names_at_once(run_set: CheckpointSet) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            save(run_set.root, {"x": bytes([number])}, f"checkpoint-{number}")
        except BaseException as error:  # noqa: BLE001  the main thread tells
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert is_clean(run_set, *(f"checkpoint-{number}" for number in range(8)))


_OTHER = """
import sys, ckptdeck
try:
    with ckptdeck.publish_directory(sys.argv[1], "checkpoint-500") as path:
        sys.exit(9)
except ckptdeck.CkptdeckError as error:
    sys.stdout.write(type(error).__name__)
"""


def test_another_process_cannot_save_the_same_name_meanwhile(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, NAME) as path:
        fill(Path(path), FILES)
        done = subprocess.run([sys.executable, "-c", _OTHER, run_set.root], capture_output=True, text=True, check=True)
        assert done.stdout == "InUse"
    assert contents(Path(run_set.root, NAME)) == FILES


_RANK = """
import sys
with open(sys.argv[1] + "/rank_" + sys.argv[2] + ".pt", "wb") as file:
    file.write(b"r" * 100)
"""


def test_ranks_of_other_processes_may_fill_it(run_set: CheckpointSet) -> None:
    with ckptdeck.publish_directory(run_set.root, NAME) as path:
        ranks = [subprocess.Popen([sys.executable, "-c", _RANK, path, str(rank)]) for rank in range(3)]
        assert [rank.wait() for rank in ranks] == [0, 0, 0]
    assert contents(Path(run_set.root, NAME)) == {f"rank_{rank}.pt": b"r" * 100 for rank in range(3)}


def test_a_forked_child_that_leaves_the_block_ends_no_publish(run_set: CheckpointSet) -> None:
    """A worker that raises out of the block in its own process must not take the directory apart."""
    with ckptdeck.publish_directory(run_set.root, NAME) as path:
        fill(Path(path), FILES)
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert contents(Path(run_set.root, NAME)) == FILES


_FORKING = """
import os, sys, ckptdeck
how, directory = sys.argv[2], sys.argv[3] == "directory"
publish = ckptdeck.publish_directory if directory else ckptdeck.publish
with publish(sys.argv[1], "checkpoint-500") as place:
    if directory:
        with open(place + "/x.pt", "wb") as file:
            file.write(b"xy")
    else:
        place.write(b"xy")
    parent, child = os.getpid(), os.fork()
    if child == 0:
        if how == "exit":
            sys.exit(5)
        if how == "raise":
            raise RuntimeError("of the child")
    else:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if os.getpid() == parent:
    sys.stdout.write(f"{code}")
"""


@pytest.mark.parametrize("what", ["directory", "file"])
@pytest.mark.parametrize(("how", "code"), [("exit", "5"), ("raise", "1"), ("go on", "1")])
def test_a_child_that_leaves_the_block_of_its_parent_harms_nothing(
    run_set: CheckpointSet, how: str, code: str, what: str
) -> None:
    command = [sys.executable, "-c", _FORKING, run_set.root, how, what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, code), done.stderr
    path = Path(run_set.root, NAME)
    assert (path / "x.pt" if what == "directory" else path).read_bytes() == b"xy"
    assert is_clean(run_set, NAME)
    assert record_of(run_set).size == 2
