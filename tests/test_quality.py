"""Lint, format and types are part of the test command: a green run is a clean tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("ruff", "check", "."), id="lint"),
        pytest.param(("ruff", "format", "--check", "."), id="format"),
        pytest.param(("mypy",), id="types"),
    ],
)
def test_the_tree_is_clean(command: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
