"""The power is cut at every call of every piece of work, on real file systems; each cut is mounted and judged."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.states import Role
from tests.crash.faults import NAMING, Call, FaultyFileSystem, Hook, Kill, Killed, record_calls
from tests.crash.figures import count
from tests.crash.invariants import judge_names
from tests.crash.outcomes import believed, standing, unconverged, undone
from tests.crash.power_cuts import Judge, PowerCuts
from tests.crash.sandbox import Sandbox
from tests.crash.tree_workloads import CUT_TREE_WORKLOADS, WORKLOADS
from tests.crash.volumes import (
    DROP_LOG,
    FILE_SYSTEMS,
    FLUSH_LOG,
    SHUTDOWN_FILE_SYSTEMS,
    Bench,
    Volume,
    why_no_volumes,
)
from tests.crash.workloads import FILE_WORKLOADS, Workload

RECOVER_EVERY = 6
"""Every cut is judged as it is; recovery, twice, and the work done again are tried after each sixth."""
Forgotten = Callable[[str, int], bool]
CUT_EVERY = 4
"""Of the calls on a tree that neither sync nor give a name the power is cut after each fourth."""


@pytest.mark.parametrize("fs_type", FILE_SYSTEMS)
@pytest.mark.parametrize("neighbour", [False, True], ids=["alone", "neighbour syncs"])
@pytest.mark.parametrize("kind", ["files", "trees"])
def test_every_cut_leaves_whole_checkpoints(bench: Bench, fs_type: str, neighbour: bool, kind: str) -> None:
    """With a syncing neighbour every name reaches the disk as early as it can, before data that was not synced."""
    _require(fs_type)
    works = FILE_WORKLOADS if kind == "files" else _trees_in_turn(fs_type, neighbour=neighbour)
    with bench.volume(fs_type) as volume:
        cuts = PowerCuts(bench, volume)
        done: list[Sandbox] = []
        for workload in works:
            sandbox = Sandbox.fresh(volume.root / workload.name)
            workload.prepare(sandbox)
            volume.sync()
            _act_under_cuts(workload, sandbox, volume, cuts, tuple(done), neighbour=neighbour)
            done.append(sandbox)
    judged, violations = cuts.judge_all()
    of_what = "ours" if kind == "files" else "ours on trees"
    count(f"power cuts of {of_what} judged", judged)
    count(f"power cuts of {of_what}: violations", len(violations))
    assert judged > len(works)
    assert not violations, "\n".join(violations)


def _trees_in_turn(fs_type: str, *, neighbour: bool) -> tuple[Workload, ...]:
    """Each piece of work on every file system, with a neighbour on one and without on the next."""
    return CUT_TREE_WORKLOADS[(FILE_SYSTEMS.index(fs_type) + neighbour) % 2 :: 2]


def _of_files(_path: str, mode: int) -> bool:
    return stat.S_ISREG(mode)


def _of_directories(_path: str, mode: int) -> bool:
    return stat.S_ISDIR(mode)


def _inside_a_tree(path: str, mode: int) -> bool:
    return stat.S_ISDIR(mode) and "/staging/" in path


@pytest.mark.parametrize(
    ("fs_type", "forgotten"),
    [
        *((fs_type, forgotten) for fs_type in FILE_SYSTEMS for forgotten in (_of_files, _of_directories)),
        # ext4 and xfs write all names with any fsync.
        ("btrfs", _inside_a_tree),
    ],
)
@pytest.mark.parametrize("work", ["publish", "publish-tree"])
def test_judge_catches_ours_when_it_forgets(bench: Bench, fs_type: str, forgotten: Forgotten, work: str) -> None:
    """The same save, judge and volumes, with one kind of fsync left out: then there must be violations."""
    _require(fs_type)
    if forgotten is _inside_a_tree and work == "publish":
        return
    save = next(workload for workload in WORKLOADS if workload.name == work)
    violations = []
    for neighbour in (False, True):
        with bench.volume(fs_type) as volume:
            cuts = PowerCuts(bench, volume)
            sandbox = Sandbox.fresh(volume.root / save.name)
            volume.sync()
            _act_under_cuts(save, sandbox, volume, cuts, (), neighbour=neighbour, forgotten=forgotten)
        judged, found = cuts.judge_all()
        violations += found
        count("power cuts of ours with one fsync left out judged", judged)
    count("power cuts of ours with one fsync left out: violations", len(violations))
    assert violations


@pytest.mark.parametrize("fs_type", SHUTDOWN_FILE_SYSTEMS)
@pytest.mark.parametrize(
    ("work", "how"),
    [("replace", DROP_LOG), ("replace", FLUSH_LOG), ("replace-tree", FLUSH_LOG)],
    ids=["nothing unsynced survives", "metadata overtakes data", "metadata of trees overtakes data"],
)
def test_shutdown_at_every_call_of_a_replacing_save(
    bench: Bench, fresh_sandbox: Callable[[], Sandbox], fs_type: str, work: str, how: int
) -> None:
    _require(fs_type)
    workload = next(workload for workload in WORKLOADS if workload.name == work)
    rehearsal = fresh_sandbox()
    workload.prepare(rehearsal)
    calls = record_calls(lambda fs: workload.act(fs, rehearsal))
    image = bench.image(fs_type)
    with bench.mounted(image, fs_type) as volume:
        prepared = Sandbox.fresh(volume.root / "pair")
        workload.prepare(prepared)

    violations = []
    for call in calls:
        if _worth_a_cut(workload, call):
            run = bench.copy(image)
            violations += _shut_down_at(call, workload, prepared, bench, run, fs_type, how)
            run.unlink()
            count("shutdowns judged" if work == "replace" else "shutdowns judged on trees")
    image.unlink()
    assert not violations, "\n".join(violations)


class _Forgetful(FaultyFileSystem):
    """Leaves out each fsync that `forgotten` picks by path and mode; none without it."""

    def __init__(self, after: Hook, largest_write: int, forgotten: Forgotten | None) -> None:
        super().__init__(after=after, largest_write=largest_write)
        self._forgotten = forgotten

    def fsync(self, fd: int) -> None:
        if self._forgotten is None or not self._forgotten(self._path(fd), os.fstat(fd).st_mode):
            super().fsync(fd)


def _require(fs_type: str) -> None:
    reason = why_no_volumes(fs_type)
    if reason:
        pytest.skip(reason)


def _act_under_cuts(
    workload: Workload,
    sandbox: Sandbox,
    volume: Volume,
    cuts: PowerCuts,
    done: tuple[Sandbox, ...],
    *,
    neighbour: bool,
    forgotten: Forgotten | None = None,
) -> None:
    def after(call: Call) -> None:
        if not _worth_a_cut(workload, call):
            return
        if neighbour:
            for role in Role:
                _sync_directory(sandbox.root(role))
        thorough = cuts.asked % RECOVER_EVERY == 0
        cuts.cut(f"{workload} after {call}", _judge(workload, sandbox, done, thorough=thorough))

    workload.act(_Forgetful(after, workload.largest_write, forgotten), sandbox)
    cuts.cut(f"{workload} when it had ended", _judge(workload, sandbox, done, thorough=True))


def _worth_a_cut(workload: Workload, call: Call) -> bool:
    if not call.changes or workload in FILE_WORKLOADS:
        return call.changes
    return call.name in {"fsync", *NAMING} or call.number % CUT_EVERY == 0


def _judge(workload: Workload, sandbox: Sandbox, done: tuple[Sandbox, ...], *, thorough: bool) -> Judge:
    """Judges what was promised up to now, and that what was done before is still there."""
    promised = sandbox.at(sandbox.base)

    def judge(root: Path) -> list[str]:
        here = promised.at(root / promised.base.name)
        violations = standing(here)
        for earlier in done:
            for role in Role:
                violations += judge_names(root / earlier.base.name / role.value, earlier.promise(role))
        if thorough:
            violations += believed(here)
            violations += unconverged(workload, here) + undone(workload, here)
        return violations

    return judge


def _shut_down_at(
    call: Call, workload: Workload, prepared: Sandbox, bench: Bench, image: Path, fs_type: str, how: int
) -> list[str]:
    with bench.mounted(image, fs_type) as volume:
        sandbox = prepared.at(volume.root / "pair")
        fs = FaultyFileSystem(Kill(call.number))
        with pytest.raises(Killed):
            workload.act(fs, sandbox)
        volume.shut_down(how)
    with bench.mounted(image, fs_type) as volume:
        after = sandbox.at(volume.root / "pair")
        violations = standing(after) + unconverged(workload, after) + undone(workload, after)
    return [f"{fs_type}, shut down before {call}: {violation}" for violation in violations]


def _sync_directory(path: Path) -> None:
    fs = FileSystem()
    fd = fs.open(str(path), os.O_RDONLY | os.O_DIRECTORY)
    fs.fsync(fd)
    fs.close(fd)
