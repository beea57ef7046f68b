"""When a side is looked at again, and how it is noticed that it does not answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.sighting import Inventory
from ckptdeck.core.states import FlightState, State
from ckptdeck.monitor.looking import AttentiveFileSystem, Watchdog, unsettled
from tests.monitor.making import StandingClock, checkpoint, flight, inventory


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
        (with_sighting(seen_missing=2), False),
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
