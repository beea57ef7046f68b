"""From trouble to well again, on real files, with a count of the keys it takes and no manual."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.volumes import may_mount
from tests.terminal.operator import Operator
from tests.terminal.run import Run, torch_bytes
from tests.terminal.screen import CKPTDECK, Screen, wait_until
from tests.terminal.test_acting import verified_rows

Open = Callable[..., Screen]

DIE_BEFORE_NAMING = """
import os, sys
from ckptdeck import publish
from ckptdeck.core.filesystem import FileSystem

def dying(rename):
    def until_its_name(self, source, target):
        if target.endswith("step_0150.pt"):
            os._exit(9)
        rename(self, source, target)
    return until_its_name

FileSystem.rename = dying(FileSystem.rename)
FileSystem.rename_no_replace = dying(FileSystem.rename_no_replace)
with publish(sys.argv[1], "step_0150.pt", step=150) as sink:
    sink.write(sys.stdin.buffer.read())
"""


def lose_power_before_naming(run: Run, content: bytes) -> None:
    """Step 150 is on the disk with all its bytes, announced, and has no name."""
    done = subprocess.run(
        [sys.executable, "-c", DIE_BEFORE_NAMING, str(run.primary)], input=content, capture_output=True, check=False
    )
    assert done.returncode == 9, done.stderr
    assert "step_0150.pt" not in run.on_primary()


def cut_a_mirror_short(run: Run, step: int) -> None:
    """A copy to the mirror whose process is killed in the middle."""
    run.save_directly(step, 12_000_000)
    assert subprocess.run([*CKPTDECK, "adopt", *run.directories, "--yes", "--quiet"], check=False).returncode == 0
    run.limit_rate("1MB/s")
    copying = subprocess.Popen([*CKPTDECK, "mirror", *run.directories, "--yes", "--quiet"])
    part = run.mirror / f"step_{step:04d}.pt.part"
    wait_until(lambda: part.exists() and part.stat().st_size > 300_000)
    os.kill(copying.pid, signal.SIGKILL)
    copying.wait()
    run.limit_rate("900MB/s")


def same_on_both_sides(run: Run, *steps: int) -> bool:
    """False also while a bad copy was set aside and the good one has no name yet."""
    names = [f"step_{step:04d}.pt" for step in steps]
    try:
        return all((run.mirror / name).read_bytes() == (run.primary / name).read_bytes() for name in names)
    except FileNotFoundError:
        return False


def test_after_a_reboot_three_keys_finish_repair_mirror_and_copy_the_command(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    run.record_and_mirror()
    cut_a_mirror_short(run, 100)
    run.cut(run.mirror / "step_0050.pt")
    saved = torch_bytes(150, 200_000)
    lose_power_before_naming(run, saved)

    screen = open_screen(*CKPTDECK, *run.directories)
    screen.accept_copies()
    operator = Operator(screen)
    seen = operator.sees(lambda text: "· recovery" in text and "3 steps to take: R reviews them" in text)
    assert "RESUME 100" in seen
    assert "no step is lost" in " ".join(seen.split())
    operator.press("R")
    operator.answer("Do it", "y")
    operator.sees("RESUME 150")
    operator.press("c")
    wait_until(lambda: screen.copied() == str(run.primary / "step_0150.pt"))
    assert operator.keys == ["R", "y", "c"]
    assert (run.primary / "step_0150.pt").read_bytes() == saved
    wait_until(lambda: same_on_both_sides(run, 50, 100))
    assert not [name for name in run.on_primary() | run.on_mirror() if name.endswith(".part")]


def test_a_truncated_mirror_copy_takes_three_keys(run: Run, open_screen: Open) -> None:
    for step in (50, 100):
        run.save_directly(step)
    run.record_and_mirror()
    run.cut(run.mirror / "step_0050.pt")
    screen = open_screen(*CKPTDECK, *run.directories)
    operator = Operator(screen)
    seen = operator.sees("TRUNCATED")
    assert "R Recovery" in seen.splitlines()[-1]
    operator.press("R")
    operator.sees("R reviews them")
    operator.press("R")
    operator.answer("Do it", "y")
    wait_until(lambda: same_on_both_sides(run, 50))
    assert operator.keys == ["R", "R", "y"]
    screen.type("q")
    screen.wait_for(lambda text: verified_rows(text) == 2)


@pytest.fixture
def small_mirror(run: Run) -> Iterator[Path]:
    """The mirror on a disk of its own with little room, where that can be mounted."""
    if not may_mount():
        yield run.mirror
        return
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(run.mirror)]
    subprocess.run(words, check=True, capture_output=True)
    yield run.mirror
    subprocess.run(["umount", "-l", str(run.mirror)], check=True, capture_output=True)


def test_a_full_disk_takes_four_keys(run: Run, small_mirror: Path, open_screen: Open) -> None:
    for step in range(50, 300, 50):
        run.save_directly(step)
    run.record_and_mirror()
    run.keep_last(2)
    fill_up(small_mirror)
    screen = open_screen(*CKPTDECK, *run.directories)
    operator = Operator(screen)
    operator.sees(lambda text: verified_rows(text) == 5)
    operator.press("U")
    operator.sees("UNLOCKED")
    operator.press("P")
    operator.answer("Type 6 (6 copies deleted for good), then y", "6")
    operator.sees("y confirms")
    operator.press("y")
    screen.wait_for(lambda text: verified_rows(text) == 2 and "Cancel" not in text)
    assert operator.keys == ["U", "P", "6", "y"]
    assert run.on_primary() == run.on_mirror() - {"others.bin"} == {"step_0200.pt", "step_0250.pt"}
    assert room_on(small_mirror) >= 3 * 190_000
    screen.type("q")
    assert screen.ended() == 0


def fill_up(root: Path) -> None:
    """Somebody else's file takes what is left, where the disk is small."""
    if may_mount():
        with (root / "others.bin").open("wb") as sink:
            os.posix_fallocate(sink.fileno(), 0, room_on(root))
        assert room_on(root) == 0


def room_on(root: Path) -> int:
    figures = os.statvfs(root)
    return figures.f_bavail * figures.f_frsize
