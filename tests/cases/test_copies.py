"""Cases E of the checkpoint managers, and B14-B16, B30, B32, B73, B77 of the others: mirror and copies."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.core.apply import apply
from ckptdeck.core.guards import Guard
from ckptdeck.core.plans.plan import Act, Outcome
from ckptdeck.core.progress import CancelToken, Effort, Progress
from ckptdeck.core.states import State
from tests.cases.run import DAY, MIRROR, PRIMARY, Disk, Run, content_of, guards, left_by, name_of
from tests.crash.faults import NAMING, Call, Killed

BIG = content_of(810) * 20


def dies_before(run: Run, call: str, end: str) -> None:
    def before(made: Call) -> None:
        if made.name == call and made.paths[-1].endswith(end):
            fs.die()

    fs = run.watched(before=before)


@pytest.mark.parametrize("at", ["__0_0.distcp", "__0_1.distcp", ".metadata"])
def test_e1_e14_a_sharded_directory_has_no_name_before_its_marker_and_no_pointer_before_its_name(
    run: Run, at: str
) -> None:
    run.put_tree("step-810", left_by("dcp"))
    run.put("latest", b"step-810")
    run.do("adopt", "step-810")
    dies_before(run, "fsync", at)
    with contextlib.suppress(Killed):
        run.do("mirror", "step-810")
    run.fs = Disk()
    assert run.names(MIRROR) == []
    assert (run.control(MIRROR, "staging", "step-810", "step-810", ".metadata").exists()) == (at == ".metadata")
    named: list[str] = []

    def after(call: Call) -> None:
        if call.name in NAMING and call.paths[1].startswith(f"{run.mirror}/"):
            named.append(os.path.relpath(call.paths[1], run.mirror))

    run.watched(after=after)
    assert run.do("mirror", "step-810").exit_code == 0
    assert [name for name in named if not name.startswith(".ckptdeck")] == ["step-810", "latest"]
    assert sorted(path.name for path in (run.mirror / "step-810").iterdir()) == sorted(left_by("dcp"))


def test_e2_a_step_without_the_mark_that_other_stores_need_is_copied_whole_and_left_alone(run: Run) -> None:
    """On a bucket Orbax takes a step without commit_success.txt for unfinished; on disks the name says it."""
    tree = {path: data for path, data in left_by("orbax_ocdbt").items() if not path.endswith("commit_success.txt")}
    assert len(tree) < len(left_by("orbax_ocdbt"))
    for path, data in tree.items():
        run.put(path, data)
    for action in ("quarantine", "recover", "prune"):
        assert run.plan(action).acting == ()
    assert run.do("adopt", "100").exit_code == 0
    assert run.do("mirror", "100").exit_code == 0
    assert run.state("100", MIRROR) is State.VERIFIED


def test_e3_b16_who_watches_the_names_never_meets_half_a_copy(run: Run) -> None:
    run.save(810, BIG)
    run.clock.sleep(DAY)
    seen: set[int | None] = set()

    def look(_call: Call) -> None:
        final = run.mirror / name_of(810)
        seen.add(final.stat().st_size if final.exists() else None)

    run.watched(before=look, after=look)
    assert run.do("mirror").exit_code == 0
    assert seen == {None, len(BIG)}


def test_e4_when_the_copy_fails_nothing_is_deleted(run: Run) -> None:
    run.mirrored(800)
    run.saved(810)
    run.rot(name_of(810))
    ran = run.ckptdeck("mirror", "--yes")
    assert (ran.code, run.steps(MIRROR)) == (3, [800])
    for _ in range(2):
        run.ckptdeck("prune", "--keep-last", "1", "--yes")
    assert 800 in run.steps(PRIMARY)
    assert run.steps(MIRROR) == [800]


class Growing(Disk):
    """The source grows while it is read, once."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        count = super().read_into(fd, buffer, offset)
        if self.path is not None and os.readlink(f"/proc/self/fd/{fd}") == str(self.path):
            with self.path.open("ab") as file:
                file.write(b"more")
            self.path = None
        return count


