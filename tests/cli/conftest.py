from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.monitor.host import SystemClock
from tests.cli.deck import Deck


@pytest.fixture(autouse=True)
def _nobody_s_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration of whoever runs the tests, no waiting, and another working directory."""
    for name in ("CKPTDECK_CONFIG", "CKPTDECK_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(SystemClock, "sleep", lambda _self, _seconds: None)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)


@pytest.fixture
def deck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Deck:
    return Deck.below(tmp_path, capsys)
