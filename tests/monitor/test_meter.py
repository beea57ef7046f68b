"""Bytes, rate and time left of a whole job."""

from __future__ import annotations

from ckptdeck.core.progress import Progress
from ckptdeck.monitor.meter import Meter


def copying(name: str, done: int, phase: str = "copy", side: str = "mirror") -> Progress:
    return Progress(phase, name, side, done, 100)


def test_a_copy_that_is_read_back_is_half_done_when_it_is_written() -> None:
    meter = Meter(200, {"a": 2, "b": 2})
    meter.take(copying("a", 100), 0.0)
    assert meter.done == 50
    meter.take(copying("a.part", 50, "read back"), 1.0)
    assert meter.done == 75
    meter.item_ended(100)
    meter.take(copying("b", 10), 2.0)
    assert meter.done == 105


def test_twins_are_hashed_on_both_sides() -> None:
    meter = Meter(200, {"a": 2})
    meter.take(copying("a", 100, "hash", "primary"), 0.0)
    meter.take(copying("a", 50, "hash", "mirror"), 0.0)
    assert meter.done == 75


def test_done_never_goes_back_and_never_over_the_total() -> None:
    meter = Meter(100, {})
    meter.take(copying("a", 80), 0.0)
    meter.take(copying("a", 10), 1.0)  # a second try from the start
    assert meter.done == 80
    meter.take(copying("a", 100), 1.0)
    meter.item_ended(100)
    meter.item_ended(100)
    assert meter.done == 100


def test_waiting_for_the_disk_is_no_byte() -> None:
    meter = Meter(100, {})
    meter.take(copying("a", 40), 0.0)
    meter.take(Progress("sync", "a", "mirror", 100, 100), 1.0)
    assert meter.done == 40


def test_items_that_need_no_work_do_not_count_as_speed() -> None:
    meter = Meter(1000, {})
    meter.take(copying("a", 0), 0.0)
    meter.item_ended(500)
    meter.take(copying("b", 0), 1.0)
    meter.take(copying("b", 50), 2.0)
    assert meter.bytes_per_second == 25.0
    assert meter.eta == (1000 - 550) / 25.0


def test_the_rate_is_of_the_recent_past() -> None:
    meter = Meter(100_000, {"a": 1})
    for second in range(100):
        meter.take(Progress("copy", "a", "mirror", second * (1 if second < 50 else 100), 100_000), float(second))
    assert meter.bytes_per_second == 100.0


def test_a_pause_is_no_slowness() -> None:
    meter = Meter(100, {})
    meter.take(copying("a", 10), 0.0)
    meter.take(copying("a", 20), 1.0)
    meter.forget_pace()
    assert meter.bytes_per_second is None
    meter.take(copying("a", 20), 1000.0)
    meter.take(copying("a", 30), 1001.0)
    assert meter.bytes_per_second == 10.0
