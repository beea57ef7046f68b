"""Questions about a picture that take long to answer: thought over in a thread of its own, the newest of each subject.

A question is a pure function over what it was given. One that is being answered cannot be called back; whoever asked
drops the answer when it is not wanted any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ckptdeck.core.values import dataclass

Answer = TypeVar("Answer")
FIRST = "plan"
"""The subject that somebody waits for: answered before all others."""


@dataclass(frozen=True, slots=True)
class _Asked:
    subject: str
    question: Callable[[], Any]
    answer: Future[Any]


class Desk:
    """Every method returns at once. The thread is a daemon: quitting never waits for an answer."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._waiting: list[_Asked] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, subject: str, question: Callable[[], Answer]) -> Future[Answer]:
        """The answer, later: what `question` returns or raises. An earlier question of the same subject that nobody
        has begun to answer is cancelled."""
        answer: Future[Answer] = Future()
        with self._turn:
            if self._closed:
                answer.cancel()
                return answer
            outdated = [asked for asked in self._waiting if asked.subject == subject]
            self._waiting = [asked for asked in self._waiting if asked.subject != subject]
            place = 0 if subject == FIRST else len(self._waiting)
            self._waiting.insert(place, _Asked(subject, question, answer))
            if self._thread is None:
                self._thread = threading.Thread(target=self._answer_until_closed, name="desk", daemon=True)
                self._thread.start()
            self._turn.notify()
        for asked in outdated:
            asked.answer.cancel()
        return answer

    def close(self) -> None:
        """Nothing is answered any more."""
        with self._turn:
            self._closed = True
            left, self._waiting = self._waiting, []
            self._turn.notify()
        for asked in left:
            asked.answer.cancel()

    def _answer_until_closed(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
                asked = self._waiting.pop(0)
            if asked.answer.set_running_or_notify_cancel():
                _answer(asked)
            del asked  # the picture it was about may be large


def answer_within(seconds: float, question: Callable[[], Answer]) -> Answer:
    """What `question` returns or raises. Raises TimeoutError when that takes longer; its thread is then left alone."""
    desk = Desk()
    try:
        return desk.ask(FIRST, question).result(seconds)
    finally:
        desk.close()


def _answer(asked: _Asked) -> None:
    try:
        said = asked.question()
    except BaseException as error:  # noqa: BLE001 - raised where somebody waits for the answer
        asked.answer.set_exception(error)
    else:
        asked.answer.set_result(said)