def test_e6_a_source_that_changes_is_no_copy_and_one_again_when_it_is_quiet(run: Run) -> None:
    path = run.put(name_of(810), BIG)
    plan = run.plan("mirror", name_of(810))
    run.fs = Growing(path)
    (result,) = apply(run.host, run.bench.pair, run.policy, plan).results
    assert (result.outcome, result.error_code) == (Outcome.FAILED, "source-changed")
    assert run.names(MIRROR) == []
    run.fs = Disk()
    run.set_age(path, 10)
    assert guards(run.plan("mirror", name_of(810)).items) == {name_of(810): Guard.AGE}
    run.clock.sleep(DAY)
    assert run.do("mirror", name_of(810)).exit_code == 0
    assert (run.mirror / name_of(810)).read_bytes() == BIG + b"more"


class Short(Disk):
    """Takes every byte of a part and keeps none, or all but the last page."""

    def __init__(self, keeps: int) -> None:
        self.keeps = keeps

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".part"):
            if self.keeps > offset:
                super().pwrite(fd, data[: self.keeps - offset], offset)
            return len(data)
        return super().pwrite(fd, data, offset)


@pytest.mark.parametrize("keeps", [0, len(BIG) - 4096])
def test_e8_e13_a_copy_that_came_out_short_has_no_name(run: Run, keeps: int) -> None:
    run.save(810, BIG)
    run.clock.sleep(DAY)
    run.fs = Short(keeps)
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == 3
    assert f"{len(BIG)} bytes were written and {keeps} are there" in ran.told
    assert run.names(MIRROR) == []


def test_e8_fifteen_copies_are_fifteen_proofs(run: Run) -> None:
    run.saved(*range(10, 160, 10))
    ran = run.ckptdeck("mirror", "--all", "--yes")
    assert ran.out.count("copied and proven, device evidence") == 15
    assert "15 done" in ran.out


def test_e10_one_limit_for_both_sides(run: Run) -> None:
    run.mirrored(600, 650, 700, 750, 790, 800)
    for step in (600, 650):
        (run.primary / name_of(step)).unlink()
    run.saved(810)
    plan = run.plan("prune", keep_last="3")
    gone = {(item.side, item.step) for item in plan.acting if item.act is Act.DELETE}
    left = {side: [step for step in run.steps(side) if (side, step) not in gone] for side in (PRIMARY, MIRROR)}
    assert {790, 800} <= set(left[PRIMARY]) & set(left[MIRROR])
    assert len(left[MIRROR]) >= 3
    assert {(MIRROR, 600), (MIRROR, 650)} <= gone
    assert [row.step for row in run.look().steps if row.verdict == "mirror-only"] == [650, 600]


