"""Shared by the crash tests: fresh pairs of sets, and the figures at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.figures import FIGURES
from tests.crash.sandbox import Sandbox


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("crash safety")
        for what, number in FIGURES.items():
            terminalreporter.write_line(f"{number:>8}  {what}")


@pytest.fixture
def fresh_sandbox() -> Iterator[Callable[[], Sandbox]]:
    """Makes one pair of empty sets after another; in memory where it can, since sweeps make thousands."""
    memory = Path("/dev/shm")
    top = Path(tempfile.mkdtemp(prefix="ckptdeck-", dir=memory if memory.is_dir() else None))
    made = 0

    def make() -> Sandbox:
        nonlocal made
        shutil.rmtree(top / str(made), ignore_errors=True)
        made += 1
        return Sandbox.fresh(top / str(made))

    yield make
    shutil.rmtree(top)
