from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.cli import init, session
from ckptdeck.core.initialise import initialise
from tests.cases.run import Run


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """An empty pair; the command line runs on its machine and nobody's settings."""
    made = Run(tmp_path / "data", capsys)
    made.primary.mkdir(parents=True)
    made.mirror.mkdir()
    initialise(made.host, str(made.primary), str(made.mirror), run_id="llama-ft-07")
    for name in ("CKPTDECK_CONFIG", "CKPTDECK_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for module in (session, init):
        monkeypatch.setattr(module, "this_host", lambda *_: made.host)
    return made
