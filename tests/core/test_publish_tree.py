"""Publishing directories: whole or not at all, whatever is in them and whoever interferes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.errors import ContentMismatch, InUse, NoSpace, Refused, UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.publish import Intent, Published
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.states import Evidence, Kind, MemberKind, Origin, Role
from ckptdeck.core.unit import unit_digest
from tests.core.units import HOSTILE, contents, fill, rest
from tests.core.workbench import Workbench, digest_of
from tests.crash.sandbox import machine

Files = Mapping[str, bytes | str | None]
FILES: Files = {
    "model.safetensors": b"m" * 100_000,
    "sub/deep/x.dat": b"x" * 3000,
    "trainer_state.json": b"{}",
    "to": "sub/deep/x.dat",
    "dir": "sub",
    "empty": None,
    "sub/hollow": None,
}
NAME = "step_500"


def publish(
    bench: Workbench,
    files: Files,
    name: str = NAME,
    *,
    replace: bool = False,
    readback: bool = False,
    then: Callable[[Path], object] = lambda _root: None,
) -> Published:
    """`then` happens in the block, once `files` are written."""
    intent = Intent(name, step=500, metrics={"loss": 1.5}, replace=replace, readback=readback)
    with publish_tree(bench.host, bench.on(Role.PRIMARY), intent) as (path, result):
        fill(Path(path), files)
        then(Path(path))
    return result


def staged(bench: Workbench) -> list[str]:
    return os.listdir(bench.on(Role.PRIMARY).control_path("staging"))


def nothing_happened(bench: Workbench) -> bool:
    return bench.names(Role.PRIMARY) == set() and staged(bench) == [] and bench.manifest().next_record(NAME) is None


# --- whole


def test_a_published_directory_is_whole_recorded_and_alone(bench: Workbench) -> None:
    result = publish(bench, FILES)
    assert contents(Path(result.path)) == FILES
    assert (bench.names(Role.PRIMARY), staged(bench), result.warnings) == ({NAME}, [], ())
    record = bench.record(NAME)
    assert result.record == record
    assert (record.kind, record.step, record.size, record.origin) == (Kind.DIRECTORY, 500, 103_002, Origin.PUBLISHED)
    assert record.metrics == {"loss": 1.5}
    assert record.digest == unit_digest(record.members)
    assert {member.path: member.kind for member in record.members} == {
        "model.safetensors": MemberKind.FILE,
        "sub/deep/x.dat": MemberKind.FILE,
        "trainer_state.json": MemberKind.FILE,
        "to": MemberKind.LINK,
        "dir": MemberKind.LINK,
        "empty": MemberKind.DIRECTORY,
        "sub/hollow": MemberKind.DIRECTORY,
    }
    assert [m.digest for m in record.members if m.path == "sub/deep/x.dat"] == [digest_of(b"x" * 3000)]


def test_read_back_from_the_device_gives_a_receipt_of_all_of_it(bench: Workbench) -> None:
    result = publish(bench, FILES, readback=True)
    assert result.receipt is not None
    assert (result.receipt.good, result.receipt.evidence) == (True, Evidence.DEVICE)
    assert [stamp.path for stamp in result.receipt.stamps] == [member.path for member in bench.record(NAME).members]
    assert publish(bench, FILES, "step_501").receipt is None


def test_names_inside_may_hold_any_byte(bench: Workbench) -> None:
    files: Files = dict.fromkeys(HOSTILE, b"x" * 10) | {
        f"{HOSTILE[0]}.d/{HOSTILE[1]}": b"y",
        f"{HOSTILE[2]}.link": HOSTILE[2],
    }
    result = publish(bench, files, readback=True)
    assert contents(Path(result.path)) == files
    assert {member.path for member in bench.record(NAME).members} == set(files)


@pytest.mark.parametrize("name", ["x" * 255, "new\nline_7", os.fsdecode(b"b\xff_7"), "[red]_7 & <b>"])
def test_its_own_name_may_hold_any_byte(bench: Workbench, name: str) -> None:
    result = publish(bench, {"a": b"1"}, name)
    assert bench.names(Role.PRIMARY) == {name}
    assert result.record == bench.record(name)
    assert staged(bench) == []


def test_modes_stay_as_the_writer_set_them(bench: Workbench) -> None:
    intent = Intent(NAME, step=500)
    with publish_tree(bench.host, bench.on(Role.PRIMARY), intent) as (path, _):
        root = fill(Path(path), {"secret": b"1", "fixed": b"2", "sub/x": b"3"})
        os.chmod(root / "secret", 0o600)
        os.chmod(root / "fixed", 0o444)
        os.chmod(root / "sub", 0o2555)
    final = bench.primary / NAME
    modes = {inside: stat.S_IMODE((final / inside).stat().st_mode) for inside in ("secret", "fixed", "sub")}
    assert modes == {"secret": 0o600, "fixed": 0o444, "sub": 0o2555}


def test_without_a_control_directory_it_is_named_and_not_recorded(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    host = machine(FileSystem())
    target = find_set(host.fs, str(root), Role.PRIMARY)
    with publish_tree(host, target, Intent(NAME)) as (path, result):
        assert (Path(path).name, Path(path).parent.parent) == (NAME, root)
        assert Path(path).parent.name.startswith(".")
        fill(Path(path), FILES)
    assert os.listdir(root) == [NAME]
    assert result.record is None
    assert [warning.code for warning in result.warnings] == ["unrecorded"]


# --- not at all


class _Oops(Exception):
    pass


def test_an_exception_in_the_block_is_passed_on_and_leaves_nothing(bench: Workbench) -> None:
    def fail(root: Path) -> None:
        os.mkfifo(root / "pipe")
        raise _Oops

    with pytest.raises(_Oops):
        publish(bench, FILES, then=fail)
    assert nothing_happened(bench)


def test_an_empty_directory_is_no_checkpoint(bench: Workbench) -> None:
    for files in ({}, {"sub": None, "to": "sub"}):
        with pytest.raises(UsageError, match="holds no file"):
            publish(bench, dict(files))
        assert nothing_happened(bench)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "sub/../../x"])
def test_a_link_that_leads_out_is_refused(bench: Workbench, target: str) -> None:
    with pytest.raises(Refused) as refused:
        publish(bench, {**FILES, "ou\nt": target})
    assert refused.value.guard == "symlink"
    assert r"ou\nt is a link to" in str(refused.value)
    assert nothing_happened(bench)


def test_a_pipe_inside_is_refused_and_the_next_save_of_the_name_is_not(bench: Workbench) -> None:
    with pytest.raises(Refused, match="neither file, link nor directory"):
        publish(bench, {}, then=lambda root: os.mkfifo(root / "pipe"))
    assert nothing_happened(bench)
    publish(bench, FILES)


class _Acting(FileSystem):
    """Does something at the n-th fsync: somebody else's hand in the staged tree while it is made durable."""

    def __init__(self, nth: int = 0) -> None:
        self.left = nth
        self.act: Callable[[], object] = lambda: None

    def fsync(self, fd: int) -> None:
        super().fsync(fd)
        self.left -= 1
        if self.left == -1:
            self.act()


