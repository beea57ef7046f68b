"""Looking for garbage while nobody is at the keys."""

from __future__ import annotations

import gc

from textual._styles_cache import StylesCache

from ckptdeck.tui.collecting import EVERY, LONGEST, QUIET, SHARE, Collecting, collect, only_young_objects
from tests.tui.console import open_console


class Console:
    def __init__(self, takes: float = 0.0) -> None:
        self.now = 0.0
        self.takes = takes
        self.collected: list[float] = []
        self.collecting = Collecting(lambda: self.now, self._collect)

    def _collect(self) -> None:
        self.collected.append(self.now)
        self.now += self.takes

    def until(self, end: float, *, typing: bool = False) -> None:
        while self.now < end:
            self.now += QUIET
            if typing:
                self.collecting.key()
            self.collecting.look()


def test_it_is_done_now_and_then() -> None:
    console = Console()
    console.until(3 * EVERY)
    assert console.collected == [EVERY, 2 * EVERY, 3 * EVERY]


def test_one_that_takes_long_is_done_more_seldom() -> None:
    console = Console(takes=0.5)
    console.until(2 * EVERY + SHARE)
    assert console.collected == [EVERY, EVERY + 0.5 + 0.5 * SHARE, EVERY + 1 + SHARE]


def test_it_waits_for_who_types_but_not_for_ever() -> None:
    console = Console()
    console.until(3 * EVERY, typing=True)
    assert console.collected == []
    console.until(3 * EVERY + QUIET)
    assert console.collected == [3 * EVERY + QUIET]
    console.until(20 * EVERY, typing=True)
    assert console.collected[1] == console.collected[0] + LONGEST * EVERY


async def test_nothing_is_left_of_screens_that_were_left() -> None:
    async with open_console() as console:
        for _ in range(2):  # what is made once is made now
            await console.press("s", "q")
        collect()
        before = painted()
        for _ in range(4):
            await console.press("s", "q")
        collect()
        assert painted() <= before


def painted() -> int:
    return sum(isinstance(one, StylesCache) for one in gc.get_objects())


def test_the_interpreter_is_left_as_it_was() -> None:
    before = gc.get_threshold()
    with only_young_objects():
        assert gc.get_threshold()[2] > before[2]
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
