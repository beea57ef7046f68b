"""A watch over real files in pretended time: what it does, what it leaves, what it says once, and how it ends."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.prune import plan_prune
from ckptdeck.core.progress import CancelToken, Progress
from ckptdeck.core.states import Role
from ckptdeck.monitor.log import read_log
from ckptdeck.monitor.notify import Notifier
from ckptdeck.monitor.watch import TICK, Watch
from ckptdeck.monitor.watch_event import Event, Happening
from ckptdeck.monitor.watch_work import Duties
from tests.crash.contents import digest_of
from tests.crash.invariants import Promise, fingerprint, judge_names
from tests.monitor.world import World, content, directories

SIZE = 20_000
HOUR = 3600.0
Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[World] = []

    def make(*, mirror: bool = True, prune: bool = True, policy: str = "", paired: bool = True) -> World:
        world = World(directories(tmp_path), duties=Duties(mirror, prune), paired=paired)
        if policy:
            (Path(world.control) / "ckptdeck.toml").write_text(policy)
        made.append(world)
        return world

    yield make
    for world in made:
        world.end()


def save(world: World, *saves: int, size: int = SIZE) -> None:
    """One an hour."""
    for number in saves:
        name = name_of(number)
        world.save(name, content(name, size))
        world.clock.advance(HOUR)


def name_of(number: int) -> str:
    return f"step_{number}.pt"


def steps_on(root: Path) -> list[int]:
    return sorted(int(name[5:-3]) for name in os.listdir(root) if name.endswith(".pt"))


def test_without_duties_it_looks_and_changes_nothing(make: Make) -> None:
    world = make(mirror=False, prune=False)
    save(world, *range(1, 15))
    before = fingerprint(world.disks.primary, world.disks.mirror)
    world.begin()
    for _ in range(3):
        world.watch.turn()  # its engine proves the resume point, as the console's does
        world.turn()
    world.rest()
    assert fingerprint(world.disks.primary, world.disks.mirror) == before
    assert steps_on(world.disks.mirror) == []
    assert world.told(Happening.START)[0].endswith(": changes nothing")
    assert any("run: 14 checkpoints, 280 kB, " in text for text in world.told(Happening.SIDE))


def test_what_others_do_is_told_and_what_it_does_itself_is_told_as_done(make: Make) -> None:
    world = make()
    world.begin()
    world.rest()
    save(world, 1, 2)
    world.rest()
    os.unlink(world.disks.primary / name_of(1))
    world.rest()
    seen = [
        (event.what, event.side, event.name) for event in world.events if event.name and ": verified" not in event.text
    ]
    assert seen == [
        (Happening.APPEARED, Role.PRIMARY, name_of(2)),
        (Happening.APPEARED, Role.PRIMARY, name_of(1)),
        (Happening.DONE, Role.MIRROR, name_of(2)),
        (Happening.DONE, Role.MIRROR, name_of(1)),
        (Happening.GONE, Role.PRIMARY, name_of(1)),
    ]
    done = next(event for event in world.events if event.what is Happening.DONE and event.side is Role.MIRROR)
    line = f"ckptdeck mirror {world.disks.primary} {world.disks.mirror} {name_of(2)}"
    assert done.command == line
    assert line in [entry.command for entry in read_log(world.kernel, world.control)]


def test_what_is_saved_during_a_backlog_is_copied_before_the_rest_of_it(make: Make) -> None:
    world = make()
    save(world, 1, 2, 3)
    world.begin()
    while not steps_on(world.disks.mirror):
        world.turn()
    assert steps_on(world.disks.mirror) == [3]
    save(world, 4)
    while len(steps_on(world.disks.mirror)) == 1:
        world.turn()
    assert steps_on(world.disks.mirror) == [3, 4]
    world.rest()
    assert steps_on(world.disks.mirror) == [1, 2, 3, 4]


def test_nothing_is_pruned_before_the_newest_step_is_whole_on_both_sides(make: Make) -> None:
    world = make(prune=False, policy="[prune]\nkeep_last = 4\n")
    world.begin()
    save(world, *range(1, 6))
    world.rest()
    world.end()
    save(world, 6)
    second = world.another(Duties(mirror=False, prune=True))
    second.begin()
    second.rest()
    assert plan_prune(second.survey()).acting  # it could
    assert steps_on(world.disks.primary) == [1, 2, 3, 4, 5, 6]
    second.end()
    third = world.another(Duties(mirror=True, prune=True))
    third.begin()
    third.rest()
    assert steps_on(world.disks.primary) == steps_on(world.disks.mirror) == [3, 4, 5, 6]
    third.end()


def test_a_full_mirror_is_pruned_so_that_the_newest_finds_room(make: Make) -> None:
    """The newest is not whole there, and cannot be before something goes."""
    world = make(prune=False, policy="[prune]\nkeep_last = 4\n")
    world.begin()
    for number in range(1, 7):
        save(world, number)
        world.rest()
    world.end()
    world.kernel.capacity[str(world.disks.mirror)] = 6 * SIZE + SIZE // 2
    save(world, 7)
    second = world.another(Duties(mirror=True, prune=True))
    second.begin()
    second.rest()
    assert steps_on(world.disks.mirror) == [4, 5, 6, 7]
    assert world.kernel.refused == 0
    second.end()


def test_without_a_mirror_what_prune_counts_is_proven_first(make: Make) -> None:
    world = make(mirror=False, paired=False, policy="[prune]\nkeep_last = 3\n")
    world.begin()
    for number in range(1, 6):
        save(world, number)
        world.rest()
    assert steps_on(world.disks.primary) == [3, 4, 5]
    verified = [text for text in world.told(Happening.DONE) if ": verified" in text]
    assert len(verified) == 5


def test_a_plan_over_half_of_a_side_is_never_run_and_its_line_is_told_once(make: Make) -> None:
    world = make(prune=False)
    world.begin()
    save(world, *range(1, 7))
    world.rest()
    world.end()
    (Path(world.control) / "ckptdeck.toml").write_text("[prune]\nkeep_last = 2\n")
    second = world.another(Duties(mirror=True, prune=True))
    second.begin()
    for _ in range(5):
        second.rest()
    both = f"{world.disks.primary} {world.disks.mirror}"
    (told,) = [event for event in second.events if "over half" in event.text]
    assert (told.what, told.command) == (Happening.TROUBLE, f"ckptdeck prune {both} --confirm-count 8")
    save(second, 7)
    for _ in range(5):
        second.rest()
    changed = [event for event in second.events if event.what is Happening.HELD]
    assert [event.command for event in changed] == [f"ckptdeck prune {both} --confirm-count 10"]
    assert steps_on(world.disks.primary) == [1, 2, 3, 4, 5, 6, 7]
    assert steps_on(world.disks.mirror) == [1, 2, 3, 4, 5, 6, 7]
    second.end()


def test_what_only_guards_hold_back_is_told_once_for_each_change(make: Make) -> None:
    world = make(policy="[prune]\nkeep_last = 2\n")
    world.begin()
    save(world, 10, 11, 12)
    world.rest()
    (world.disks.mirror / name_of(1)).write_bytes(content("x", SIZE))
    world.clock.advance(HOUR)
    for _ in range(4):
        world.rest()
    (first,) = world.told(Happening.HELD)
    assert first.startswith(
        "prune leaves step_1.pt on mirror: unrecorded, without a record; `ckptdeck adopt step_1.pt`"
    )
    assert first.endswith("(needs-adopt)")
    (world.disks.mirror / name_of(2)).write_bytes(content("y", SIZE))
    world.clock.advance(HOUR)
    for _ in range(4):
        world.rest()
    _, second = world.told(Happening.HELD)
    assert second.endswith("(needs-adopt); and 1 other")


# --- what may go wrong


def test_a_lost_mirror_is_told_once_and_waited_for(make: Make) -> None:
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


def test_a_lost_primary_stops_everything_and_comes_back(make: Make) -> None:
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
def test_a_mirror_that_fails_is_told_once_tried_ever_less_often_and_caught_up_with(make: Make, code: int) -> None:
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


def test_one_that_cannot_be_read_does_not_keep_the_others_waiting(make: Make) -> None:
    world = make()
    save(world, 1, 2, 3)
    world.kernel.unreadable.add(str(world.disks.primary / name_of(3)))
    world.begin()
    for _ in range(200):
        world.turn()
    assert steps_on(world.disks.mirror) == [1, 2]


def test_a_full_mirror_is_told_and_no_copy_is_begun(make: Make) -> None:
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


def test_a_held_lock_is_told_once_and_waited_for(make: Make) -> None:
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


def test_a_rotten_source_is_told_and_copied_nowhere(make: Make) -> None:
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


def test_a_broken_policy_is_trouble_and_its_repair_the_end_of_it(make: Make) -> None:
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


def test_notify_runs_once_for_a_trouble_with_its_words_in_the_environment_only(make: Make, tmp_path: Path) -> None:
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


def test_a_lost_primary_is_notified_though_the_policy_lies_on_it(make: Make, tmp_path: Path) -> None:
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
def test_a_notify_command_that_fails_or_hangs_is_said_and_stops_nothing(make: Make, command: str, problem: str) -> None:
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


# --- the end


def test_a_copy_that_is_cut_short_has_no_name_and_goes_on_at_the_next_start(make: Make) -> None:
    size = 3 << 20
    world = make()
    save(world, 1, size=size)
    world.begin()
    world.kernel.written = lambda path: world.engine._runner.stop(0) if path.endswith(".part") else None
    world.turn()
    world.turn()
    assert world.end() == 130
    world.kernel.written = lambda path: None
    promise = Promise({name_of(1): frozenset({digest_of(content(name_of(1), size))})})
    assert judge_names(world.disks.mirror, promise) == []
    assert steps_on(world.disks.mirror) == []
    assert "(continues at the next start)" in world.told(Happening.STOP)[0]
    second = world.another(Duties(mirror=True))
    second.begin()
    second.rest()
    assert steps_on(world.disks.mirror) == [1]
    assert judge_names(world.disks.mirror, promise) == []
    assert second.end() == 0


def test_it_runs_until_it_is_told_to_stop(make: Make) -> None:
    world = make()
    save(world, 1)
    token = CancelToken()

    class Ticking:
        """Each tick of the loop lets as much time pass for the engine too."""

        def now(self) -> float:
            return world.clock.now()

        def monotonic(self) -> float:
            return world.clock.monotonic()

        def sleep(self, seconds: float) -> None:
            assert seconds == TICK
            world.look(seconds)
            if steps_on(world.disks.mirror) == [1] and any(event.what is Happening.DONE for event in events):
                token.cancel()

    events: list[Event] = []
    shown: list[Progress] = []
    notifier = Notifier(Ticking(), "/data/run", {})
    watch = Watch(world.engine, Ticking(), Duties(mirror=True), notifier, events.append)
    assert watch.run(token, shown.append) == 0
    kinds = [event.what for event in events]
    assert (kinds[0], kinds[-1]) == (Happening.START, Happening.STOP)
    assert events[-1].text == "stopped; nothing was under way"


def test_a_clock_that_was_set_back_holds_nothing_up(make: Make) -> None:
    world = make()
    world.begin()
    save(world, 1)
    world.rest()
    world.clock.set_back(200)
    save(world, 2)
    world.rest()
    assert steps_on(world.disks.mirror) == [1, 2]
