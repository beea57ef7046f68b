"""Cases C of the checkpoint managers, and B21-B26, B71 and B72 of the others: full disks."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core import filesystem
from ckptdeck.core.amounts import size_text
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sides import Side
from ckptdeck.core.space import project
from ckptdeck.core.states import State
from tests.cases.run import DAY, MIRROR, PRIMARY, Disk, Run, content_of, name_of
from tests.core.looks import LOCAL, NOW, inventory, verified
from tests.core.plans.scenes import pair
from tests.crash.faults import Call

GB = 10**9
MINUTE = 60.0


@pytest.mark.parametrize(("free", "fits"), [(6.1, 2), (2.4, 0)])
def test_c1_how_many_more_fit_and_until_when(free: float, fits: int) -> None:
    saves = [
        verified(name_of(step), step, 2_470_000_000, age=(820 - step) * 4 * MINUTE) for step in (780, 790, 800, 810)
    ]
    volume = replace(LOCAL, free=int(free * GB))
    side = Side(inventory(*saves, volume=volume), pair(saves).primary.checkpoints)
    said = project(side, replace(DEFAULT_POLICY, reserve_fraction=0.0), NOW)
    assert (said.interval, said.checkpoint_size, said.fits) == (40 * MINUTE, 2_470_000_000, fits)
    assert said.full_at == NOW - 40 * MINUTE + (fits + 1) * 40 * MINUTE


class Small(Disk):
    """The mirror's volume has `total` bytes, and its figure says that `free` of them are."""

    def __init__(self, total: int, free: int) -> None:
        self.total, self.free = total, free

    def statvfs(self, path: str) -> os.statvfs_result:
        real = super().statvfs(path)
        if "mirror" not in path:
            return real
        return os.statvfs_result((1, 1, self.total, self.free, self.free, *real[5:]))


def test_c2_without_room_beside_the_reserve_nothing_is_begun(run: Run) -> None:
    run.save(810, b"x" * 2470)
    run.clock.sleep(DAY)
    run.fs = Small(100_000, 2400 + 1000)
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == 6
    assert run.names(MIRROR) == []
    run.fs = Small(100_000, 2470 + 1000)
    assert run.ckptdeck("mirror", "--yes").code == 0


class Refusing(Small):
    """Takes so many bytes of a copy, whatever its figure says, and then no more."""

    def __init__(self, code: int, takes: int) -> None:
        super().__init__(10**12, 459 * GB)
        self.code, self.takes = code, takes

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".part"):
            if self.takes <= 0:
                raise OSError(self.code, os.strerror(self.code))
            data = data[: self.takes]
            self.takes -= len(data)
        return super().pwrite(fd, data, offset)


@pytest.mark.parametrize(("code", "word"), [(errno.ENOSPC, "no room left"), (errno.EDQUOT, "quota is used up")])
def test_c3_b21_b71_b72_a_volume_that_is_full_against_its_own_figure(run: Run, code: int, word: str) -> None:
    run.mirrored(800)
    run.saved(810)
    before = {path.name: path.read_bytes() for path in run.mirror.glob("*.pt")}
    run.fs = Refusing(code, 4000)
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == 6
    assert word in ran.told
    assert f"{size_text(459 * GB)} are free there by its own figure" in ran.told
    assert {path.name: path.read_bytes() for path in run.mirror.iterdir() if path.is_file()} == before


def test_c4_nothing_is_staged_anywhere_but_beside_its_target(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run.saved(810)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    created: list[str] = []

    def after(call: Call) -> None:
        if call.name in ("create", "make_directory"):
            created.append(call.paths[0])

    run.watched(after=after)
    assert run.do("mirror").exit_code == 0
    assert f"{run.mirror}/step_0810.pt.part" in created
    assert all(path.startswith((str(run.mirror), str(run.control(PRIMARY)))) for path in created)


class Full(Disk):
    """Not a byte is free on either side: nothing new, nothing longer."""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if flags & os.O_CREAT and not os.path.lexists(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return super().open(path, flags, mode)

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def test_b23_b24_with_no_byte_free_everything_that_helps_works(run: Run) -> None:
    run.mirrored(100, 200, 300, 400)
    run.rot(name_of(300), MIRROR)
    run.fs = Full()
    assert run.ckptdeck("status").code == 0
    assert run.verify(name_of(400)).code == 0
    assert run.verify(name_of(300)).code == 1
    assert run.ckptdeck("resume").code == 0
    assert run.ckptdeck("prune", "--keep-last", "2", "--yes").code in (0, 3)
    assert run.steps(PRIMARY)[0] == 200 or run.steps(MIRROR)[0] == 200
    assert run.ckptdeck("quarantine", "--yes").code in (0, 3)
    assert run.ckptdeck("purge", "--yes").code == 0


class FailingClose(Disk):
    """The server says at the close of a part that its bytes did not arrive; `cut` loses them, too."""

    def __init__(self, code: int, *, cut: bool) -> None:
        self.code, self.cut = code, cut

    def mount_table(self) -> str:
        return "1 0 8:0 / / rw - nfs4 server:/export rw\n"

    def open_for_writing_elsewhere(self, fd: int) -> bool | None:
        return None

    def close(self, fd: int) -> None:
        part = os.readlink(f"/proc/self/fd/{fd}").endswith(".part")
        written = part and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
        if written and self.code and self.cut:
            os.ftruncate(fd, 0)
        super().close(fd)
        if written and self.code:
            code, self.code = self.code, 0
            raise OSError(code, os.strerror(code))


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(("code", "exit_code"), [(errno.EDQUOT, 6), (errno.ENOSPC, 6), (errno.EIO, 7)])
def test_b26_b28_an_error_that_only_the_close_tells_fails_the_copy(
    run: Run, code: int, exit_code: int, cut: bool
) -> None:
    run.saved(810)
    run.fs = FailingClose(code, cut=cut)
    ran = run.ckptdeck("mirror", "--yes")
    assert ran.code == exit_code
    assert run.names(MIRROR) == []
    assert run.state(name_of(810)) is State.VERIFIED
    run.fs = Disk()
    assert run.ckptdeck("mirror", "--yes").code == 0
    assert (run.mirror / name_of(810)).read_bytes() == content_of(810)


def test_b29_no_way_out_of_a_write_that_went_well_leaves_its_close_unasked(run: Run) -> None:
    """Nothing in the core opens a file but through the seam, and what closes it there lets errors through."""
    core = Path(filesystem.__file__).parent
    openers = [
        path.name
        for path in core.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "os.open", "os.close", "os.fdopen")
    ]
    assert set(openers) == {"filesystem.py"}

    class Failing(Disk):
        def close(self, fd: int) -> None:
            super().close(fd)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = run.put(name_of(810), b"x")
    with pytest.raises(OSError, match="Input/output error"):
        with filesystem.opened(Failing(), str(path), os.O_RDONLY):
            os.lstat(path)


def test_b71_the_free_figure_of_btrfs_is_called_optimistic(run: Run) -> None:
    class Btrfs(Disk):
        def mount_table(self) -> str:
            return "1 0 8:0 / / rw - btrfs /dev/sda1 rw\n"

    run.mirrored(800, 810)
    run.fs = Btrfs()
    side = run.ckptdeck("status", "--json").document["sides"]["primary"]
    assert side["filesystem"]["optimistic"] is True
    projection = run.look().space[PRIMARY]
    assert "free space on btrfs may be less than it says" in projection.basis
