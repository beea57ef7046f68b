"""Looking for garbage while nobody is at the keys."""

from __future__ import annotations

import gc

from ckptdeck.tui.collecting import EVERY, LONGEST, QUIET, Collecting, only_young_objects


class Console:
    def __init__(self) -> None:
        self.now = 0.0
        self.collected: list[float] = []
        self.collecting = Collecting(lambda: self.now, lambda: self.collected.append(self.now))

    def until(self, end: float, *, typing: bool = False) -> None:
        while self.now < end:
            self.now += 10.0
            if typing:
                self.collecting.key()
            self.collecting.look()


def test_it_is_done_now_and_then() -> None:
    console = Console()
    console.until(EVERY - 10)
    assert console.collected == []
    console.until(3 * EVERY)
    assert console.collected == [EVERY, 2 * EVERY, 3 * EVERY]


def test_it_waits_for_who_types_but_not_for_ever() -> None:
    console = Console()
    console.until(EVERY + 100, typing=True)
    assert console.collected == []
    console.until(EVERY + 200)
    assert console.collected == [EVERY + 100 + QUIET]
    console.until(2 * LONGEST, typing=True)
    assert console.collected[1:] == [console.collected[0] + LONGEST]


def test_the_interpreter_is_left_as_it_was() -> None:
    before = gc.get_threshold()
    with only_young_objects():
        assert gc.get_threshold()[2] > before[2]
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
