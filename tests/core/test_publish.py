from __future__ import annotations

import errno
import io
import logging
import os
import zipfile
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.errors import ContentMismatch, InUse, NoSpace, Refused, UsageError, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.naming import part_name
from ckptdeck.core.part import open_part
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Evidence, Origin, Role
from ckptdeck.core.volume import volume_of
from tests.core.workbench import Workbench, digest_of
from tests.crash.sandbox import machine

DATA = os.urandom(300_000)


class Failing(FileSystem):
    """Fails one named call, the n-th time (0: the first), on paths that contain a text."""

    def __init__(self, call: str, code: int, nth: int = 0) -> None:
        self.left = {call: nth}
        self.code = code

    def _count(self, call: str) -> None:
        if call in self.left:
            if self.left[call] == 0:
                raise OSError(self.code, os.strerror(self.code))
            self.left[call] -= 1

    def fsync(self, fd: int) -> None:
        self._count("fsync")
        super().fsync(fd)

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        self._count("pwrite")
        return super().pwrite(fd, data, offset)

    def rename(self, source: str, target: str) -> None:
        self._count("rename")
        super().rename(source, target)


def test_a_published_file_is_whole_recorded_and_alone(bench: Workbench) -> None:
    result = bench.publish("step_0810.pt", DATA)
    assert Path(result.path).read_bytes() == DATA
    assert bench.names(Role.PRIMARY) == {"step_0810.pt"}
    record = bench.record("step_0810.pt")
    assert (record.digest, record.size, record.origin) == (digest_of(DATA), len(DATA), Origin.PUBLISHED)
    assert record.run_id == "llama-ft-07"
    assert result.warnings == ()


def test_without_read_back_there_is_no_receipt_and_with_it_there_is(bench: Workbench) -> None:
    assert bench.publish("step_1.pt", DATA).receipt is None
    receipt = bench.publish("step_2.pt", DATA, readback=True).receipt
    assert receipt is not None
    assert receipt.good
    assert receipt.evidence in (Evidence.DEVICE, Evidence.CACHE)
    status = (bench.primary / "step_2.pt").stat()
    assert receipt.stamps[0].ctime_ns == status.st_ctime_ns
    assert bench.manifest().receipt("step_2.pt") == receipt


def test_a_writer_that_seeks_back_gets_the_digest_of_what_is_on_disk(bench: Workbench) -> None:
    with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.zip")) as (stream, _):
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("data.pkl", DATA)
    assert bench.record("step_1.zip").digest == digest_of((bench.primary / "step_1.zip").read_bytes())


def test_a_writer_that_takes_the_descriptor_gets_the_digest_of_what_is_on_disk(bench: Workbench) -> None:
    with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.bin")) as (stream, _):
        os.write(stream.fileno(), DATA)
    assert bench.record("step_1.bin").digest == digest_of(DATA)


def test_a_writer_that_truncates_gets_the_digest_of_what_is_on_disk(bench: Workbench) -> None:
    with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.bin")) as (stream, _):
        stream.write(DATA)
        stream.truncate(1000)
    assert bench.record("step_1.bin").digest == digest_of(DATA[:1000])


def test_a_stream_that_the_caller_closed_is_published_all_the_same(bench: Workbench) -> None:
    with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.bin")) as (stream, _):
        stream.write(DATA)
        stream.close()
    assert (bench.primary / "step_1.bin").read_bytes() == DATA


def test_an_exception_inside_leaves_no_name_and_is_passed_on(bench: Workbench) -> None:
    def save_half() -> None:
        with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.pt")) as (stream, _):
            stream.write(DATA)
            raise RuntimeError("CUDA out of memory")

    with pytest.raises(RuntimeError, match="CUDA"):
        save_half()
    assert bench.names(Role.PRIMARY) == set()
    assert bench.manifest().next_record("step_1.pt") is None


@pytest.mark.parametrize(
    ("call", "nth", "code", "error"),
    [
        ("pwrite", 0, errno.ENOSPC, NoSpace),
        ("pwrite", 0, errno.EDQUOT, NoSpace),
        ("fsync", 0, errno.EIO, VolumeSuspect),
        ("fsync", 0, errno.ENOSPC, NoSpace),
    ],
)
def test_what_cannot_be_made_durable_gets_no_name(
    tmp_path: Path, call: str, nth: int, code: int, error: type[Exception]
) -> None:
    bench = Workbench.fresh(tmp_path, Failing(call, code, nth))
    with pytest.raises(error):
        bench.publish("step_1.pt", DATA)
    assert bench.names(Role.PRIMARY) == set()
    assert bench.manifest().record("step_1.pt") is None


def test_a_record_that_cannot_be_written_never_fails_the_save(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench = Workbench.fresh(tmp_path, Failing("pwrite", errno.ENOSPC, nth=1))
    with caplog.at_level(logging.WARNING, "ckptdeck"):
        result = bench.publish("step_1.pt", DATA)
    assert (bench.primary / "step_1.pt").read_bytes() == DATA
    assert [warning.code for warning in result.warnings] == ["unrecorded"]
    assert "No space left" in caplog.text


def test_replacing_says_in_advance_what_may_be_replaced(bench: Workbench) -> None:
    bench.publish("last.pt", b"old")
    bench.publish("last.pt", b"newer", replace=True)
    record = bench.record("last.pt")
    assert (record.digest, record.replaces) == (digest_of(b"newer"), digest_of(b"old"))


def test_an_existing_name_is_refused_unless_replacing_is_asked_for(bench: Workbench) -> None:
    bench.publish("step_1.pt", b"old")
    with pytest.raises(Refused) as refused:
        bench.publish("step_1.pt", b"new")
    assert refused.value.guard == "exists"
    assert (bench.primary / "step_1.pt").read_bytes() == b"old"


def test_a_name_that_appears_while_writing_is_not_clobbered(bench: Workbench) -> None:
    def race() -> None:
        with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.pt")) as (stream, _):
            stream.write(b"ours")
            bench.put(Role.PRIMARY, "step_1.pt", b"theirs")

    with pytest.raises(Refused):
        race()
    assert (bench.primary / "step_1.pt").read_bytes() == b"theirs"
    assert bench.names(Role.PRIMARY) == {"step_1.pt"}
    assert bench.manifest().next_record("step_1.pt") is None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "x\0y", "step_1.pt.part", ".ckptdeck"])
