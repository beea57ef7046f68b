"""What a screen shows but cannot work out within a frame: the newest answer there is, until a newer one comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Generic, Protocol, TypeVar

Answer = TypeVar("Answer")


class Ask(Protocol):
    """`ask` of the engine."""

    def __call__(self, subject: str, question: Callable[[], Answer], /) -> Future[Answer]: ...


def answer_at_once(_subject: str, question: Callable[[], Answer], /) -> Future[Answer]:
    """For whoever has no engine and little to think over."""
    answer: Future[Answer] = Future()
    answer.set_result(question())
    return answer


class Thought(Generic[Answer]):
    """The answers to one kind of question. `arrived` is called on the loop when a newer one has come.

    A question is known by its key, which is compared often: pictures in it by what differs first, their time. While
    one is thought over, and keys go on changing, only the newest waits.
    """

    def __init__(self, subject: str, arrived: Callable[[], object]) -> None:
        self._subject = subject
        self._arrived = arrived
        self._key: object = None
        self._wanted: object = None
        self._answer: Answer | None = None

    def of(self, ask: Ask, key: object, question: Callable[[], Answer]) -> Answer | None:
        """The newest answer known, which may be to an earlier key; None before the first."""
        if key not in (self._key, self._wanted):
            self._wanted = key
            future = ask(self._subject, question)
            if future.done():
                self._take(key, future)
            else:
                loop = asyncio.get_running_loop()
                future.add_done_callback(lambda done: _on(loop, lambda: self._arrive(key, done)))
        return self._answer

    def _arrive(self, key: object, future: Future[Answer]) -> None:
        if self._take(key, future):
            self._arrived()

    def _take(self, key: object, future: Future[Answer]) -> bool:
        """False for one that was overtaken."""
        if self._wanted == key:
            self._wanted = None
        try:
            self._answer = future.result()
        except CancelledError:
            return False
        self._key = key
        return True


def _on(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """On the loop, unless it has ended."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)
