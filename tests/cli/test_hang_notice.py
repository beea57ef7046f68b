"""Which directory keeps a command waiting."""

from __future__ import annotations

import threading
from pathlib import Path

from ckptdeck.cli.hang_notice import answers, notice_hangs
from tests.monitor.making import GUARD


def test_the_one_that_does_not_answer_is_named_once() -> None:
    looks, over = threading.Semaphore(0), threading.Event()
    said: list[str] = []

    def is_well(directory: str) -> bool:
        looks.release()
        return directory != "/mnt/hung"

    notice_hangs(["/data/well", "/mnt/hung"], said.append, over, patience=0.001, answers=is_well)
    for _ in range(4):  # the one that answers is asked again and again
        assert looks.acquire(timeout=GUARD)
    over.set()
    assert said == ["/mnt/hung"]


def test_an_error_is_an_answer(tmp_path: Path) -> None:
    assert answers(str(tmp_path))
    assert answers(str(tmp_path / "nothing"))
