"""The library as a trainer uses it: the public name, real writers, the record beside the file."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
import xxhash

import ckptdeck
from ckptdeck.core.checkpoint_set import CheckpointSet, find_set
from ckptdeck.core.errors import Refused, UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.sighting import Record
from ckptdeck.core.states import Origin, Role
from ckptdeck.monitor.host import this_host

Save = Callable[[BinaryIO], None]


def save_zip(stream: BinaryIO) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.bin", bytes(range(256)) * 5000)
        archive.writestr("b.bin", b"short")


def load_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.read("b.bin") == b"short"


def save_h5py(stream: BinaryIO) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(stream, "w") as file:
        file["weights"] = np.arange(300_000, dtype="f4")
        file["late"] = np.arange(10)


def load_h5py(path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(path, "r") as file:
        assert np.array_equal(file["weights"][:], np.arange(300_000, dtype="f4"))


def save_safetensors(stream: BinaryIO) -> None:
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    stream.write(safetensors.save({"weights": np.arange(300_000, dtype="f4")}))


def load_safetensors(path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    assert np.array_equal(safetensors.load_file(path)["weights"], np.arange(300_000, dtype="f4"))


def save_numpy(stream: BinaryIO) -> None:
    np.save(stream, np.arange(300_000, dtype="f4"))


def load_numpy(path: Path) -> None:
    assert np.array_equal(np.load(path), np.arange(300_000, dtype="f4"))


WRITERS = [
    pytest.param("step_0050.pt", save_zip, load_zip, id="zipfile"),
    pytest.param("step_0050.h5", save_h5py, load_h5py, id="h5py"),
    pytest.param("step_0050.safetensors", save_safetensors, load_safetensors, id="safetensors"),
    pytest.param("step_0050.npy", save_numpy, load_numpy, id="numpy.save"),
]


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None, run_id="run-1").pair.primary


def record_of(checkpoint_set: CheckpointSet, name: str) -> Record:
    record = Manifest(FileSystem(), checkpoint_set).record(name)
    assert record is not None
    return record


def save_and_fail(checkpoint_set: CheckpointSet, name: str, save: Save) -> None:
    with ckptdeck.publish(checkpoint_set.root, name) as stream:
        save(stream)
        raise RuntimeError("out of memory")


def digest_by_others(path: Path) -> str:
    """The digest as a program that is not ours sees it."""
    xxhsum = shutil.which("xxhsum")
    if xxhsum is None:
        return xxhash.xxh3_128(path.read_bytes()).hexdigest()
    done = subprocess.run([xxhsum, "-q", "-H2", path], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


@pytest.mark.parametrize(("name", "save", "load"), WRITERS)
def test_what_a_real_writer_saved_is_whole_and_recorded(
    run_set: CheckpointSet, name: str, save: Save, load: Callable[[Path], None]
) -> None:
    with ckptdeck.publish(run_set.root, name) as stream:
        save(stream)
    path = Path(run_set.root, name)
    load(path)
    record = record_of(run_set, name)
    assert record.size == path.stat().st_size
    assert record.mtime_ns == path.stat().st_mtime_ns
    assert record.digest == digest_by_others(path)
    assert record.origin is Origin.PUBLISHED
    assert os.listdir(run_set.root) == [name]


@pytest.mark.parametrize(("name", "save", "load"), WRITERS)
def test_nothing_has_a_name_when_the_save_raises(
    run_set: CheckpointSet, name: str, save: Save, load: Callable[[Path], None]
) -> None:
    with pytest.raises(RuntimeError, match="out of memory"):
        save_and_fail(run_set, name, save)
    assert os.listdir(run_set.root) == []
    manifest = Manifest(FileSystem(), run_set)
    assert manifest.record(name) is None
    assert manifest.next_record(name) is None


def test_a_writer_may_go_on_through_the_descriptor(run_set: CheckpointSet) -> None:
    """As torch's legacy format, `ndarray.tofile` and child processes do after a flush."""
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        stream.write(b"head ")
        stream.flush()
        os.write(stream.fileno(), b"direct ")
        stream.write(b"tail")
    assert Path(run_set.root, "step_0050.pt").read_bytes() == b"head direct tail"


def test_step_metrics_and_run_are_kept(run_set: CheckpointSet) -> None:
    with ckptdeck.publish(run_set.root, "model.pt", step=810, metrics={"loss": 1.93}) as stream:
        save_zip(stream)
    record = record_of(run_set, "model.pt")
    assert (record.step, record.metrics, record.run_id) == (810, {"loss": 1.93}, "run-1")


def test_the_step_is_read_from_the_name(run_set: CheckpointSet) -> None:
    with ckptdeck.publish(run_set.root, "step_0810.pt") as stream:
        save_zip(stream)
    assert record_of(run_set, "step_0810.pt").step == 810


def test_a_restarted_run_replaces_its_step(run_set: CheckpointSet) -> None:
    for content in (b"first", b"second, longer"):
        with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
            stream.write(content)
    path = Path(run_set.root, "step_0050.pt")
    assert path.read_bytes() == b"second, longer"
    assert record_of(run_set, "step_0050.pt").digest == xxhash.xxh3_128(b"second, longer").hexdigest()