@pytest.mark.parametrize("what", ["grown", "new", "gone", "rewritten"])
def test_a_rank_that_still_writes_is_noticed(tmp_path: Path, what: str) -> None:
    fs = _Acting(nth=2)
    bench = Workbench.fresh(tmp_path, fs)

    def write_on(root: Path) -> None:
        if what == "grown":
            with (root / "a.dat").open("ab") as file:
                file.write(b"more")
        elif what == "new":
            (root / "late.dat").write_bytes(b"1")
        elif what == "gone":
            (root / "a.dat").unlink()
        else:
            (root / "a.dat").write_bytes(b"9" * 50)

    def meanwhile(root: Path) -> None:
        rest(root, 1e9)
        fs.act = lambda: write_on(root)

    files = {name: name.encode() * 10 for name in ("a.dat", "b.dat", "c.dat")}
    with pytest.raises(InUse, match="changed while the checkpoint was made durable"):
        publish(bench, files, then=meanwhile)
    assert nothing_happened(bench)


class _Failing(FileSystem):
    def __init__(self) -> None:
        self.code: int | None = None
        self.left = 0

    def fail(self, code: int, nth: int) -> None:
        self.code, self.left = code, nth

    def fsync(self, fd: int) -> None:
        if self.code is not None:
            if self.left == 0:
                raise OSError(self.code, os.strerror(self.code))
            self.left -= 1
        super().fsync(fd)


@pytest.mark.parametrize("nth", [0, 1, 2])
def test_an_fsync_that_fails_is_final_wherever_it_is(tmp_path: Path, nth: int) -> None:
    fs = _Failing()
    bench = Workbench.fresh(tmp_path, fs)
    with pytest.raises(NoSpace):
        publish(bench, {"a.dat": b"1", "sub/b.dat": b"2"}, then=lambda _root: fs.fail(errno.ENOSPC, nth))
    fs.code = None
    assert nothing_happened(bench)


