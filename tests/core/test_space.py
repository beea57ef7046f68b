"""How many more fit and when it is full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.policy import Policy
from ckptdeck.core.sides import Side
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.space import project
from ckptdeck.core.states import FlightState, Role, State
from tests.core.looks import GB, LOCAL, NOW, identity, inventory, ns, record, sighting

NO_RESERVE = Policy(reserve_fraction=0.0)


def saved(step: int, seconds_ago: float, size: int = 2 * GB, state: State = State.VERIFIED) -> Checkpoint:
    name = f"step_{step:06d}.pt"
    promised = record(name, size, mtime_ns=ns(NOW - seconds_ago))
    return Checkpoint(sighting(name, step, identity=identity(size), record=promised), state, "")


def side(*checkpoints: Checkpoint, free: int = 10 * GB, flights: tuple[InFlight, ...] = ()) -> Side:
    seen = inventory(volume=replace(LOCAL, free=free, total=100 * GB), in_flight=flights)
    return Side(seen, tuple(sorted(checkpoints, key=lambda c: -(c.step or 0))))


def flight(size: int, expected: int | None, state: FlightState = FlightState.LIVE) -> InFlight:
    return InFlight("x.pt.part", "x.pt", 1, size, 0, 3, state, "", expected, None, None, True)


def hourly(count: int) -> list[Checkpoint]:
    return [saved(step, 3600.0 * (count - step)) for step in range(count)]


def test_nothing_saved_yet_promises_nothing() -> None:
    found = project(side(), NO_RESERVE, NOW)
    assert (found.checkpoint_size, found.interval, found.fits, found.full_at) == (None, None, None, None)


def test_hourly_saves_of_two_gigabytes_fill_ten() -> None:
    found = project(side(*hourly(6)), NO_RESERVE, NOW)
    assert (found.checkpoint_size, found.interval, found.fits) == (2 * GB, 3600.0, 5)
    assert found.full_at == pytest.approx(NOW - 3600 + 6 * 3600)


def test_the_size_is_the_largest_of_the_last_five_good_ones() -> None:
    old = [saved(1, 90000, 9 * GB), *(saved(step, 3600.0 * (9 - step)) for step in range(2, 7))]
    assert project(side(*old), NO_RESERVE, NOW).checkpoint_size == 2 * GB
    bad = [*hourly(6), saved(9, 10, 9 * GB, State.CORRUPT), saved(10, 5, 9 * GB, State.UNRECORDED)]
    assert project(side(*bad), NO_RESERVE, NOW).checkpoint_size == 2 * GB


def test_all_names_of_one_step_are_paid_for_together() -> None:
    model, optimizer = saved(5, 100), saved(5, 100, 4 * GB)
    optimizer = replace(optimizer, sighting=replace(optimizer.sighting, name="optim_000005.pt"))
    assert project(side(model, optimizer), NO_RESERVE, NOW).checkpoint_size == 6 * GB


def test_a_restart_is_no_cadence_and_is_said() -> None:
    times = [600.0 * n for n in range(5)] + [600.0 * 4 + 86400 + 600.0 * n for n in range(5)]
    found = project(side(*(saved(n, max(times) - t) for n, t in enumerate(times))), NO_RESERVE, NOW)
    assert found.interval == 600.0
    assert "median of 8 gaps: 10m00s (1 longer left out as restart)" in found.basis


def test_two_gaps_are_no_cadence_and_nothing_is_full_by_them() -> None:
    found = project(side(*hourly(3)), NO_RESERVE, NOW)
    assert (found.interval, found.full_at) == (None, None)
    assert found.fits == 5
    assert "no cadence: 2 gaps between saves, 3 needed" in found.basis
    assert project(side(*hourly(4)), NO_RESERVE, NOW).interval == 3600.0


def test_files_that_were_copied_together_are_no_cadence() -> None:
    copied = [saved(step, 600.0 - 0.02 * step) for step in range(46)]
    found = project(side(*copied), NO_RESERVE, NOW)
    assert (found.interval, found.full_at) == (None, None)
    assert "no cadence: the files are 0.02 s apart, as copying leaves them" in found.basis
    quick = [saved(step, 600.0 - 5.0 * step) for step in range(46)]
    assert project(side(*quick), NO_RESERVE, NOW).interval == 5.0


def test_touching_files_does_not_move_the_cadence() -> None:
    checkpoints = [
        replace(c, sighting=replace(c.sighting, identity=identity(2 * GB, age=float(n))))
        for n, c in enumerate(hourly(5))
    ]
    assert project(side(*checkpoints), NO_RESERVE, NOW).interval == 3600.0


def test_times_that_mean_nothing_are_left_out() -> None:
    odd = [replace(c, sighting=replace(c.sighting, record=record(mtime_ns=0))) for c in hourly(3)]
    assert project(side(*odd), NO_RESERVE, NOW).interval is None


def test_reserve_and_parts_under_way_count_first() -> None:
    policy = Policy(reserve_fraction=0.05)
    assert project(side(*hourly(6)), policy, NOW).fits == 2
    live = side(*hourly(6), flights=(flight(GB // 2, 2 * GB),))
    assert project(live, policy, NOW).fits == 1
    dead = side(*hourly(6), flights=(flight(GB // 2, 2 * GB, FlightState.STALE),))
    assert project(dead, policy, NOW).fits == 2


def test_a_full_volume_fits_nothing_and_is_full_at_the_next_save() -> None:
    found = project(side(*hourly(6), free=0), Policy(), NOW)
    assert found.fits == 0
    assert found.full_at == pytest.approx(NOW)


def test_a_run_that_stands_still_is_not_full_in_the_past() -> None:
    late = [saved(step, 86400.0 * 30 - step * 60) for step in range(5)]
    found = project(side(*late, free=0), Policy(), NOW)
    assert found.full_at is not None
    assert found.full_at >= NOW


def test_both_sides_on_one_volume_pay_twice() -> None:
    one = side(*hourly(6))
    mirror = replace(one, inventory=replace(one.inventory, role=Role.MIRROR))
    found = project(one, NO_RESERVE, NOW, shares_with=mirror)
    assert found.fits == 2
    assert "twice" in found.basis
