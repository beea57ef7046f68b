"""The ring on a real disk: when a line is added, what trims it, and everything that may only cost a sample."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.samples import MOST, SPACING, Sample, encode_sample
from ckptdeck.core.sighting import Inventory, Quarantined
from ckptdeck.core.states import Condition, FlightState, Role
from ckptdeck.monitor.engine import LiveEngine
from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.monitor.space_samples import SampleKeeper, bytes_of_ours, read_samples
from tests.monitor.making import (
    GUARD,
    MadeUpCore,
    StandingClock,
    checkpoint,
    flight,
    inventory,
    made_up_host,
    survey,
)
from tests.monitor.test_engine import LOOKING_AND_COMPOSING, silent_kernel

NOW = 1_790_000_000.0


class FullFileSystem(FileSystem):
    """Takes `room` bytes more, then none."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, fd: int, data: memoryview) -> int:
        return super().write(fd, self._what_fits(data))

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        return super().pwrite(fd, self._what_fits(data), offset)

    def _what_fits(self, data: memoryview) -> memoryview:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fits = data[: self.room]
        self.room -= len(fits)
        return fits


class Ring:
    """One side's ring, and a keeper that is asked at moments of the test's choice."""

    def __init__(self, control: Path, fs: FileSystem | None = None) -> None:
        control.mkdir(exist_ok=True)
        self.control = control
        self.path = control / "space.jsonl"
        self.clock = StandingClock(NOW)
        self.host: Host = made_up_host(self.clock, fs)
        self.keeper = SampleKeeper()

    def seen(self, free: int = 500, **changes: object) -> Inventory:
        made = inventory(root=str(self.control.parent))
        assert made.volume is not None
        volume = replace(made.volume, free=free)
        made = replace(made, control=str(self.control), taken_at=self.clock.now(), volume=volume)
        return replace(made, **changes)  # type: ignore[arg-type]

    def ask(self, free: int = 500, **changes: object) -> tuple[Sample, ...]:
        return self.keeper.samples_with(self.host, self.seen(free, **changes))

    def later(self, seconds: float, free: int = 500, **changes: object) -> tuple[Sample, ...]:
        self.clock.advance(seconds)
        return self.ask(free, **changes)

    @property
    def written(self) -> list[int]:
        """The free figures in the file, oldest first."""
        return [sample.free for sample in read_samples(self.host, survey(self.seen()))[Role.PRIMARY]]


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(tmp_path / ".run.ckptdeck")


def test_a_line_is_added_every_ten_minutes_at_most(ring: Ring) -> None:
    assert [one.free for one in ring.ask(500)] == [500]
    ring.later(SPACING - 1, 490)
    assert ring.written == [500]
    assert [one.free for one in ring.later(1, 480)] == [500, 480]
    assert ring.written == [500, 480]
    assert ring.path.read_bytes().count(b"\n") == 2


def test_two_processes_keep_one_ring(ring: Ring) -> None:
    ring.ask(500)
    other = Ring(ring.control)
    other.clock.advance(5)
    assert [one.free for one in other.ask(499)] == [500], "the newest is five seconds old"
    other.later(SPACING, 450)
    assert [one.free for one in ring.later(SPACING + 6, 449)] == [500, 450]
    assert ring.written == [500, 450]


def test_what_is_ours_is_blocks_parts_and_quarantine() -> None:
    there = checkpoint("a.pt", size=100_000).sighting
    stranger = replace(checkpoint("notes").sighting, family="foreign")
    part = replace(flight("b.pt.part", FlightState.LIVE), size=7)
    direct = replace(flight("c.pt", FlightState.LIVE), size=5, final_name=True)
    made = inventory(sightings=(there, stranger), in_flight=(part, direct))
    entry = Quarantined("id", "d.pt", "", 11, 0.0)
    assert bytes_of_ours(replace(made, quarantine=(entry,))) == 512 + 7 + 11


def test_a_ring_that_became_too_long_loses_its_oldest_and_what_no_clock_reached(ring: Ring) -> None:
    lines = [encode_sample(Sample(NOW - (7000 - index) * SPACING, index, 0)) for index in range(6_001)]
    ring.path.write_bytes(b"".join(lines) + b"torn" + b"\n" + encode_sample(Sample(NOW + 1e6, 77, 0)))
    ring.ask(500)
    assert len(ring.written) == MOST
    assert ring.written[0] == 6_001 - (MOST - 1)
    assert ring.written[-1] == 500
    assert os.listdir(ring.control) == ["space.jsonl"]


def test_a_line_that_was_cut_off_costs_only_itself(ring: Ring) -> None:
    ring.path.write_bytes(encode_sample(Sample(NOW - 9e3, 1, 0)) + encode_sample(Sample(NOW - 8e3, 2, 0))[:20])
    ring.ask(500)
    assert ring.written == [1, 500]