def test_other_bytes_from_the_device_give_no_name(tmp_path: Path) -> None:
    class Lying(FileSystem):
        def __init__(self) -> None:
            self.reads: dict[int, int] = {}

        def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
            count = super().read_into(fd, buffer, offset)
            inode = self.fstat(fd).st_ino
            if offset == 0 and count == 3000:
                self.reads[inode] = self.reads.get(inode, 0) + 1
                if self.reads[inode] == 2:
                    buffer[7] ^= 1
            return count

    bench = Workbench.fresh(tmp_path, Lying())
    with pytest.raises(ContentMismatch, match=r"x\.dat is not what was written"):
        publish(bench, FILES, readback=True)
    assert nothing_happened(bench)


# --- names that are taken


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("what", ["file", "link", "pipe"])
def test_only_a_directory_makes_way_for_a_directory(bench: Workbench, what: str, replace: bool) -> None:
    place = bench.primary / NAME
    if what == "file":
        place.write_bytes(b"1")
    elif what == "link":
        fill(bench.primary.parent / "elsewhere", {"x": b"1"})
        place.symlink_to(bench.primary.parent / "elsewhere")
    else:
        os.mkfifo(place)
    with pytest.raises(Refused, match="is not a directory"):
        publish(bench, FILES, replace=replace)
    assert bench.names(Role.PRIMARY) == {NAME}
    assert staged(bench) == []


def test_a_file_does_not_replace_a_directory(bench: Workbench) -> None:
    publish(bench, FILES)
    with pytest.raises(Refused, match="is not a regular file"):
        bench.publish(NAME, b"data", replace=True)
    assert contents(bench.primary / NAME) == FILES


def test_a_name_that_exists_is_refused_and_replaced_only_when_asked(bench: Workbench) -> None:
    publish(bench, FILES)
    with pytest.raises(Refused, match="exists already"):
        publish(bench, {"other": b"1"})
    assert contents(bench.primary / NAME) == FILES
    old = bench.record(NAME)
    publish(bench, {"other": b"1"}, replace=True)
    assert contents(bench.primary / NAME) == {"other": b"1"}
    assert bench.record(NAME).replaces == old.digest
    assert (staged(bench), bench.names(Role.PRIMARY)) == ([], {NAME})
    assert os.listdir(bench.on(Role.PRIMARY).control_path("quarantine")) == []


def test_an_odd_old_directory_is_replaced_and_blocks_nothing_afterwards(bench: Workbench) -> None:
    old = fill(bench.primary / NAME, {"x": b"1"})
    os.mkfifo(old / "pipe")
    publish(bench, FILES, replace=True)
    assert contents(bench.primary / NAME) == FILES
    assert staged(bench) == []
    publish(bench, {"again": b"1"}, replace=True)


def test_a_save_that_fails_leaves_the_old_one(bench: Workbench) -> None:
    publish(bench, FILES)
    before = bench.record(NAME)
    with pytest.raises(UsageError):
        publish(bench, {}, replace=True)
    assert contents(bench.primary / NAME) == FILES
    assert bench.record(NAME) == before
    assert staged(bench) == []


class _NoExchange(FileSystem):
    def exchange(self, one: str, other: str) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), one)


def test_where_directories_cannot_change_places_the_old_one_goes_to_quarantine(tmp_path: Path) -> None:
    bench = Workbench.fresh(tmp_path, _NoExchange())
    publish(bench, FILES)
    os.mkfifo(bench.primary / NAME / "pipe")
    publish(bench, {"other": b"1"}, replace=True)
    assert contents(bench.primary / NAME) == {"other": b"1"}
    kept = [name for name in os.listdir(bench.on(Role.PRIMARY).control_path("quarantine")) if "." not in name]
    assert len(kept) == 1


def test_where_they_cannot_and_nothing_keeps_the_old_one_it_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    fill(root / NAME, {"old": b"1"})
    host = machine(_NoExchange())
    target = find_set(host.fs, str(root), Role.PRIMARY)
    with pytest.raises(Refused, match="cannot exchange"):
        with publish_tree(host, target, Intent(NAME, replace=True)) as (path, _):
            fill(Path(path), {"new": b"1"})
    assert contents(root) == {f"{NAME}/old": b"1"}


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "x\0y", "y" * 256, "step_1.part", ".ckptdeck", "tmp-checkpoint-1"]
)
def test_names_that_cannot_be_a_checkpoint_s_are_refused(bench: Workbench, name: str) -> None:
    with pytest.raises(UsageError):
        publish(bench, FILES, name)
    assert staged(bench) == []


