"""A watch over real files in pretended time: what it does, what it leaves, what it says once, and how it ends."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.plans.prune import plan_prune
from ckptdeck.core.progress import CancelToken, Progress
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.log import read_log
from ckptdeck.monitor.notify import Notifier
from ckptdeck.monitor.snapshot import Job, JobState, Snapshot
from ckptdeck.monitor.watch import TICK, Watch
from ckptdeck.monitor.watch_event import Event, Happening
from ckptdeck.monitor.watch_work import Duties
from tests.crash.contents import digest_of
from tests.crash.invariants import Promise, fingerprint, judge_names
from tests.monitor.making import inventory, survey
from tests.monitor.world import HOUR, SIZE, World, WorldMaker, content, name_of, save, steps_on
from tests.tui.fake_engine import FakeEngine, plan_of


def test_without_duties_it_looks_and_changes_nothing(make: WorldMaker) -> None:
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


def test_what_others_do_is_told_and_what_it_does_itself_is_told_as_done(make: WorldMaker) -> None:
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


def test_what_is_saved_during_a_backlog_is_copied_before_the_rest_of_it(make: WorldMaker) -> None:
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


def test_nothing_is_pruned_before_the_newest_step_is_whole_on_both_sides(make: WorldMaker) -> None:
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


def test_a_full_mirror_is_pruned_so_that_the_newest_finds_room(make: WorldMaker) -> None:
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


def leave_a_deletion_undone(world: World, number: int) -> Path:
    """What a prune leaves on the mirror that is killed when the name is taken; where the data lies."""
    control = world.disks.mirror / ".ckptdeck"
    aside = control / "removing" / f"20260302T140000000000Z-{number:08x}"
    (control / "manifest" / f"{name_of(number)}.json").rename(f"{aside}.json")
    (world.disks.mirror / name_of(number)).rename(aside)
    return aside


def test_a_deletion_that_was_interrupted_is_finished_by_who_may_prune(make: WorldMaker) -> None:
    world = make(prune=False)
    world.begin()
    save(world, 1, 2, 3)
    world.rest()
    aside = leave_a_deletion_undone(world, 1)
    world.rest()
    assert aside.exists()
    world.end()
    second = world.another(Duties(prune=True))
    second.begin()
    second.rest()
    assert list(aside.parent.iterdir()) == []
    assert any("taken apart" in text for text in second.told(Happening.DONE))
    second.end()


def test_a_deletion_that_cannot_be_finished_is_not_tried_all_the_time(make: WorldMaker) -> None:
    world = make()
    world.begin()
    save(world, 1, 2, 3)
    world.rest()
    aside = leave_a_deletion_undone(world, 1)
    Path(f"{aside}.json").write_text("{}")
    world.rest()
    (told,) = world.told(Happening.SKIPPED, Happening.FAILED)
    assert "nothing is guessed" in told
    assert aside.exists()


def test_without_a_mirror_what_prune_counts_is_proven_first(make: WorldMaker) -> None:
    world = make(mirror=False, paired=False, policy="[prune]\nkeep_last = 3\n")
    world.begin()
    for number in range(1, 6):
        save(world, number)
        world.rest()
    assert steps_on(world.disks.primary) == [3, 4, 5]
    verified = [text for text in world.told(Happening.DONE) if ": verified" in text]
    assert len(verified) == 5


def test_a_plan_over_half_of_a_side_is_never_run_and_its_line_is_told_once(make: WorldMaker) -> None:
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


def test_what_only_guards_hold_back_is_told_once_for_each_change(make: WorldMaker) -> None:
    world = make(policy="[prune]\nkeep_last = 2\n")
    world.begin()
    save(world, 10, 11, 12)
    world.rest()
    (world.disks.mirror / name_of(1)).write_bytes(content("x", SIZE))
    world.look(HOUR)
    for _ in range(4):
        world.rest()
    (first,) = world.told(Happening.HELD)
    assert first.startswith(
        "prune leaves step_1.pt on mirror: unrecorded, without a record; `ckptdeck adopt step_1.pt`"
    )
    assert first.endswith("(needs-adopt)")
    (world.disks.mirror / name_of(2)).write_bytes(content("y", SIZE))
    world.look(HOUR)
    for _ in range(4):
        world.rest()
    _, second = world.told(Happening.HELD)
    assert second.endswith("(needs-adopt); and 1 other")


# --- the end


def test_a_copy_that_is_cut_short_has_no_name_and_goes_on_at_the_next_start(make: WorldMaker) -> None:
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


def test_it_runs_until_it_is_told_to_stop(make: WorldMaker) -> None:
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


class MovingClock:
    """Shows what a test sets."""

    time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, _seconds: float) -> None:
        pytest.fail("a turn never waits")


def looked_at(at: float) -> Survey:
    primary = replace(inventory(), taken_at=at)
    return survey(primary, replace(inventory(Role.MIRROR, root="/mnt/d/run"), taken_at=at), taken_at=at)


def test_what_is_next_is_decided_by_a_look_that_began_after_the_last_work_ended() -> None:
    clock = MovingClock()
    engine = FakeEngine(Snapshot(1, 0.0, "run", looked_at(100.0), "/data/run", "/mnt/d/run"))
    engine.plans["mirror"] = plan_of("mirror", "step_1.pt")
    watch = Watch(engine, clock, Duties(mirror=True), Notifier(clock, "/data/run", {}), lambda _event: None)
    clock.time = 101.0
    watch.turn()
    assert len(engine.submitted) == 1
    done = Job(1, "mirror", "mirror step_1.pt", "ckptdeck mirror", JobState.DONE, "device 1", 101.0, ended_at=200.0)
    clock.time = 201.0
    engine.set(jobs=(done,), survey=looked_at(199.0))
    watch.turn()
    assert len(engine.submitted) == 1
    engine.set(survey=looked_at(200.0))
    watch.turn()
    assert len(engine.submitted) == 2


def test_a_clock_that_was_set_back_after_work_ended_holds_nothing_up() -> None:
    clock = MovingClock()
    engine = FakeEngine(Snapshot(1, 0.0, "run", looked_at(1000.0), "/data/run", "/mnt/d/run"))
    engine.plans["mirror"] = plan_of("mirror", "step_1.pt")
    watch = Watch(engine, clock, Duties(mirror=True), Notifier(clock, "/data/run", {}), lambda _event: None)
    clock.time = 1000.0
    watch.turn()
    done = Job(1, "mirror", "mirror step_1.pt", "ckptdeck mirror", JobState.DONE, "device 1", 1000.0, ended_at=1010.0)
    clock.time = 500.0
    engine.set(jobs=(done,), survey=looked_at(499.0))
    watch.turn()
    assert len(engine.submitted) == 1
    engine.set(survey=looked_at(501.0))
    clock.time = 502.0
    watch.turn()
    assert len(engine.submitted) == 2
