"""Cases A of the checkpoint managers: truncated or corrupt after a crash."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import pytest

from ckptdeck.core.publish import Intent
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.states import FlightState, State
from tests.cases.run import (
    DAY,
    MIRROR,
    PRIMARY,
    Disk,
    Run,
    content_of,
    hf_checkpoint,
    name_of,
    safetensors_file,
    torch_file,
)
from tests.crash.faults import Call, FaultyFileSystem, Killed


def dies(run: Run, call: str, end: str, times: int = 1) -> None:
    """The machine of the run dies before such a call on a path that ends so."""
    left = [times]

    def before(made: Call) -> None:
        if made.name == call and made.paths[-1].endswith(end):
            left[0] -= 1
            if left[0] < 0:
                fs.die()

    fs = run.watched(before=before)


def test_a1_a_copy_killed_on_the_way_has_no_name_and_is_made_again(run: Run) -> None:
    run.save(810, content_of(810) * 12)
    run.clock.sleep(DAY)
    dies(run, "pwrite", "step_0810.pt.part", times=1)
    with contextlib.suppress(Killed):
        run.do("mirror")
    run.fs = Disk()
    assert run.names(MIRROR) == ["step_0810.pt.part"]
    (flight,) = run.look().sides[1].inventory.in_flight
    assert (flight.state, flight.target) == (FlightState.STALE, "step_0810.pt")
    assert 0 < flight.size < len(content_of(810) * 12)
    assert "`ckptdeck mirror step_0810.pt` goes on with it" in run.ckptdeck("recover", "--dry-run").out
    assert run.ckptdeck("mirror", "--yes").code == 0
    assert run.names(MIRROR) == ["step_0810.pt"]
    assert (run.mirror / "step_0810.pt").read_bytes() == content_of(810) * 12


class Forgetful(Disk):
    """Gives other bytes back than were written into a part, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.parts: set[int] = set()

    def evict(self, fd: int, offset: int = 0, length: int = 0) -> None:
        super().evict(fd, offset, length)
        if (offset, length) == (0, 0):
            self.parts.add(fd)

    def close(self, fd: int) -> None:
        self.parts.discard(fd)
        super().close(fd)

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        count = super().read_into(fd, buffer, offset)
        if self.times and fd in self.parts and os.readlink(f"/proc/self/fd/{fd}").endswith(".part") and offset == 0:
            self.times -= 1
            buffer[0] ^= 1
        return count


@pytest.mark.parametrize("times", [1, 2])
def test_a2_storage_that_returns_other_bytes_gets_one_more_try_and_no_name(run: Run, times: int) -> None:
    run.saved(810)
    run.fs = Forgetful(times)
    before = run.clock.now()
    ran = run.ckptdeck("mirror", "--yes")
    assert run.clock.now() - before >= 2
    if times == 1:
        assert ran.code == 0
        assert run.state("step_0810.pt", MIRROR) is State.VERIFIED
    else:
        assert ran.code == 3
        assert "the storage returned other bytes than were written" in ran.told
        assert run.names(MIRROR) == []


@pytest.mark.parametrize("lacking", [("optimizer.pt", "scheduler.pt", "trainer_state.json"), ("optimizer.pt",)])
def test_a4_the_last_whole_directory_is_the_answer_and_what_the_newest_lacks_is_told(
    run: Run, lacking: tuple[str, ...]
) -> None:
    run.put_tree("checkpoint-900", hf_checkpoint(900))
    run.do("adopt", "checkpoint-900")
    newest = hf_checkpoint(1000)
    run.put_tree("checkpoint-1000", {path: data for path, data in newest.items() if path not in lacking})
    ran = run.ckptdeck("resume")
    assert (ran.code, ran.out) == (0, f"{run.primary}/checkpoint-900\n")
    told = [line for line in ran.err.splitlines() if "checkpoint-1000" in line]
    assert len(told) == 1
    assert "incomplete" in told[0]
    assert "optimizer" in told[0]
    assert run.names() == ["checkpoint-1000", "checkpoint-900"]


