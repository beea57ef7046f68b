"""Which directory keeps a command waiting."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from ckptdeck.cli.hang_notice import notice_hangs
from tests.monitor.making import GUARD


def test_the_one_that_does_not_answer_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, looked = threading.Event(), threading.Semaphore(0)
    stat = os.stat

    def slow(path: str) -> os.stat_result:
        if path == "/mnt/hung":
            assert gate.wait(GUARD)
        looked.release()
        return stat(tmp_path)

    monkeypatch.setattr("ckptdeck.cli.hang_notice.os.stat", slow)
    said: list[str] = []
    over = threading.Event()
    notice_hangs(["/data/well", "/mnt/hung"], said.append, over, patience=0.001, within=0.05)
    for _ in range(3):  # the one that answers is asked again and again
        assert looked.acquire(timeout=GUARD)
    over.set()
    gate.set()
    assert said == ["/mnt/hung"]