class Vanishing(Disk):
    """What is opened is gone, once."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if self.path is not None and path == str(self.path):
            self.path.unlink()
            self.path = None
        return super().open(path, flags, mode)


def test_e11_a_file_that_vanishes_between_listing_and_opening_is_a_moment_not_an_end(run: Run) -> None:
    run.mirrored(800)
    path = run.put("last.ckpt", content_of(1))
    run.fs = Vanishing(path)
    assert run.ckptdeck("status").code in (0, 1)
    run.fs = Disk()
    assert run.ckptdeck("status").code == 0
    assert run.state("last.ckpt") is None


# --- of files and copies


@pytest.mark.parametrize("share", [0.5])
def test_b14_b15_stopped_half_way_there_is_only_a_part(run: Run, share: float) -> None:
    run.save(810, os.urandom(4_000_000))
    run.clock.sleep(DAY)
    token = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.phase == "copy" and progress.done >= share * progress.total:
            token.cancel()

    result = apply(run.host, run.bench.pair, run.policy, run.plan("mirror"), Effort(report=stop, cancel=token))
    assert (result.exit_code, [one.outcome for one in result.results]) == (130, [Outcome.CANCELLED])
    assert run.names(MIRROR) == [f"{name_of(810)}.part"]
    assert run.do("mirror").exit_code == 0
    assert run.names(MIRROR) == [name_of(810)]


def test_b30_no_hole_is_looked_for_and_a_zeroed_chunk_is_noticed(run: Run) -> None:
    sparse = b"a" * 65_536 + bytes(1_000_000) + b"b" * 10
    run.save(810, sparse)
    run.clock.sleep(DAY)
    plan = run.plan("mirror")
    fs = run.watched()
    assert apply(run.host, run.bench.pair, run.policy, plan).exit_code == 0
    assert not {call.name for call in fs.log} & {"next_data", "next_hole"}
    assert (run.mirror / name_of(810)).read_bytes() == sparse
    run.fs = Disk()
    run.save(820, BIG)
    run.clock.sleep(DAY)

    class Zeroing(Disk):
        def fsync(self, fd: int) -> None:
            path = os.readlink(f"/proc/self/fd/{fd}")
            if path.endswith(".part"):
                os.pwrite(fd, bytes(4096), 8192)

    run.fs = Zeroing()
    assert run.ckptdeck("mirror", "--yes").code == 3
    assert run.steps(MIRROR) == [810]


def test_b32_the_whole_file_leaves_the_cache_and_its_pages_are_counted_before_it_is_read(run: Run) -> None:
    run.save(810, BIG)
    asked: list[tuple[Any, ...]] = []

    class Asked(Disk):
        def _ask(self, call: str, fd: int, *more: int) -> None:
            if stat.S_ISREG(os.fstat(fd).st_mode) and os.readlink(f"/proc/self/fd/{fd}").endswith(".pt"):
                asked.append((call, *more))

        def evict(self, fd: int, offset: int = 0, length: int = 0) -> None:
            self._ask("evict", fd, offset, length)
            super().evict(fd, offset, length)

        def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
            self._ask("count", fd, size)
            return 3

        def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
            self._ask("read", fd, offset)
            return super().read_into(fd, buffer, offset)

    run.fs = Asked()
    ran = run.ckptdeck("verify", "--json")
    assert asked[:3] == [("evict", 0, 0), ("count", len(BIG)), ("read", 0)]
    assert "cache" in str(ran.document)


class Flipping(Disk):
    """Two replicas of one file that disagree about its mtime: the one answers so many times, then the other."""

    def __init__(self, path: Path) -> None:
        self.path, self.asked, self.from_call = str(path), 0, 0

    def lstat(self, path: str) -> os.stat_result:
        status = super().lstat(path)
        if path != self.path:
            return status
        self.asked += 1
        if self.asked <= self.from_call:
            return status
        moved = status.st_mtime_ns + 10**9
        return os.stat_result(
            status[:10], {"st_mtime_ns": moved, "st_ctime_ns": status.st_ctime_ns, "st_blocks": status.st_blocks}
        )


def test_b73_replicas_that_disagree_about_the_mtime_of_what_is_recorded_hold_nothing_up(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    run.saved(810)
    plan = run.plan("mirror")
    fs = Flipping(run.primary / name_of(810))
    fs.from_call = 1
    run.fs = fs
    assert apply(run.host, run.bench.pair, run.policy, plan).exit_code == 0
    assert "(W5)" in caplog.text
    run.fs = Disk()
    assert (run.mirror / name_of(810)).read_bytes() == content_of(810)


def test_b77_a_cut_file_of_somebody_else_on_the_mirror_is_found_set_aside_and_copied_again(run: Run) -> None:
    run.mirrored(800, 810)
    run.put(name_of(810), content_of(810)[:1000], MIRROR, age=DAY)
    assert run.state(name_of(810), MIRROR) is State.TRUNCATED
    refused = run.plan("mirror", all="true")
    assert {item.guard for item in refused.items if item.step == 810} == {Guard.NEEDS_REPAIR}
    assert run.ckptdeck("repair", "--yes").code == 0
    assert (run.mirror / name_of(810)).read_bytes() == content_of(810)
    mirror = run.look().mirror
    assert mirror is not None
    assert [one.name for one in mirror.inventory.quarantine] == [name_of(810)]
