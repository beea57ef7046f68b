"""A watch of weeks beside trainers that know nothing of it: what must hold at every moment does."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import find_set
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.states import Role
from ckptdeck.monitor.log import read_log
from ckptdeck.monitor.watch_event import Happening
from tests.core.probes.looking import FIXTURES
from tests.crash.contents import Tree, digest_of, read_directory
from tests.crash.invariants import Promise, judge_names, judge_records
from tests.crash.volumes import may_mount
from tests.monitor.pretended import directories, volumes
from tests.monitor.world import World, content

SAVES = 200
HOLDS = 15
KEEP = 12
BETWEEN_SAVES = 600.0
MIB = 1 << 20


class Judge:
    """Holds both sides against what was saved, at every change of a name and, byte for byte, between two turns."""

    def __init__(self, world: World, size: int) -> None:
        self.world = world
        self.size = size
        self.saved: dict[str, frozenset[str]] = {}
        self.fewest = 0
        self.moments = 0
        self.violations: list[str] = []
        world.kernel.changed = self.look

    def will_save(self, name: str, data: bytes) -> None:
        self.saved[name] = frozenset({digest_of(data)})

    def look(self) -> None:
        """Whole pairs, by name and size: nothing else ever has a final name, which `examine` proves."""
        pairs = len(self._there(self.world.disks.primary) & self._there(self.world.disks.mirror_now))
        self.moments += 1
        if pairs < self.fewest:
            self.violations.append(f"only {pairs} whole pairs where there were {self.fewest}")
        self.fewest = max(self.fewest, min(pairs, KEEP))

    def _there(self, root: Path) -> set[str]:
        return {name for name in os.listdir(root) if name in self.saved and (root / name).stat().st_size == self.size}

    def examine(self) -> None:
        promise = Promise(self.saved)
        for root in (self.world.disks.primary, self.world.disks.mirror_now):
            self.violations += judge_names(root, promise)
        for role, root in ((Role.PRIMARY, self.world.disks.primary), (Role.MIRROR, self.world.disks.mirror)):
            if role is Role.PRIMARY or self.world.disks.mounted:
                self.violations += judge_records(find_set(FileSystem(), str(root), role), promise, {})


@contextlib.contextmanager
def small_disks(kind: str, base: Path) -> Iterator[tuple[World, int]]:
    """Room for HOLDS checkpoints on each side, and not for one more."""
    if kind == "pretended":
        size = 64 << 10
        world = World(directories(base))
        for disk in ("disk1", "disk2"):
            world.kernel.capacity[str(base / disk)] = HOLDS * size + size // 2
        yield world, size
    elif not may_mount():
        pytest.skip("needs root that may mount")
    else:
        with volumes(base, HOLDS * MIB + 900 * 1024) as disks:
            world = World(disks)
            yield world, MIB
            world.end()


@pytest.fixture
def base() -> Iterator[Path]:
    """In memory where it can, since hundreds of saves are synced."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="ckptdeck-", dir=memory if memory.is_dir() else None) as directory:
        yield Path(directory)


def name_of(save: int) -> str:
    return f"step_{save * 50:05}.pt"


@pytest.mark.crash
@pytest.mark.parametrize("kind", ["pretended", "tmpfs"])
def test_two_hundred_saves_on_disks_that_hold_fifteen(base: Path, kind: str) -> None:
    """Twelve whole pairs, once there are twelve, at every moment; no write without room, and the mirror away for two
    saves."""
    with small_disks(kind, base) as (world, size):
        judge = Judge(world, size)
        world.begin()
        for save in range(1, SAVES + 1):
            if save == SAVES // 2:
                world.unmount()
            if save == SAVES // 2 + 2:
                world.mount()
            name = name_of(save)
            judge.will_save(name, content(name, size))
            world.save(name, content(name, size))
            world.rest()
            judge.examine()
            world.turn(BETWEEN_SAVES)
        assert judge.violations == []
        assert judge.fewest == KEEP
        assert world.kernel.refused == 0
        for root in (world.disks.primary, world.disks.mirror):
            there = {name for name in os.listdir(root) if name.endswith(".pt")}
            assert there == {name_of(save) for save in range(SAVES - KEEP + 1, SAVES + 1)}
        assert sum("is not mounted" in text for text in world.told(Happening.TROUBLE)) == 1
        short = [text.partition(":")[0] for text in world.told(Happening.TROUBLE) if "has room for" in text]
        assert len(short) == len(set(short)) > 0
        assert world.told(Happening.FAILED, Happening.SKIPPED) == []
        done = world.told(Happening.DONE)
        assert sum("copied and proven" in text for text in done) == SAVES
        assert sum(": deleted (beyond the last 12: " in text for text in done) == 2 * (SAVES - KEEP)
        written = [entry.text for entry in read_log(world.kernel, world.control, 5000)]
        assert sum("copied and proven" in text for text in written) == SAVES
        assert sum(text.endswith(": deleted") for text in written) == 2 * (SAVES - KEEP)
        assert world.end() == 0


