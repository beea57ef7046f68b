"""Cases G of the checkpoint managers, and B1-B13, B33-B36, B51-B62 and B69 of the others: servers, mounts and clocks.

The kinds of file systems are those of tests/core/profiles.py, over the whole of the run's disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.errors import CkptdeckError, Refused, VolumeSuspect
from ckptdeck.core.filesystem import DirectoryEntry
from ckptdeck.core.guards import Guard, unknown_time
from ckptdeck.core.initialise import initialise
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Condition, State
from ckptdeck.core.survey import take_survey
from tests.cases.run import DAY, MIRROR, PRIMARY, Disk, Run, content_of, guards, name_of
from tests.core.profiles import (
    BLOBFUSE,
    DRVFS,
    FAT,
    NFS,
    ODD_SMB,
    OLD_CIFS,
    SMB,
    PlayedFileSystem,
    Profile,
)
from tests.crash.faults import NAMING, Call, FaultyFileSystem, Killed, record_calls


def on(run: Run, profile: Profile) -> PlayedFileSystem:
    """The run's disk is of this kind from here on."""
    fs = PlayedFileSystem(profile, run.base, run.clock)
    run.fs = fs
    return fs


NAMES_ARE_WEAK = [
    pytest.param(OLD_CIFS, id="b1-EINVAL"),
    pytest.param(ODD_SMB, id="b2-ENOENT"),
    pytest.param(replace(ODD_SMB, directory_fsync=errno.ENOTSUP), id="b2-ENOTSUP"),
    pytest.param(replace(ODD_SMB, directory_fsync=errno.EACCES), id="b2-EACCES"),
    pytest.param(DRVFS, id="b3-EIO"),
]


@pytest.mark.parametrize("profile", NAMES_ARE_WEAK)
def test_b1_b2_b3_where_names_cannot_be_made_durable_that_is_a_warning(run: Run, profile: Profile) -> None:
    on(run, profile)
    run.saved(810)
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == 0
    assert "names in this directory may not survive a power cut" in ran.err
    assert "(W1)" in ran.err
    assert run.names(MIRROR) == [name_of(810)]


@pytest.mark.parametrize("code", [errno.ENOENT, errno.ENOTSUP, errno.EACCES, errno.EINVAL, errno.EIO])
def test_b2_b3_on_a_disk_of_this_machine_the_same_is_a_failing_volume(run: Run, code: int) -> None:
    run.saved(810)

    class Failing(Disk):
        def fsync(self, fd: int) -> None:
            if os.readlink(f"/proc/self/fd/{fd}") == str(run.mirror):
                raise OSError(code, os.strerror(code))

    run.fs = Failing()
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == 7
    assert "has its name, and the name may not survive a power cut" in ran.told


def test_b4_a_volume_that_fails_says_so_before_the_first_byte_is_copied(run: Run) -> None:
    on(run, replace(OLD_CIFS, directory_fsync=errno.EIO))
    primary, mirror = run.base / "new", run.base / "new-mirror"
    for directory in (primary, mirror):
        directory.mkdir()
    with pytest.raises(VolumeSuspect, match="Input/output error"):
        initialise(run.host, str(primary), str(mirror))
    assert not list(mirror.glob("*.pt*"))


def test_b5_a_directory_that_somebody_looks_into_waits_for_its_name(run: Run) -> None:
    fs = on(run, DRVFS)
    run.put_tree("checkpoint-810", {"model.bin": content_of(810), "optimizer.bin": content_of(811)})
    run.line(
        "publish", str(run.primary / "checkpoint-810"), str(run.primary), "--as", "checkpoint-820", "--step", "820"
    )
    run.clock.sleep(DAY)
    plan = run.plan("mirror", "checkpoint-820")
    assert [item.name for item in plan.acting] == ["checkpoint-820"]
    held = os.path.join(str(run.control(MIRROR, "staging", "checkpoint-820", "checkpoint-820")), "model.bin")
    readers: list[int] = []

    class Curious(PlayedFileSystem):
        def rename(self, source: str, target: str) -> None:
            if target.endswith("checkpoint-820") and not readers:
                readers.append(self.open(held, os.O_RDONLY))
            super().rename(source, target)

    curious = Curious(DRVFS, run.base, run.clock)
    run.fs = curious
    ran = run.ckptdeck("mirror", "checkpoint-820", "--yes")
    assert ran.code != 0
    assert "checkpoint-820" not in run.names(MIRROR)
    curious.close(readers.pop())
    run.fs = fs
    run.clock.sleep(DAY)
    assert run.ckptdeck("recover", "--yes").code == 0
    assert run.state("checkpoint-820", MIRROR) is State.VERIFIED