def test_a5_a_directory_whose_name_is_a_number_is_not_trusted_for_it(run: Run) -> None:
    for step in (7, 8):
        run.put_tree(str(step), {"config.json": b"{}", "model.safetensors": safetensors_file(step)})
    run.cut("8/model.safetensors", 20_000)
    assert (run.state("7"), run.state("8")) == (State.STRUCTURE_OK, State.TRUNCATED)


class Full(Disk):
    """Not a byte is free: nothing new can be made, and nothing longer."""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if flags & os.O_CREAT and not os.path.lexists(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return super().open(path, flags, mode)

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a7_a_full_disk_with_a_torn_newest_goes_on_from_the_one_before(run: Run) -> None:
    run.mirrored(810)
    whole = torch_file(820)
    run.put("step_0820.pt", whole[: len(whole) // 66])
    run.fs = Full()
    assert run.state("step_0820.pt") is State.TRUNCATED
    assert run.ckptdeck("resume").out == f"{run.primary}/step_0810.pt\n"
    assert "this frees nothing until `ckptdeck purge`" in run.ckptdeck("quarantine", "--dry-run").out
    assert run.ckptdeck("quarantine", "--yes").code == 0
    assert run.names() == ["step_0810.pt"]
    assert run.ckptdeck("resume").out == f"{run.primary}/step_0810.pt\n"


def test_a10_broken_newer_ones_never_cost_a_whole_one(run: Run) -> None:
    steps = (700, 710, 720)
    run.mirrored(*steps)
    run.mirrored(790, 800)
    for side in (PRIMARY, MIRROR):
        for step in (790, 800):
            run.rot(name_of(step), side)
    assert run.verify().code == 1
    run.put("step_0810.pt.part", b"x" * 100, age=1)
    for command in (("--dry-run",), ("--yes",)):
        ran = run.ckptdeck("prune", "--keep-last", "3", *command)
        assert run.steps(PRIMARY) == run.steps(MIRROR) == [*steps, 790, 800]
        assert "only 0 of 3 newer steps are whole" in ran.told
    plan = run.plan("prune", keep_last="3")
    assert plan.acting == ()


def test_a11_of_single_files_the_last_whole_one_is_the_answer(run: Run) -> None:
    run.mirrored(800, 810)
    for side in (PRIMARY, MIRROR):
        run.cut("step_0810.pt", 100, side)
    ran = run.ckptdeck("resume")
    assert (ran.code, ran.out) == (0, f"{run.primary}/step_0800.pt\n")
    assert "step_0810.pt on the primary is truncated" in ran.err


def test_a12_shards_whose_sum_is_right_are_found_one_by_one(run: Run) -> None:
    shards = {f"model-0000{n}-of-00003.safetensors": safetensors_file(n) for n in (1, 2, 3)}
    with publish_tree(run.host, run.bench.on(PRIMARY), Intent("checkpoint-810", step=810)) as (path, _):
        for name, data in shards.items():
            (Path(path) / name).write_bytes(data)
    one, two = list(shards)[:2]
    for name, size in ((one, len(shards[one]) + 4096), (two, len(shards[two]) - 4096)):
        run.cut(f"checkpoint-810/{name}", size)
    copy = run.look().primary.find("checkpoint-810")
    assert copy is not None
    assert copy.size == sum(map(len, shards.values()))
    assert copy.state is State.TRUNCATED
    assert "4096 are missing" in copy.reason
    assert "1 other file differs" in copy.reason


def test_a12_a_mirror_of_another_run_is_refused_before_anything_is_read(run: Run) -> None:
    run.mirrored(810)
    other, mirror = run.base / "other", run.base / "other-mirror"
    for directory in (other, mirror):
        directory.mkdir()
    assert run.line("init", str(other), str(mirror)).code == 0
    fs = FaultyFileSystem(real=Disk())
    run.fs = fs
    ran = run.line("verify", str(run.primary), str(mirror))
    assert ran.code == 7
    assert "not a pair" in ran.told or "is paired with" in ran.told
    assert not any(call.name == "read_into" and call.paths[0].endswith(".pt") for call in fs.log)