# --- two at once


def test_the_second_publisher_of_a_name_is_told_and_harms_nobody(bench: Workbench) -> None:
    target = bench.on(Role.PRIMARY)
    with publish_tree(bench.host, target, Intent(NAME)) as (path, _):
        fill(Path(path), {"half": b"1"})
        with pytest.raises(InUse, match="being written by another process"):
            publish(bench, FILES)
        fill(Path(path), {"rest": b"2"})
    assert contents(bench.primary / NAME) == {"half": b"1", "rest": b"2"}


def test_blocks_of_other_names_may_lie_inside_one_another(bench: Workbench) -> None:
    target = bench.on(Role.PRIMARY)
    with publish_tree(bench.host, target, Intent("step_1", step=1)) as (outer, _):
        fill(Path(outer), {"a": b"1"})
        with publish_tree(bench.host, target, Intent("step_2", step=2)) as (inner, _):
            fill(Path(inner), {"b": b"2"})
        bench.publish("step_3.pt", b"3")
    assert bench.names(Role.PRIMARY) == {"step_1", "step_2", "step_3.pt"}
    assert staged(bench) == []


def test_somebody_who_takes_the_name_meanwhile_keeps_it(bench: Workbench) -> None:
    with pytest.raises(Refused, match="exists already"):
        publish(bench, FILES, then=lambda _root: fill(bench.primary / NAME, {"theirs": b"1"}))
    assert contents(bench.primary / NAME) == {"theirs": b"1"}
    assert (staged(bench), bench.manifest().next_record(NAME)) == ([], None)


def test_a_leftover_nobody_owns_is_taken_apart_first(bench: Workbench) -> None:
    left = fill(Path(bench.on(Role.PRIMARY).control_path("staging", NAME)), {"old/half": b"1"})
    os.mkfifo(left / "pipe")
    publish(bench, FILES)
    assert contents(bench.primary / NAME) == FILES


@pytest.mark.parametrize("what", ["file", "link"])
def test_something_else_at_the_staging_place_is_left_alone(bench: Workbench, what: str) -> None:
    place = Path(bench.on(Role.PRIMARY).control_path("staging", NAME))
    outside = fill(bench.primary.parent / "outside", {"x": b"1"})
    if what == "file":
        place.write_bytes(b"1")
    else:
        place.symlink_to(outside)
    with pytest.raises(Refused, match="no directory"):
        publish(bench, FILES)
    assert contents(outside) == {"x": b"1"}
    assert os.listdir(place.parent) == [NAME]


def test_a_child_of_the_block_does_not_keep_the_place_locked(bench: Workbench) -> None:
    """A data loader that outlives the block holds no lock of ours, and ends nobody's publish."""
    start, started = os.pipe()
    with publish_tree(bench.host, bench.on(Role.PRIMARY), Intent(NAME)) as (path, _):
        child = os.fork()
        if child == 0:
            os.close(started)
            os.read(start, 1)
            os._exit(0)
        fill(Path(path), FILES)
    os.close(start)
    try:
        assert contents(bench.primary / NAME) == FILES
        publish(bench, {"again": b"1"}, replace=True)
    finally:
        os.close(started)
        assert os.waitpid(child, 0)[1] == 0


SHARDS = {"model/__0_0.distcp": b"s" * 90, "model/__1_0.distcp": b"s" * 90}


def test_shards_without_the_metadata_that_comes_last_are_a_save_that_goes_on(bench: Workbench) -> None:
    with pytest.raises(InUse, match="async_save"):
        publish(bench, SHARDS | {".metadata": b"of others"})
    assert nothing_happened(bench)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(SHARDS | {"model/.metadata": b"m"}, id="one metadata"),
        pytest.param(SHARDS | {"model/__0.metadata": b"m"}, id="one metadata for each rank"),
        pytest.param({"__8_0.distcp": b"s", "__9_0.distcp": b"s"}, id="the part of another node"),
    ],
)
def test_shards_that_are_complete_get_their_name(bench: Workbench, files: Files) -> None:
    assert contents(Path(publish(bench, files).path)) == files