def test_b10_bytes_before_names_and_names_before_anything_is_said(run: Run) -> None:
    """What a power cut makes of it is shown on real disks in tests/crash/test_power_cut.py."""
    target = run.bench.on(PRIMARY)

    def save(fs: FaultyFileSystem) -> None:
        with publish(replace(run.host, fs=fs), target, Intent(name_of(810), step=810)) as (stream, _):
            stream.write(content_of(810))

    part, final, root = f"{name_of(810)}.part", name_of(810), "ckpt"
    steps = [
        (call.name, [os.path.basename(path) for path in call.paths])
        for call in record_calls(save)
        if call.name in {"pwrite", "fsync", *NAMING} and not any("ckptdeck" in path for path in call.paths)
    ]
    assert steps == [
        ("pwrite", [part]),
        ("fsync", [part]),
        ("rename_no_replace", [part, final]),
        ("fsync", [root]),
    ]


class Busy(Disk):
    """A Windows server: these answers to a replacing rename, one after the other, and to an unlink of a part."""

    def __init__(self, renames: list[int], unlinks: list[int] | None = None, *, flags: bool = True) -> None:
        self.renames, self.unlinks, self.flags = renames, unlinks or [], flags

    def mount_table(self) -> str:
        return "1 0 8:0 / / rw - cifs //nas/ckpt rw\n"

    def rename(self, source: str, target: str) -> None:
        if source.endswith(".part") and self.renames:
            code = self.renames.pop(0)
            raise OSError(code, os.strerror(code), target)
        super().rename(source, target)

    def rename_no_replace(self, source: str, target: str) -> None:
        if not self.flags:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        super().rename_no_replace(source, target)

    def unlink(self, path: str) -> None:
        if path.endswith(".part") and self.unlinks:
            code = self.unlinks.pop(0)
            raise OSError(code, os.strerror(code), path)
        super().unlink(path)


@pytest.mark.parametrize("codes", [[errno.EACCES], [errno.EACCES, errno.EBUSY, errno.ETXTBSY], [errno.EEXIST] * 3])
def test_g1_g2_b11_b12_a_file_that_is_open_for_a_moment_is_tried_again(run: Run, codes: list[int]) -> None:
    run.saved(810)
    run.fs = Busy(list(codes))
    before = run.clock.now()
    run.save(810, b"again" * 99, replacing=True)
    assert run.clock.now() - before - 60 < 10
    assert (run.primary / name_of(810)).read_bytes() == b"again" * 99
    assert run.names() == [name_of(810)]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EEXIST])
def test_g1_b12_one_that_stays_open_leaves_both_and_recover_finishes(run: Run, code: int) -> None:
    run.saved(810)
    run.fs = Busy([code] * 50)
    with pytest.raises(CkptdeckError):
        run.save(810, b"again" * 99, replacing=True)
    assert (run.primary / name_of(810)).read_bytes() == content_of(810)
    assert (run.primary / f"{name_of(810)}.part").read_bytes() == b"again" * 99
    run.fs = Busy([])
    run.clock.sleep(DAY)
    assert run.ckptdeck("recover", "--yes").code == 0
    assert (run.primary / name_of(810)).read_bytes() == b"again" * 99
    assert run.names() == [name_of(810)]


def test_b13_a_linked_name_whose_part_cannot_go_yet_is_there(run: Run) -> None:
    run.fs = Busy([], [errno.EACCES, errno.EACCES], flags=False)
    run.save(810)
    assert run.names() == [name_of(810)]
    assert run.verify().code == 0
    run.clock.sleep(DAY)
    assert run.plan("recover").acting == ()
    assert (run.primary / name_of(810)).read_bytes() == content_of(810)


