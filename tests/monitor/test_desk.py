"""Questions answered beside the loop, the newest of each subject."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from ckptdeck.monitor.desk import FIRST, Desk
from tests.monitor.making import GUARD


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


class Long:
    """A question that is being thought over until told."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.gate = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.gate.wait(GUARD)
        return "long"


def test_an_answer_comes_from_another_thread(desk: Desk) -> None:
    assert desk.ask("plan", threading.current_thread).result(GUARD) is not threading.current_thread()


def test_what_goes_wrong_is_raised_where_it_was_asked(desk: Desk) -> None:
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        desk.ask("plan", fails).result(GUARD)
    assert desk.ask("plan", lambda: 1).result(GUARD) == 1


def test_of_one_subject_only_the_newest_question_is_answered(desk: Desk) -> None:
    busy = Long()
    first = desk.ask("space", busy)
    assert busy.begun.wait(GUARD)
    outdated, other, newest = desk.ask("fates", lambda: 1), desk.ask("plan", lambda: 2), desk.ask("fates", lambda: 3)
    assert outdated.cancelled()
    busy.gate.set()
    assert (first.result(GUARD), other.result(GUARD), newest.result(GUARD)) == ("long", 2, 3)


def test_what_somebody_waits_for_comes_first(desk: Desk) -> None:
    busy = Long()
    desk.ask("space", busy)
    assert busy.begun.wait(GUARD)
    order: list[str] = []
    later = desk.ask("fates", lambda: order.append("fates"))
    desk.ask(FIRST, lambda: order.append(FIRST))
    busy.gate.set()
    later.result(GUARD)
    assert order == [FIRST, "fates"]


def test_a_closed_desk_answers_nothing_and_keeps_nobody_waiting(desk: Desk) -> None:
    busy = Long()
    desk.ask("space", busy)
    assert busy.begun.wait(GUARD)
    waiting = desk.ask("plan", lambda: 1)
    desk.close()
    late = desk.ask("plan", lambda: 1)
    for answer in (waiting, late):
        with pytest.raises(CancelledError):
            answer.result(GUARD)
    busy.gate.set()
