"""A rate limit holds over a pause too."""

from __future__ import annotations

import pytest

from ckptdeck.core.errors import Cancelled
from ckptdeck.core.progress import CancelToken, Effort, Pacer


class Slept:
    def __init__(self) -> None:
        self.time = 0.0
        self.slept = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.slept += seconds


def test_bytes_take_as_long_as_the_rate_says() -> None:
    clock = Slept()
    pacer = Pacer(clock, Effort(bytes_per_second=100.0))
    for _ in range(50):
        pacer.spend(10)
    assert clock.slept == 5.0


def test_a_pause_is_not_made_up_for_by_a_burst() -> None:
    clock = Slept()
    pacer = Pacer(clock, Effort(bytes_per_second=100.0))
    pacer.spend(50)
    clock.time += 3600.0
    pacer.spend(50)
    before = clock.slept
    for _ in range(10):
        pacer.spend(100)
    assert clock.slept - before >= 9.0


def test_a_block_that_is_worth_minutes_takes_them() -> None:
    clock = Slept()
    Pacer(clock, Effort(bytes_per_second=100.0)).spend(12_000)
    assert clock.slept == 120.0


def test_who_waits_can_be_stopped() -> None:
    clock, cancel = Slept(), CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        Pacer(clock, Effort(cancel=cancel, bytes_per_second=100.0)).spend(12_000)
    assert clock.slept == 1.0