def test_a_clock_that_is_set_back_goes_on_at_the_same_pace(ring: Ring) -> None:
    ring.ask(500)
    ring.clock.advance(-5000)
    assert [one.free for one in ring.ask(480)] == [480, 500]
    ring.later(1, 470)
    ring.later(1, 460)
    assert ring.written == [480, 500]
    ring.later(SPACING, 450)
    assert ring.written == [480, 450, 500]


def test_a_full_disk_loses_the_sample_and_nothing_else(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "control", FullFileSystem(0))
    assert [one.free for one in ring.ask(0)] == [0], "it is remembered"
    assert ring.path.read_bytes() == b""
    assert [one.free for one in ring.later(SPACING, 1)] == [0, 1]
    assert [one.free for one in Ring(ring.control).ask(3)] == [3]


def test_a_disk_that_fills_in_the_middle_of_a_line(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "control", FullFileSystem(30))
    ring.ask(0)
    assert ring.written == []
    after = Ring(ring.control)
    after.clock.advance(SPACING)
    after.ask(400)
    assert after.written == [400]


def test_a_full_disk_keeps_the_old_ring_when_it_should_be_trimmed(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "control", FullFileSystem(1000))
    lines = b"".join(encode_sample(Sample(NOW - (7000 - index) * SPACING, index, 0)) for index in range(6_000))
    ring.path.write_bytes(lines)
    ring.ask(0)
    assert ring.path.read_bytes() == lines
    assert os.listdir(ring.control) == ["space.jsonl"]


@pytest.mark.parametrize(
    "changes",
    [{"condition": Condition.UNINITIALISED, "control": None}, {"condition": Condition.WRONG_SET}],
    ids=["day one", "another's set"],
)
def test_where_nothing_may_be_written_it_is_only_remembered(ring: Ring, changes: dict[str, object]) -> None:
    ring.ask(500, **changes)
    found = ring.later(SPACING, 480, **changes)
    assert not ring.path.exists()
    assert [one.free for one in found] == ([500, 480] if changes["condition"].readable else [])  # type: ignore[attr-defined]


def test_a_read_only_volume_is_not_written_to(ring: Ring) -> None:
    seen = ring.seen(500)
    assert seen.volume is not None
    frozen = replace(seen, volume=replace(seen.volume, read_only=True))
    assert len(ring.keeper.samples_with(ring.host, frozen)) == 1
    assert not ring.path.exists()


def test_a_side_that_cannot_be_read_or_measured_gives_no_sample(ring: Ring) -> None:
    assert ring.ask(500, condition=Condition.NOT_MOUNTED) == ()
    ring.clock.advance(SPACING)
    assert ring.keeper.samples_with(ring.host, replace(ring.seen(), volume=None)) == ()
    assert not ring.path.exists()


def test_a_link_in_its_place_is_not_followed(ring: Ring, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"theirs")
    ring.path.symlink_to(tmp_path / "victim")
    ring.ask(500)
    assert (tmp_path / "victim").read_bytes() == b"theirs"


def test_a_pipe_in_its_place_holds_nobody_up(ring: Ring) -> None:
    os.mkfifo(ring.path)
    assert [one.free for one in ring.ask(500)] == [500]


# --- as the console and `watch` keep them


class Watched:
    """An engine over made-up inventories whose control directories are real."""

    def __init__(self, directory: Path, *, keep_samples: bool) -> None:
        self.clock = StandingClock(NOW)
        self.core = MadeUpCore()
        self.controls = {}
        roots = {}
        for role, name in ((Role.PRIMARY, "run"), (Role.MIRROR, "mirror")):
            roots[role] = directory / name
            control = directory / f".{name}.control"
            roots[role].mkdir()
            control.mkdir()
            self.controls[role] = control
            made = inventory(role, root=str(roots[role]), device=1 + (role is Role.MIRROR))
            self.core.inventories[role] = replace(made, control=str(control), taken_at=NOW)
        self.engine = LiveEngine(
            made_up_host(self.clock),
            str(roots[Role.PRIMARY]),
            str(roots[Role.MIRROR]),
            keep_samples=keep_samples,
            core=self.core.calls(),
            wait=self.clock.wait,
            watch=silent_kernel,
            prepare_job=lambda: None,
        )

    def start(self) -> Snapshot:
        self.engine.start()
        self.clock.settle(LOOKING_AND_COMPOSING)
        return self.engine.snapshot()


@pytest.fixture(params=[True, False], ids=["kept", "read-only"])
def watched(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    made = Watched(tmp_path, keep_samples=request.param)
    yield made
    made.engine.stop(GUARD)


def test_the_engine_keeps_one_of_each_side_and_shows_them(watched: Watched, request: pytest.FixtureRequest) -> None:
    snapshot = watched.start()
    assert {role: [one.free for one in past] for role, past in snapshot.samples.items()} == {
        Role.PRIMARY: [500],
        Role.MIRROR: [500],
    }
    kept = "kept" in request.node.name
    for control in watched.controls.values():
        assert (control / "space.jsonl").exists() is kept
    assert kept or not any(list(control.iterdir()) for control in watched.controls.values())