def test_a_failing_replacement_leaves_the_old_one(run_set: CheckpointSet) -> None:
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        stream.write(b"first")
    with pytest.raises(RuntimeError):
        save_and_fail(run_set, "step_0050.pt", save_zip)
    assert Path(run_set.root, "step_0050.pt").read_bytes() == b"first"
    assert record_of(run_set, "step_0050.pt").digest == xxhash.xxh3_128(b"first").hexdigest()
    assert os.listdir(run_set.root) == ["step_0050.pt"]


def test_refusing_to_replace_is_said_before_anything_is_written(run_set: CheckpointSet) -> None:
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        stream.write(b"first")
    reached = False
    with pytest.raises(Refused, match="exists already"):
        with ckptdeck.publish(run_set.root, "step_0050.pt", exists="refuse") as stream:
            reached = True
    assert not reached
    assert Path(run_set.root, "step_0050.pt").read_bytes() == b"first"


def test_reading_back_leaves_a_receipt(run_set: CheckpointSet) -> None:
    with ckptdeck.publish(run_set.root, "step_0050.pt", readback=True) as stream:
        save_zip(stream)
    receipt = Manifest(FileSystem(), run_set).receipt("step_0050.pt")
    assert receipt is not None
    assert receipt.good
    status = Path(run_set.root, "step_0050.pt").stat()
    assert [(s.size, s.mtime_ns, s.ctime_ns) for s in receipt.stamps] == [
        (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    ]


def test_without_init_the_file_is_named_and_nothing_else_is_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "ckpt"
    root.mkdir()
    with ckptdeck.publish(root, "step_0050.pt") as stream:
        save_zip(stream)
    load_zip(root / "step_0050.pt")
    assert os.listdir(tmp_path) == ["ckpt"]
    assert os.listdir(root) == ["step_0050.pt"]
    assert "not recorded" in caplog.text


def test_publish_in_the_mirror_of_a_pair_works_too(tmp_path: Path) -> None:
    primary, mirror = tmp_path / "ckpt", tmp_path / "mirror"
    primary.mkdir()
    mirror.mkdir()
    initialise(this_host(), str(primary), str(mirror))
    with ckptdeck.publish(mirror, "step_0050.pt") as stream:
        stream.write(b"content")
    record_of(find_set(FileSystem(), str(mirror), Role.MIRROR), "step_0050.pt")


def test_publish_file_takes_a_path_and_a_stream(run_set: CheckpointSet, tmp_path: Path) -> None:
    source = tmp_path / "step_0100.pt"
    source.write_bytes(b"content" * 1000)
    assert ckptdeck.publish_file(source, run_set.root) == os.path.join(run_set.root, "step_0100.pt")
    assert ckptdeck.publish_file(io.BytesIO(b"other"), run_set.root, "step_0150.pt").endswith("step_0150.pt")
    assert record_of(run_set, "step_0100.pt").digest == xxhash.xxh3_128(b"content" * 1000).hexdigest()
    assert Path(run_set.root, "step_0150.pt").read_bytes() == b"other"


def test_a_library_may_put_its_own_directory_in_the_place_of_ours(run_set: CheckpointSet, tmp_path: Path) -> None:
    """As Orbax does when it is told to overwrite."""
    with ckptdeck.publish_directory(run_set.root, "500", readback=True) as path:
        made = tmp_path / "made"
        made.mkdir()
        (made / "values").write_bytes(b"whole")
        os.rmdir(path)
        made.rename(path)
    assert Path(run_set.root, "500", "values").read_bytes() == b"whole"
    receipt = Manifest(FileSystem(), run_set).receipt("500")
    assert receipt is not None
    assert receipt.digest == record_of(run_set, "500").digest
    assert os.listdir(run_set.control_path("staging")) == []


@pytest.mark.parametrize("name", ["", "..", "a/b.pt", "step_0050.pt.part", "step_0050.pt.tmp"])
def test_names_that_cannot_be_a_checkpoints_are_refused(run_set: CheckpointSet, name: str) -> None:
    with pytest.raises(UsageError), ckptdeck.publish(run_set.root, name):
        pytest.fail("the block must not run")
    assert os.listdir(run_set.root) == []


def test_the_public_names_resolve_and_an_unknown_one_does_not() -> None:
    for name in ckptdeck.__all__:
        assert getattr(ckptdeck, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'publsh'"):
        _ = ckptdeck.publsh


def test_damaged_bookkeeping_never_costs_a_save(run_set: CheckpointSet) -> None:
    Path(run_set.control_path("set.json")).write_bytes(b"{")
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        stream.write(b"whole")
    assert Path(run_set.root, "step_0050.pt").read_bytes() == b"whole"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, True])
def test_a_metric_no_record_can_hold_costs_no_save(
    run_set: CheckpointSet, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    with ckptdeck.publish(run_set.root, "step_0810.pt", metrics={"loss": value, "\udcff": 1.0, "lr": 0.1}) as stream:
        stream.write(b"weights")
    assert record_of(run_set, "step_0810.pt").metrics == {"lr": 0.1}
    assert "recorded without \\xff, loss" in caplog.text
