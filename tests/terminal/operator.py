"""Somebody at the keys who reads before answering, and how many keys that took."""

from __future__ import annotations

from collections.abc import Callable

from tests.terminal.screen import Screen, read_the_question


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
        read_the_question()
        self.press(*keys)
