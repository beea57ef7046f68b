"""A watch and what may go wrong: told once, waited for, caught up with; and the command that tells somebody."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.monitor.watch_event import Happening
from tests.monitor.world import HOUR, SIZE, WorldMaker, content, name_of, save, steps_on


def test_a_lost_mirror_is_told_once_and_waited_for(make: WorldMaker) -> None:
    world = make(policy="[prune]\nkeep_last = 2\n")
    world.begin()
    save(world, 1, 2, 3)
    world.rest()
    world.unmount()
    save(world, 4, 5)
    for _ in range(4):
        world.rest()
    assert steps_on(world.disks.primary) == [2, 3, 4, 5]
    assert os.listdir(world.disks.mirror) == []
    assert sum("is not mounted" in text for text in world.told(Happening.TROUBLE)) == 1
    assert len(world.told(Happening.HELD)) == 1
    world.mount()
    world.rest()
    assert steps_on(world.disks.primary) == steps_on(world.disks.mirror) == [4, 5]
    assert sum("is not mounted" in text for text in world.told(Happening.OVER)) == 1


def test_trouble_on_a_side_that_cannot_be_seen_is_not_over_and_not_told_again(make: WorldMaker) -> None:
    world = make()
    world.begin()
    save(world, 1)
    world.rest()
    os.truncate(world.disks.mirror / name_of(1), 5)
    world.look(HOUR)
    world.rest()
    world.unmount()
    world.rest()
    world.mount()
    world.rest()
    assert sum("is truncated" in text for text in world.told(Happening.TROUBLE)) == 1
    assert not any("is truncated" in text for text in world.told(Happening.OVER))
    shutil.copy(world.disks.primary / name_of(1), world.disks.mirror / name_of(1))
    world.look(HOUR)
    world.rest()
    assert sum("is truncated" in text for text in world.told(Happening.OVER)) == 1


def test_a_lost_primary_stops_everything_and_comes_back(make: WorldMaker) -> None:
    world = make(policy="[prune]\nkeep_last = 2\n")
    world.begin()
    save(world, 1, 2, 3)
    world.rest()
    aside = world.disks.primary.with_name("aside")
    world.disks.primary.rename(aside)
    world.rest()
    assert any("There is no directory" in text for text in world.told(Happening.TROUBLE))
    aside.rename(world.disks.primary)
    save(world, 4)
    world.rest()
    assert steps_on(world.disks.mirror) == [3, 4]


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_mirror_that_fails_is_told_once_tried_ever_less_often_and_caught_up_with(make: WorldMaker, code: int) -> None:
    world = make()
    world.begin()
    world.rest()
    world.kernel.failing[str(world.disks.mirror)] = code
    save(world, 1)
    tries = sum(world.turn(10) for _ in range(360))
    assert 4 <= tries <= 8  # after 30 s, 1, 2, 4, 8, 16 minutes
    failures = [
        text for text in world.told(Happening.TROUBLE) if text.startswith("mirror of step_1.pt on mirror failed")
    ]
    assert len(failures) == 1
    assert os.strerror(code) in failures[0]
    world.kernel.failing.clear()
    world.turn(HOUR)
    world.rest()
    assert steps_on(world.disks.mirror) == [1]
    assert f"no longer so: {failures[0]}" in world.told(Happening.OVER)


def test_one_that_cannot_be_read_does_not_keep_the_others_waiting(make: WorldMaker) -> None:
    world = make()
    save(world, 1, 2, 3)
    world.kernel.unreadable.add(str(world.disks.primary / name_of(3)))
    world.begin()
    for _ in range(200):
        world.turn()
    assert steps_on(world.disks.mirror) == [1, 2]


def test_a_full_mirror_is_told_and_no_copy_is_begun(make: WorldMaker) -> None:
    world = make()
    world.kernel.capacity[str(world.disks.mirror)] = SIZE + SIZE // 2
    world.begin()
    save(world, 1, 2)
    for _ in range(4):
        world.rest()
    assert steps_on(world.disks.mirror) == [2]
    (held,) = world.told(Happening.HELD)
    assert "none fits" in held
    assert world.kernel.refused == 0
    world.kernel.capacity[str(world.disks.mirror)] = 10 * SIZE
    world.rest()
    assert steps_on(world.disks.mirror) == [1, 2]


def test_a_held_lock_is_told_once_and_waited_for(make: WorldMaker) -> None:
    world = make(policy="[prune]\nkeep_last = 2\n")
    world.begin()
    fs = FileSystem()
    lock = fs.open(str(world.disks.mirror / ".ckptdeck" / "lock"), os.O_RDWR)
    assert fs.try_lock(lock)
    save(world, 1, 2, 3)
    for _ in range(40):
        world.turn()
    assert steps_on(world.disks.primary) == [1, 2, 3]
    (told,) = world.told(Happening.SKIPPED)
    assert "is locked by" in told
    os.close(lock)
    world.turn(HOUR)
    world.rest()
    assert steps_on(world.disks.primary) == steps_on(world.disks.mirror) == [2, 3]


def test_a_rotten_source_is_told_and_copied_nowhere(make: WorldMaker) -> None:
    world = make()
    save(world, 1)
    path = world.disks.primary / name_of(1)
    status = path.stat()
    path.write_bytes(content("other", SIZE))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    world.begin()
    for _ in range(3):
        world.rest()
    assert steps_on(world.disks.mirror) == []
    assert any("is corrupt" in text for text in world.told(Happening.TROUBLE))


def test_a_broken_policy_is_trouble_and_its_repair_the_end_of_it(make: WorldMaker) -> None:
    world = make()
    world.begin()
    policy = Path(world.control) / "ckptdeck.toml"
    policy.write_text("[prune]\ncolour = 1\n")
    save(world, 1)
    world.rest()
    assert any("colour" in text for text in world.told(Happening.TROUBLE))
    assert steps_on(world.disks.mirror) == []
    policy.unlink()
    world.rest()
    assert steps_on(world.disks.mirror) == [1]


# --- notify


def test_notify_runs_once_for_a_trouble_with_its_words_in_the_environment_only(
    make: WorldMaker, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    command = f'printf "%s|" "$CKPTDECK_TROUBLE" "$CKPTDECK_PRIMARY" "$CKPTDECK_MIRROR" >> {told}'
    world = make(policy=f"[watch]\nnotify = '''{command}'''\n")
    world.begin()
    save(world, 1)
    world.rest()
    world.notified()
    told.unlink()  # both sides lie on one device
    hostile = world.disks.mirror / "step_9;touch $(touch pwned)`touch pwned`.pt"
    hostile.write_bytes(b"")
    for _ in range(5):
        world.rest()
        world.notified()
    text, primary, mirror, end = told.read_text().split("|")
    assert hostile.name in text
    assert (primary, mirror, end) == (str(world.disks.primary), str(world.disks.mirror), "")
    assert not list(tmp_path.rglob("pwned"))
    assert not Path("/pwned").exists()


def test_a_lost_primary_is_notified_though_the_policy_lies_on_it(make: WorldMaker, tmp_path: Path) -> None:
    told = tmp_path / "told"
    world = make(policy=f"[watch]\nnotify = '''echo \"$CKPTDECK_TROUBLE\" >> {told}'''\n")
    world.begin()
    save(world, 1)
    world.rest()
    world.notified()
    shutil.rmtree(world.disks.primary.with_name(".run.ckptdeck"))
    shutil.rmtree(world.disks.primary)
    world.rest()
    world.notified()
    assert "There is no directory" in told.read_text()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("exit 3", "the notify command failed with exit code 3"),
        ("sleep 1000", "the notify command did not end within 30 s and was killed"),
    ],
)
def test_a_notify_command_that_fails_or_hangs_is_said_and_stops_nothing(
    make: WorldMaker, command: str, problem: str
) -> None:
    world = make(policy=f"[watch]\nnotify = '{command}'\n")
    world.begin()
    save(world, 1)
    world.rest()
    if command == "exit 3":
        world.notified()
    world.turn(31)
    world.rest()
    assert world.told(Happening.FAILED) == [problem]
    assert steps_on(world.disks.mirror) == [1]
    save(world, 2)
    world.rest()
    assert steps_on(world.disks.mirror) == [1, 2]