@pytest.mark.parametrize("server", [False, True])
def test_g3_at_no_moment_of_a_replacement_there_is_none(run: Run, server: bool) -> None:
    run.saved(810)
    seen: set[bytes] = set()

    def look(_call: Call) -> None:
        seen.add((run.primary / name_of(810)).read_bytes())

    run.fs = FaultyFileSystem(before=look, after=look, real=Busy([errno.EACCES]) if server else Disk())
    run.save(810, b"again" * 99, replacing=True)
    assert seen == {content_of(810), b"again" * 99}


def test_g4_two_ranks_that_name_one_checkpoint_leave_one_whole(run: Run) -> None:
    def first_rank() -> None:
        with publish(run.host, run.bench.on(PRIMARY), Intent(name_of(810), step=810)) as (stream, _):
            stream.write(content_of(810))
            part = run.primary / f"{name_of(810)}.part"
            part.rename(run.base / "elsewhere")
            run.save(810, content_of(811))
            (run.base / "elsewhere").rename(part)

    with pytest.raises(Refused, match="exists already"):
        first_rank()
    assert (run.primary / name_of(810)).read_bytes() == content_of(811)
    assert run.names() == [name_of(810)]
    assert run.state(name_of(810)) is State.VERIFIED


@pytest.mark.parametrize("profile", [DRVFS, BLOBFUSE, FAT], ids=str)
def test_g6_modes_and_times_that_cannot_be_kept_are_told_and_no_failure(run: Run, profile: Profile) -> None:
    on(run, profile)
    run.saved(810)
    run.clock.sleep(DAY)
    crossed: list[str] = []

    class Local(PlayedFileSystem):
        def rename(self, source: str, target: str) -> None:
            if os.path.dirname(source) != os.path.dirname(target) and target.endswith(".pt"):
                crossed.append(source)
            super().rename(source, target)

    run.fs = Local(profile, run.base, run.clock)
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == 0
    assert "(W7)" in ran.err
    assert crossed == []
    assert (run.mirror / name_of(810)).read_bytes() == content_of(810)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EIO])
def test_g8_a_failing_disk_gets_nothing_more_and_is_still_looked_at(run: Run, code: int) -> None:
    run.saved(800, 810)
    tried: list[str] = []

    class Failing(Disk):
        def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
            path = os.readlink(f"/proc/self/fd/{fd}")
            if path.startswith(f"{run.mirror}/") and path.endswith(".part"):
                tried.append(path)
                raise OSError(code, os.strerror(code))
            return super().pwrite(fd, data, offset)

    run.fs = Failing()
    ran = run.ckptdeck("mirror", "--all", "--yes")
    assert ran.code == 7
    assert len(tried) == 1
    assert "not tried" in ran.told
    assert run.ckptdeck("status").code == 0


def test_g8_a_file_that_cannot_be_read_is_unreadable_and_not_missing(run: Run) -> None:
    run.mirrored(800, 810)

    class Failing(Disk):
        def list_directory(self, path: str) -> list[DirectoryEntry]:
            return [
                DirectoryEntry(entry.name, None, errno.EIO) if entry.name == name_of(810) else entry
                for entry in super().list_directory(path)
            ]

    run.fs = Failing()
    assert run.state(name_of(810)) is State.UNREADABLE
    assert run.plan("prune", keep_last="1").acting == ()


class Forgetting(Disk):
    """So many listings of a directory lack one name."""

    def __init__(self, name: str, times: int) -> None:
        self.name, self.times = name, times

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        entries = super().list_directory(path)
        if self.times and any(entry.name == self.name for entry in entries):
            self.times -= 1
            return [entry for entry in entries if entry.name != self.name]
        return entries


def test_g9_what_one_listing_lacks_is_not_missing(run: Run) -> None:
    run.saved(800, 810)
    pair = run.bench.pair
    for times, state in ((1, State.VERIFIED), (2, State.MISSING)):
        run.fs = Forgetting(name_of(810), times)
        copy = take_survey(run.host, pair, run.policy).primary.find(name_of(810))
        assert copy is not None
        assert copy.state is state


