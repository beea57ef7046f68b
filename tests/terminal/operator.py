"""Somebody at the keys who reads before answering, and how many keys that took."""

from __future__ import annotations

import time
from collections.abc import Callable

from ckptdeck.tui.screens.modal import DEAF_FOR
from tests.terminal.screen import Screen, wait_until

_READING = DEAF_FOR + 0.3
"""Seconds in which a person cannot have read a question; one of the console's own is deaf for less."""


class Operator:
    """Presses each key once, and only when what it answers is on the screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.keys: list[str] = []

    def sees(self, what: str | Callable[[str], bool]) -> str:
        return self._screen.wait_for(what)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._screen.type(key)
            self.keys.append(key)

    def answer(self, question: str, *keys: str) -> None:
        """Reads the question, then presses the keys."""
        self.sees(question)
        asked = time.monotonic()
        wait_until(lambda: time.monotonic() - asked > _READING)
        self.press(*keys)