def test_names_that_can_be_no_checkpoint_are_refused(bench: Workbench, name: str) -> None:
    with pytest.raises(UsageError):
        bench.publish(name, DATA)


@pytest.mark.parametrize(
    "name", ["step_1 with\nnewline.pt", "[bold]step_2[.pt", "\x1b]0;title\x07step_3.pt", os.fsdecode(b"step_\xff4.pt")]
)
def test_hostile_names_are_published_and_recorded(bench: Workbench, name: str) -> None:
    bench.publish(name, DATA)
    assert bench.names(Role.PRIMARY) == {name}
    assert bench.record(name).digest == digest_of(DATA)


@pytest.mark.parametrize("length", [250, 251, 255])
def test_names_up_to_the_longest_are_staged_within_the_limit(bench: Workbench, length: int) -> None:
    name = "s" * (length - 6) + "_1.bin"
    bench.publish(name, DATA)
    assert bench.names(Role.PRIMARY) == {name}
    assert bench.record(name).name == name


def test_a_part_that_is_a_link_leaves_its_victim_alone(bench: Workbench) -> None:
    victim = bench.put(Role.MIRROR, "victim.pt", b"precious")
    (bench.primary / part_name("step_1.pt")).symlink_to(victim)
    with pytest.raises(Refused):
        bench.publish("step_1.pt", DATA)
    assert victim.read_bytes() == b"precious"


def test_a_leftover_of_a_dead_writer_makes_way(bench: Workbench) -> None:
    bench.put(Role.PRIMARY, part_name("step_1.pt"), b"half a checkpoint")
    bench.publish("step_1.pt", DATA)
    assert bench.names(Role.PRIMARY) == {"step_1.pt"}


def test_a_part_with_a_living_writer_is_not_touched(bench: Workbench) -> None:
    volume = volume_of(bench.host.fs, str(bench.primary))
    living = open_part(bench.host, str(bench.primary), "step_1.pt", volume, minimum_age=300)
    living.write(b"in flight")
    with pytest.raises(InUse):
        bench.publish("step_1.pt", DATA)
    assert (bench.primary / part_name("step_1.pt")).read_bytes() == b"in flight"
    living.discard()


def test_a_forked_child_does_not_keep_a_dead_writers_part_alive(bench: Workbench) -> None:
    volume = volume_of(bench.host.fs, str(bench.primary))
    part = open_part(bench.host, str(bench.primary), "step_1.pt", volume, minimum_age=300)
    (ready, is_ready), (stop, stops) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(stops)
        os.write(is_ready, b"x")
        os.read(stop, 1)  # lives on until the parent is done
        os._exit(0)
    os.read(ready, 1)
    part.release()  # what the parent's death would do
    try:
        bench.publish("step_1.pt", DATA)
    finally:
        os.close(stops)
        os.waitpid(child, 0)
        for end in (ready, is_ready, stop):
            os.close(end)
    assert bench.names(Role.PRIMARY) == {"step_1.pt"}


def test_the_device_that_returns_other_bytes_gets_no_name(tmp_path: Path) -> None:
    class Rotting(FileSystem):
        def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
            count = super().read_into(fd, buffer, offset)
            if count > 1000:  # data, not one of our small files
                buffer[0] ^= 1
            return count

    bench = Workbench.fresh(tmp_path, Rotting())
    with pytest.raises(ContentMismatch):
        bench.publish("step_1.pt", DATA, readback=True)
    assert bench.names(Role.PRIMARY) == set()


def test_an_uninitialised_directory_is_published_to_and_says_so(tmp_path: Path) -> None:
    host = machine(FileSystem())
    target = find_set(host.fs, str(tmp_path), Role.PRIMARY)
    with publish(host, target, Intent("step_1.pt")) as (stream, result):
        stream.write(DATA)
    assert (tmp_path / "step_1.pt").read_bytes() == DATA
    assert [warning.code for warning in result.warnings] == ["unrecorded"]
    assert [path.name for path in tmp_path.parent.iterdir() if "ckptdeck" in path.name] == []


def test_the_record_of_an_interrupted_publish_is_finished_by_the_next(bench: Workbench) -> None:
    bench.publish("step_1.pt", b"first")
    manifest = bench.manifest()
    first = bench.record("step_1.pt")
    control = bench.on(Role.PRIMARY).control_path("manifest")
    os.rename(f"{control}/step_1.pt.json", f"{control}/step_1.pt.json.next")  # killed before the last rename
    assert manifest.record("step_1.pt") is None
    bench.publish("step_1.pt", b"second", replace=True)
    assert bench.record("step_1.pt").replaces == first.digest


def test_the_stream_is_an_ordinary_binary_file(bench: Workbench) -> None:
    with publish(bench.host, bench.on(Role.PRIMARY), Intent("step_1.bin")) as (stream, _):
        assert isinstance(stream, io.BufferedIOBase)
        assert stream.writable()
        assert stream.seekable()
        stream.write(b"abc")
        assert stream.tell() == 3
        stream.seek(0)
        assert stream.read() == b"abc"
    assert bench.record("step_1.bin").digest == digest_of(b"abc")
