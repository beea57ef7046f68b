"""Work that failed rests, longer each time."""

from __future__ import annotations

from ckptdeck.monitor.patience import FIRST, LONGEST, PAUSE, Patience
from tests.monitor.making import StandingClock


def test_each_failure_doubles_the_rest_up_to_a_limit_and_success_ends_it() -> None:
    clock = StandingClock()
    patience = Patience(clock)
    assert not patience.rests("a")
    rest = FIRST
    for _ in range(10):
        patience.failed("a")
        clock.advance(rest - 1)
        assert patience.rests("a")
        clock.advance(1)
        assert not patience.rests("a")
        rest = min(rest * 2, LONGEST)
    assert rest == LONGEST
    patience.failed("a")
    patience.succeeded("a")
    assert not patience.rests("a")
    assert not patience.rests("b")


def test_a_pause_does_not_grow() -> None:
    clock = StandingClock()
    patience = Patience(clock)
    for _ in range(3):
        patience.pause("mirror")
        clock.advance(PAUSE - 1)
        assert patience.rests("mirror")
        clock.advance(1)
        assert not patience.rests("mirror")


def test_what_failed_longest_ago_is_forgotten_first() -> None:
    patience = Patience(StandingClock())
    for number in range(1001):
        patience.failed(str(number))
    assert not patience.rests("0")
    assert patience.rests("1")