# --- what looks empty


def fails(run: Run, path: Path, code: int) -> None:
    class Failing(Disk):
        def list_directory(self, directory: str) -> list[DirectoryEntry]:
            if directory == str(path):
                raise OSError(code, os.strerror(code), directory)
            return super().list_directory(directory)

    run.fs = Failing()


def test_b33_a_side_that_cannot_be_listed_costs_the_other_nothing(run: Run) -> None:
    run.mirrored(100, 200, 300)
    fails(run, run.primary, errno.EIO)
    ran = run.ckptdeck("prune", "--keep-last", "1", "--yes", "--confirm-count", "4")
    assert ran.code == 7
    assert run.ckptdeck("status").code == 7
    run.fs = Disk()
    assert run.steps(MIRROR) == [100, 200, 300]


def test_b33_a_directory_that_cannot_be_listed_keeps_its_twin(run: Run) -> None:
    for step in (100, 200, 300):
        run.put_tree(f"{step}", {"config.json": b"{}", "model.bin": content_of(step)})
        with contextlib.suppress(CkptdeckError):
            run.line("publish", str(run.primary / f"{step}"), str(run.primary), "--as", f"checkpoint-{step}")
        run.clock.sleep(DAY)
    assert run.do("mirror", all="true").exit_code == 0
    run.clock.sleep(DAY)
    fails(run, run.primary / "checkpoint-100", errno.EIO)
    assert run.state("checkpoint-100") is State.UNREADABLE
    plan = run.plan("prune", keep_last="1")
    assert "checkpoint-100" not in {item.name for item in plan.acting}


@pytest.mark.parametrize("side", [PRIMARY, MIRROR])
def test_b34_an_empty_mount_point_is_no_set(run: Run, side: object) -> None:
    run.mirrored(100, 200, 300)
    root = run.primary if side is PRIMARY else run.mirror
    moved = [root, *([run.control(PRIMARY)] if side is PRIMARY else [])]
    for path in moved:
        path.rename(path.with_name(path.name + "-unmounted"))
    root.mkdir()
    ran = run.line("prune", str(run.primary), str(run.mirror), "--keep-last", "1", "--yes", "--confirm-count", "4")
    assert ran.code == 7
    other = run.mirror if side is PRIMARY else run.primary
    assert len(list(other.glob("*.pt"))) == 3


def test_b35_a_set_whose_checkpoints_are_all_gone_stops_every_deletion(run: Run) -> None:
    run.mirrored(100, 200, 300)
    for path in run.primary.glob("*.pt"):
        path.unlink()
    ran = run.ckptdeck("prune", "--keep-last", "1", "--yes", "--confirm-count", "2")
    assert ran.code == 4
    assert "nothing of the 3 recorded checkpoints is left" in ran.told
    assert run.steps(MIRROR) == [100, 200, 300]


# --- times, clocks, handles, names, inode numbers


@pytest.mark.parametrize(("what", "guard"), [("ctime", None), ("both", Guard.UNKNOWN_TIME)])
def test_b51_a_change_time_of_zero_is_no_news_but_both_are_unknown(run: Run, what: str, guard: str | None) -> None:
    run.mirrored(100, 200, 300)

    class Epoch(Disk):
        def _shown(self, status: os.stat_result) -> os.stat_result:
            times = {"st_ctime_ns": 0, "st_ctime": 0.0, "st_blocks": status.st_blocks}
            mtime = status.st_mtime_ns if what == "ctime" else 0
            return os.stat_result(status[:10], {**times, "st_mtime_ns": mtime, "st_mtime": mtime / 1e9})

        def lstat(self, path: str) -> os.stat_result:
            status = super().lstat(path)
            return self._shown(status) if path.endswith(".pt") else status

        def fstat(self, fd: int) -> os.stat_result:
            status = super().fstat(fd)
            return self._shown(status) if os.readlink(f"/proc/self/fd/{fd}").endswith(".pt") else status

        def list_directory(self, path: str) -> list[DirectoryEntry]:
            return [
                DirectoryEntry(e.name, self._shown(e.stat), None) if e.stat and e.name.endswith(".pt") else e
                for e in super().list_directory(path)
            ]

    run.fs = Epoch()
    assert run.verify().code == 0
    plan = run.plan("prune", keep_last="2")
    assert bool(plan.acting) == (guard is None)
    copy = run.look().primary.find(name_of(100))
    assert copy is not None
    assert copy.sighting.identity is not None
    assert (unknown_time(copy.sighting.identity.mtime_ns) is None) == (guard is None)


