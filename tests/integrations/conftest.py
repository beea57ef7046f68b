"""A pair of sets for a library to save into, and a clock that is ahead of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ckptdeck.monitor.host import SystemClock
from tests.cli.deck import Deck


@pytest.fixture
def deck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Deck:
    return Deck.below(tmp_path, capsys)


@pytest.fixture
def hour_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line lives an hour from now: what was saved just now is quiet for the age guard."""
    monkeypatch.setattr(SystemClock, "now", lambda _self: time.time() + 3600)
    monkeypatch.setattr(SystemClock, "sleep", lambda _self, _seconds: None)
