"""Answers that come later: the newest one there is, and only the newest question waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ckptdeck.tui.thought import Thought, answer_at_once


class Desk:
    """Answers when told."""

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[[], Any], Future[Any]]] = []

    def ask(self, _subject: str, question: Callable[[], Any], /) -> Future[Any]:
        self.asked.append((question, Future()))
        return self.asked[-1][1]

    async def answer(self, number: int) -> None:
        question, future = self.asked[number]
        future.set_result(question())
        await asyncio.sleep(0)


async def test_an_earlier_answer_does_until_a_newer_one_comes() -> None:
    desk, arrived = Desk(), []
    thought: Thought[str] = Thought("space", lambda: arrived.append(True))
    assert thought.of(desk.ask, "first", lambda: "one") is None
    assert thought.of(desk.ask, "first", lambda: "one") is None
    assert len(desk.asked) == 1
    await desk.answer(0)
    assert arrived == [True]
    assert thought.of(desk.ask, "first", lambda: "one") == "one"
    assert thought.of(desk.ask, "second", lambda: "two") == "one"
    await desk.answer(1)
    assert thought.of(desk.ask, "second", lambda: "two") == "two"
    assert len(desk.asked) == 2


async def test_a_question_that_was_called_back_can_be_asked_again() -> None:
    desk = Desk()
    thought: Thought[str] = Thought("space", lambda: None)
    thought.of(desk.ask, "first", lambda: "one")
    desk.asked[0][1].cancel()
    await asyncio.sleep(0)
    assert thought.of(desk.ask, "first", lambda: "one") is None
    assert len(desk.asked) == 2


def test_what_is_known_at_once_needs_no_loop() -> None:
    thought: Thought[int] = Thought("space", lambda: None)
    assert thought.of(answer_at_once, "key", lambda: 5) == 5