def test_b52_a_server_whose_clock_is_two_hours_off_gets_nothing_deleted(run: Run) -> None:
    on(run, NFS)
    run.mirrored(100, 200, 300)
    real = run.clock
    ahead = type(real)(real.now() + 7200)
    run.fs = PlayedFileSystem(NFS, run.base, ahead)
    ran = run.ckptdeck("prune", "--keep-last", "2", "--yes")
    assert ran.code != 0
    assert "7200 s ahead of this one's" in ran.told
    assert run.steps() == [100, 200, 300]


def test_b53_a_time_that_the_server_moves_after_the_close_makes_it_young_and_not_another_file(run: Run) -> None:
    on(run, SMB)
    run.saved(100, 200, 300)
    assert run.do("mirror", all="true").exit_code == 0
    assert {run.state(name_of(step), MIRROR) for step in (100, 200, 300)} == {State.VERIFIED}
    assert abs((run.mirror / name_of(100)).stat().st_mtime - run.clock.now()) < 1
    plan = run.plan("prune", keep_last="1")
    assert not [item for item in plan.acting if item.side is MIRROR]


@pytest.mark.parametrize(("times", "code"), [(1, 0), (50, 7)])
def test_b56_a_stale_handle_is_asked_for_once_more(run: Run, times: int, code: int) -> None:
    fs = on(run, SMB)
    run.mirrored(810)
    fs.stale = times
    assert run.ckptdeck("status").code == code
    fs.stale = times
    assert run.verify(name_of(810)).code == code


def test_b62_names_that_differ_in_case_are_refused_both_and_nothing_is_deleted(run: Run, tmp_path: Path) -> None:
    """The primary tells them apart, the mirror does not."""
    for name in ("A_1.ckpt", "a_1.ckpt"):
        run.save(1, name.encode() * 99, name=name)
    run.clock.sleep(DAY)
    run.fs = PlayedFileSystem(FAT, run.mirror, run.clock)
    ran = run.ckptdeck("mirror", "--all", "--yes")
    assert ran.code == 0
    assert run.names(MIRROR) == []
    assert guards(run.plan("mirror", all="true").items) == {"A_1.ckpt": "name-clash", "a_1.ckpt": "name-clash"}
    named = run.ckptdeck("mirror", "A_1.ckpt", "--yes")
    assert named.code == 4
    assert "does not tell upper from lower case: A_1.ckpt would be a_1.ckpt there" in named.told
    assert run.names() == ["A_1.ckpt", "a_1.ckpt"]


def test_b69_other_inode_numbers_after_a_mount_bring_no_storm(run: Run) -> None:
    fs = on(run, SMB)
    run.mirrored(800, 810)
    before = run.look()
    fs.remount()
    after = run.look(before)
    assert [(row.name, row.verdict) for row in after.steps] == [(row.name, row.verdict) for row in before.steps]
    assert [side.inventory.condition for side in after.sides] == [Condition.OK, Condition.OK]
    assert run.ckptdeck("resume").code == 0


@pytest.mark.parametrize("kill", [lambda call: call.name == "rename_no_replace", lambda call: call.name == "pwrite"])
def test_g3_killed_between_any_two_steps_one_of_both_is_there(run: Run, kill: Callable[[Call], bool]) -> None:
    run.saved(810)

    def before(call: Call) -> None:
        if kill(call):
            fs.die()

    fs = run.watched(before=before)
    with contextlib.suppress(Killed):
        run.save(810, b"again" * 99, replacing=True)
    run.fs = Disk()
    run.clock.sleep(DAY)
    run.do("recover")
    assert (run.primary / name_of(810)).read_bytes() in (content_of(810), b"again" * 99)
