"""Shared by the crash tests: the volumes, and the figures at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash.figures import FIGURES
from tests.crash.volumes import Bench, why_no_volumes


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("crash safety")
        for what, number in FIGURES.items():
            terminalreporter.write_line(f"{number:>8}  {what}")


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    reason = why_no_volumes()
    if reason:
        pytest.skip(reason)
    made = Bench(tmp_path_factory.mktemp("volumes"))
    yield made
    made.close()
