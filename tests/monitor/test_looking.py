"""When a side is looked at again, and how it is noticed that it does not answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.sighting import ENOUGH, Identity, Inventory, Member
from ckptdeck.core.states import Condition, FlightState, Kind, MemberKind, Role, State
from ckptdeck.monitor.looking import AttentiveFileSystem, Look, Lookout, Watchdog, unsettled
from tests.monitor.making import StandingClock, checkpoint, flight, inventory, made_up_host


def with_sighting(**changes: object) -> Inventory:
    return inventory(sightings=[replace(checkpoint("a.pt", State.VERIFIED).sighting, **changes)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "moves"),
    [
        (inventory(), False),
        (with_sighting(), False),
        (with_sighting(moved=True), True),
        (with_sighting(held=True), True),
        (with_sighting(seen_missing=1), True),
        (with_sighting(seen_missing=ENOUGH), False),
        (inventory(in_flight=[flight("a.part", FlightState.LIVE)]), True),
        (inventory(in_flight=[flight("a.part", FlightState.UNKNOWN)]), True),
        (inventory(in_flight=[flight("a.part", FlightState.STALE)]), False),
    ],
)
def test_one_more_look_soon_where_it_would_tell_something(seen: Inventory, moves: bool) -> None:
    assert unsettled(seen) is moves


def test_a_watchdog_counts_from_the_last_sign_of_life() -> None:
    clock = StandingClock()
    dog = Watchdog(clock)
    assert dog.silent_since(5.0) is None
    with dog:
        clock.advance(4.0)
        assert dog.silent_since(5.0) is None
        dog.sign()
        last = clock.now()
        clock.advance(4.9)
        assert dog.silent_since(5.0) is None
        clock.advance(0.1)
        assert dog.silent_since(5.0) == last
        assert dog.busy_for == 9.0
    clock.advance(100.0)
    assert dog.silent_since(5.0) is None
    assert dog.busy_for is None


def test_every_call_gives_a_sign_going_in_and_coming_out(tmp_path: Path) -> None:
    clock = StandingClock()
    signs: list[float] = []

    class Recording(Watchdog):
        def sign(self) -> None:
            signs.append(clock.now())
            super().sign()

    class Slow(FileSystem):
        def statvfs(self, path: str) -> object:  # type: ignore[override]
            clock.advance(3.0)
            raise OSError(5, "Input/output error", path)

    fs = AttentiveFileSystem(Slow(), Recording(clock))
    began = clock.now()
    with pytest.raises(OSError, match="Input/output"):
        fs.statvfs(str(tmp_path))
    assert signs == [began, began + 3.0]
    assert fs.list_directory(str(tmp_path)) == []
    assert len(signs) == 4


# --- what is looked at


class Looks:
    """A lookout on made-up looks: what it was asked to look at, and where what was told was enough."""

    def __init__(self) -> None:
        self.clock = StandingClock()
        self.asked: list[list[str] | None] = []
        self.seen = inventory()
        self.fail: OSError | None = None
        self.meanwhile: Callable[[], None] = lambda: None
        self.lookout = Lookout(
            Role.PRIMARY, made_up_host(self.clock), self._look, lambda *_: None, poll=lambda: 2.0, wait=self.clock.wait
        )

    def _look(self, _host: Host, _before: Look | None, paths: Collection[str] | None) -> Look:
        self.asked.append(None if paths is None else sorted(paths))
        self.meanwhile()
        if self.fail is not None:
            raise self.fail
        return Look(
            CheckpointSet("/run", Role.PRIMARY, None, None, Condition.OK, ""), self.seen, complete=paths is None
        )

    def start(self, *, events: bool = True) -> None:
        """Up to the second look, from which on names are enough."""
        self.lookout.start()
        self.clock.settle(1)
        self.lookout.watched(events)
        self.clock.settle(1)
        self.pass_time(1.0)

    def pass_time(self, seconds: float) -> list[list[str] | None]:
        """What was looked at since the last time."""
        self.clock.advance(seconds)
        self.clock.settle(1)
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def looks() -> Iterator[Looks]:
    looks = Looks()
    yield looks
    looks.lookout.stop()


def test_what_is_told_is_looked_at_alone_and_everything_now_and_then(looks: Looks) -> None:
    looks.start()
    looks.lookout.changed({"/run/a"})
    looks.lookout.changed({"/run/b"})
    assert looks.pass_time(1.0) == [["/run/a", "/run/b"]]
    looks.lookout.changed({"/run/c"})
    assert looks.pass_time(1.0) == [["/run/c"]]
    assert looks.pass_time(7.9) == []
    assert looks.pass_time(0.1) == [None], "10 s after the last look at everything"


@pytest.mark.parametrize("ask", [Lookout.look_now, Lookout.hint])
def test_what_has_no_name_takes_a_look_at_everything(looks: Looks, ask: Callable[[Lookout], None]) -> None:
    looks.start()
    looks.lookout.changed({"/run/a"})
    ask(looks.lookout)
    assert looks.pass_time(1.0) == [None]


def test_names_are_not_enough_where_the_kernel_did_not_tell_since_the_last_look(looks: Looks) -> None:
    looks.start(events=False)
    looks.lookout.watched(True)
    looks.lookout.changed({"/run/a"})
    assert looks.pass_time(1.0) == [None]
    looks.lookout.changed({"/run/a"})
    assert looks.pass_time(1.0) == [["/run/a"]]


def test_names_are_not_enough_where_another_watch_stands_after_the_look_than_before(looks: Looks) -> None:
    def change_watch() -> None:
        looks.lookout.watched(False)
        looks.lookout.watched(True)

    looks.start()
    looks.meanwhile = change_watch
    looks.lookout.look_now()
    assert looks.pass_time(1.0) == [None]
    looks.meanwhile = lambda: None
    looks.lookout.changed({"/run/a"})
    assert looks.pass_time(1.0) == [None]
    looks.lookout.changed({"/run/a"})
    assert looks.pass_time(1.0) == [["/run/a"]]


def test_what_moves_is_looked_at_every_second_and_everything_now_and_then(looks: Looks) -> None:
    looks.seen = with_sighting(moved=True)
    looks.start()
    assert [looks.pass_time(1.0) for _ in range(10)] == [[[]]] * 9 + [[None]]


@pytest.mark.parametrize(
    ("directory", "pause"), [(None, 60.0), (Member("", 0, 1, 1, 1, 1, 0o755, 2, 1, MemberKind.DIRECTORY), 10.0)]
)
def test_everything_is_looked_at_more_often_where_checkpoints_are_directories(
    looks: Looks, directory: Member | None, pause: float
) -> None:
    """What changes inside of them is told by nobody."""
    there = Identity((Member("a.bin", 100, 1, 1, 1, 2, 0o644, 1, 1),), directory)
    looks.seen = with_sighting(kind=Kind.DIRECTORY if directory else Kind.FILE, identity=there)
    looks.meanwhile = lambda: looks.clock.advance(1.0)
    looks.start()
    assert looks.pass_time(pause - 0.1) == []
    assert looks.pass_time(0.1) == [None]


def test_after_a_look_that_failed_everything_is_looked_at(looks: Looks) -> None:
    looks.start()
    looks.fail = OSError(5, "Input/output error")
    looks.lookout.changed({"/run/a"})
    assert looks.pass_time(1.0) == [["/run/a"]]
    looks.fail = None
    assert looks.pass_time(2.0) == [None], "at the pace of a side that nobody watches, and nobody has to ask"
    looks.lookout.changed({"/run/b"})
    assert looks.pass_time(1.0) == [["/run/b"]]


def test_a_kernel_that_tells_no_more_is_not_waited_for(looks: Looks) -> None:
    looks.start()
    looks.lookout.watched(False)
    looks.clock.settle(1)
    assert looks.pass_time(2.0) == [None]
    assert looks.pass_time(2.0) == [None]
