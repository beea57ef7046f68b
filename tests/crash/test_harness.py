"""The instruments themselves: what they claim to do to a call they do, and an offender is caught."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem, write_all
from tests.crash.actors import Schedule, is_shared, play, schedules, shared_paths
from tests.crash.contents import digest_of
from tests.crash.faults import (
    Call,
    Fail,
    FaultyFileSystem,
    Kill,
    Killed,
    Lie,
    Short,
    failures,
    fsync_offences,
    kills,
    record_calls,
)
from tests.crash.invariants import Promise, fingerprint, judge_names
from tests.crash.tree_workloads import FIRST, GROUP_NAME, MARKER, OLD, OLD_GROUP, SECOND, fill

CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL


def test_kill_before_a_call_leaves_it_undone_and_gives_locks_back(tmp_path: Path) -> None:
    fs = FaultyFileSystem(Kill(2))
    path = str(tmp_path / "file")
    fd = fs.open(path, CREATE)
    assert fs.try_lock(fd)

    with pytest.raises(Killed):
        fs.write(fd, memoryview(b"data"))
    with pytest.raises(Killed):
        fs.lstat(path)
    fs.close(fd)

    assert os.path.getsize(path) == 0
    real = FileSystem()
    again = real.open(path, os.O_RDWR)
    assert real.try_lock(again)
    real.close(again)


@pytest.mark.parametrize(("kill", "size"), [(Kill(1, torn=True), 2), (Kill(1, executed=True), 4)])
def test_kill_in_and_after_a_write(tmp_path: Path, kill: Kill, size: int) -> None:
    fs = FaultyFileSystem(kill)
    fd = fs.open(str(tmp_path / "file"), CREATE)

    with pytest.raises(Killed):
        fs.write(fd, memoryview(b"data"))

    assert os.path.getsize(tmp_path / "file") == size


def test_short_write_says_so_and_lying_write_does_not(tmp_path: Path) -> None:
    for fault, claimed in ((Short(1), 2), (Lie(1), 4)):
        fs = FaultyFileSystem(fault)
        path = tmp_path / type(fault).__name__
        fd = fs.open(str(path), CREATE)
        assert fs.pwrite(fd, memoryview(b"data"), 0) == claimed
        fs.close(fd)
        assert path.read_bytes() == b"da"


def test_failure_once_and_lasting(tmp_path: Path) -> None:
    once = FaultyFileSystem(Fail(0, errno.ENOSPC))
    lasting = FaultyFileSystem(Fail(0, errno.ENOSPC, lasting=True))
    for fs in (once, lasting):
        with pytest.raises(OSError, match="No space"):
            fs.make_directory(str(tmp_path / "new"))

    once.make_directory(str(tmp_path / "new"))
    lasting.lstat(str(tmp_path / "new"))
    with pytest.raises(OSError, match="No space"):
        lasting.make_directory(str(tmp_path / "newer"))


def test_failing_close_gives_the_descriptor_back(tmp_path: Path) -> None:
    fs = FaultyFileSystem(Fail(1, errno.EIO))
    fd = fs.open(str(tmp_path / "file"), CREATE)

    with pytest.raises(OSError, match="Input/output"):
        fs.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_no_call_goes_past_the_harness() -> None:
    seam = {name for name in vars(FileSystem) if not name.startswith("_")}

    assert seam <= set(vars(FaultyFileSystem))


def test_sweeps_reach_every_call(tmp_path: Path) -> None:
    def save(fs: FaultyFileSystem) -> None:
        fd = fs.open(str(tmp_path / "file"), os.O_RDWR | os.O_CREAT)
        write_all(fs, fd, memoryview(b"data"), 0)
        fs.close(fd)

    calls = record_calls(save)

    assert [call.name for call in calls] == ["create", "pwrite", "close"]
    assert len(list(kills(calls))) == 5
    assert len(list(failures(calls, (errno.EIO, errno.ENOSPC)))) == 12
    for kill in kills(calls):
        fs = FaultyFileSystem(kill)
        with pytest.raises(Killed):
            save(fs)
        assert fs.fired


@pytest.mark.parametrize("offence", ["sync again", "name it"])
def test_offence_after_a_failed_fsync_is_found(tmp_path: Path, offence: str) -> None:
    fs = FaultyFileSystem(Fail(1, errno.EIO))
    path = str(tmp_path / "x.part")
    fd = fs.open(path, CREATE)
    with pytest.raises(OSError, match="Input/output"):
        fs.fsync(fd)
    assert not fsync_offences(fs.log)

    if offence == "sync again":
        fs.fsync(fd)
    else:
        fs.rename(path, str(tmp_path / "x"))

    assert len(fsync_offences(fs.log)) == 1
    fs.close(fd)


@pytest.mark.parametrize("synced", ["file", "directory"])
@pytest.mark.parametrize("name", ["rename", "exchange"])
def test_directory_that_gets_a_name_after_a_failed_fsync_in_it_is_found(tmp_path: Path, name: str, synced: str) -> None:
    fs = FaultyFileSystem(Fail(1, errno.EIO))
    tree, other = str(tmp_path / "tree"), str(tmp_path / "other")
    for path in (tree, other):
        os.mkdir(path)
    (tmp_path / "tree" / "file").touch()
    fd = fs.open(f"{tree}/file" if synced == "file" else tree, os.O_RDONLY)
    with pytest.raises(OSError, match="Input/output"):
        fs.fsync(fd)
    fs.close(fd)
    assert not fsync_offences(fs.log)

    if name == "exchange":
        fs.exchange(other, tree)
    else:
        os.rmdir(other)
        fs.rename(tree, other)

    assert len(fsync_offences(fs.log)) == 1


def test_directory_that_was_synced_again_may_get_its_name(tmp_path: Path) -> None:
    """And one from which the file that could not be synced was removed."""
    os.mkdir(tmp_path / "tree")
    path = str(tmp_path / "tree" / "file")
    fs = FaultyFileSystem(Fail(1, errno.EIO))
    fd = fs.open(path, CREATE)
    with pytest.raises(OSError, match="Input/output"):
        fs.fsync(fd)
    fs.close(fd)
    fs.unlink(path)
    fs.rename(str(tmp_path / "tree"), str(tmp_path / "named"))

    assert not fsync_offences(fs.log)


def test_judge_names_every_kind_of_violation(tmp_path: Path) -> None:
    whole = b"whole"
    promise = Promise({name: frozenset({digest_of(whole)}) for name in "abcde"}, {"d": frozenset({digest_of(whole)})})
    for name, data in {"a": whole, "b": b"", "c": b"\0" * 9, "e": b"who", "f": whole, "a.part": b"w"}.items():
        (tmp_path / name).write_bytes(data)

    kinds = [violation.partition(":")[0] for violation in judge_names(tmp_path, promise)]

    assert kinds == ["b", "c", "e", "f", "d"]


def test_judge_sees_what_is_wrong_inside_a_directory(tmp_path: Path) -> None:
    promise = Promise({name: frozenset({digest_of(OLD)}) for name in "abcdef"}, {"f": frozenset({digest_of(OLD)})})
    for name in "abcde":
        (tmp_path / name).mkdir()
        fill(FileSystem(), str(tmp_path / name), OLD)
    (tmp_path / "b" / "trainer_state.json").unlink()
    (tmp_path / "c" / "optim" / "weights").unlink()
    (tmp_path / "d" / "logs").rmdir()
    (tmp_path / "e" / "model.bin").write_bytes(b"\0" * 6001)

    violations = judge_names(tmp_path, promise)

    assert [violation[0] for violation in violations] == ["b", "c", "d", "e", "f"]
    assert "model.bin zeros" in violations[3]


def test_judge_believes_no_group_for_its_marker(tmp_path: Path) -> None:
    whole = frozenset({digest_of(OLD_GROUP)})
    members = {name: frozenset({digest_of(data)}) for name, data in OLD_GROUP.files.items()}
    promise = Promise({GROUP_NAME: whole}, groups={GROUP_NAME: members})
    kept = Promise({GROUP_NAME: whole}, {GROUP_NAME: whole}, {GROUP_NAME: members})
    seen = []
    for name in (FIRST, MARKER, SECOND):
        (tmp_path / name).write_bytes(OLD_GROUP.files[name])
        seen.append((len(judge_names(tmp_path, promise)), len(judge_names(tmp_path, kept))))
    (tmp_path / MARKER).unlink()
    (tmp_path / SECOND).write_bytes(b"torn")

    assert seen == [(0, 1), (1, 2), (0, 0)]
    assert len(judge_names(tmp_path, promise)) == 1


def test_fingerprint_sees_content_times_and_names(tmp_path: Path) -> None:
    seen = {fingerprint(tmp_path)}
    (tmp_path / "a").write_bytes(b"1")
    seen.add(fingerprint(tmp_path))
    os.utime(tmp_path / "a", ns=(1, 1))
    seen.add(fingerprint(tmp_path))
    (tmp_path / "a").rename(tmp_path / "b")
    seen.add(fingerprint(tmp_path))
    (tmp_path / "b").chmod(0o600)
    seen.add(fingerprint(tmp_path))
    assert len(seen) == 5


def test_schedules_find_a_race_between_check_and_use(tmp_path: Path) -> None:
    """Two actors that look before they leap must be seen to overwrite each other in some schedule."""
    lost = []
    for number, schedule in enumerate(schedules((2, 2))):
        target = str(tmp_path / str(number))
        works = (_Careless(target, b"1"), _Careless(target, b"2"))
        actors = play(works, schedule, partial(_touches, target))
        if not schedule.crash and all(actor.result for actor in actors):
            lost.append(schedule)
    assert Schedule(0, 1, 2) in lost
    assert Schedule(0, 0, 0) not in lost


def test_shared_paths_are_those_that_matter(tmp_path: Path) -> None:
    target = str(tmp_path / "x")
    logs = (record_calls(_Careless(target, b"1")), record_calls(_look_at(target)))

    assert shared_paths(logs) == {target}
    assert [is_shared(call, shared_paths(logs)) for call in logs[0]] == [True, True, False]
    assert not shared_paths((logs[1], logs[1]))


def test_a_moved_directory_takes_what_is_in_it_along(tmp_path: Path) -> None:
    source, target, inside = str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "b" / "file")
    os.mkdir(source)
    (tmp_path / "a" / "file").touch()
    moving = record_calls(lambda fs: fs.rename(source, target))
    looking = record_calls(lambda fs: fs.lstat(inside))

    shared = shared_paths((moving, looking))

    assert shared == {f"{target}/"}
    assert is_shared(moving[0], shared)
    assert is_shared(looking[0], shared)


def _touches(path: str, call: Call) -> bool:
    return path in call.paths


def _look_at(path: str) -> Callable[[FaultyFileSystem], object]:
    return lambda fs: fs.lstat(path)


class _Careless:
    """Creates a name after looking whether it is free; true when it believes it owns the name."""

    def __init__(self, target: str, data: bytes) -> None:
        self._target = target
        self._data = data

    def __call__(self, fs: FaultyFileSystem) -> bool:
        try:
            fs.lstat(self._target)
        except FileNotFoundError:
            fd = fs.open(self._target, os.O_WRONLY | os.O_CREAT)
            fs.close(fd)
            return True
        return False
