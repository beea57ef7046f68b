"""Shared by the crash tests: the marker, the volumes, and the figures at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.figures import FIGURES
from tests.crash.volumes import Bench, why_no_volumes

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.crash)


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