class HfTrainer:
    """Writes `checkpoint-N` in place, file by file, and keeps the newest LIMIT by itself."""

    LIMIT = 3
    MEMBERS = (
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "training_args.bin",
        "optimizer.pt",
        "scheduler.pt",
        "rng_state.pth",
        "trainer_state.json",
    )

    def __init__(self, world: World) -> None:
        self.world = world
        self.root = world.disks.primary
        self.saved: dict[str, Tree] = {}

    def save(self, step: int) -> None:
        target = self.root / f"checkpoint-{step}"
        target.mkdir()
        for member in self.MEMBERS:
            data = (FIXTURES / "one_save" / "hf_trainer" / member).read_bytes()
            if member == "trainer_state.json":
                data = json.dumps({**json.loads(data), "global_step": step}).encode()
            (target / member).write_bytes(data)
            self._stamp(target / member, target)
            self.world.turn()
        self.saved[target.name] = read_directory(target)
        for old in self.there()[: -self.LIMIT]:
            shutil.rmtree(self.root / old)
            self._stamp(self.root)

    def there(self) -> list[str]:
        """Oldest first."""
        names = (name for name in os.listdir(self.root) if name.startswith("checkpoint-"))
        return sorted(names, key=lambda name: int(name.partition("-")[2]))

    def _stamp(self, *paths: Path) -> None:
        for path in paths:
            os.utime(path, (self.world.clock.now(), self.world.clock.now()))


def test_a_trainer_that_keeps_three_and_a_mirror_that_keeps_twelve(base: Path) -> None:
    world = World(directories(base))
    trainer = HfTrainer(world)
    world.begin()
    for save in range(1, 31):
        trainer.save(save * 500)
        world.turn(BETWEEN_SAVES)
        world.rest()
        names = [f"checkpoint-{number * 500}" for number in range(1, save + 1)]
        assert trainer.there() == names[-trainer.LIMIT :]
        for root, kept in ((trainer.root, names[-trainer.LIMIT :]), (world.disks.mirror, names[-KEEP:])):
            assert {name: read_directory(root / name) for name in kept} == {name: trainer.saved[name] for name in kept}
        assert sorted(os.listdir(world.disks.mirror)) == sorted([".ckptdeck", *names[-KEEP:]])
    assert world.told(Happening.FAILED, Happening.SKIPPED, Happening.HELD) == []
    direct = [text for text in world.told(Happening.TROUBLE) if "under its final name" in text]
    assert len(direct) == 1
    deleted = [event for event in world.events if event.what is Happening.DONE and "deleted" in event.text]
    assert {event.side for event in deleted} == {Role.MIRROR}
    assert len(deleted) == 30 - KEEP
    gone = [event.name for event in world.events if event.what is Happening.GONE]
    assert gone == [f"checkpoint-{number * 500}" for number in range(1, 28)]
    assert world.end() == 0


def test_what_a_trainer_removes_before_it_held_still_long_enough_is_told_once(base: Path) -> None:
    """A save a minute and three kept: none is ever older than the age guard, so none can be copied."""
    world = World(directories(base))
    trainer = HfTrainer(world)
    world.begin()
    for save in range(1, 10):
        trainer.save(save * 500)
        world.turn(30)
    told = [text for text in world.told(Happening.TROUBLE) if "before it was copied" in text]
    assert told == ["checkpoint-500 left the primary before it was copied to the mirror"]
    assert world.end() == 0
