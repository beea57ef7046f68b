"""Markers by directory, and the skips a run may have.

A test that needs root, loop devices, strace or tmux skips elsewhere with a reason. On a machine that has them a skip
would be a proof that silently stopped being one, so there it fails the run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.crash.volumes import may_mount

HERE = Path(__file__).parent
MARKED_DIRECTORIES = ("crash", "terminal")


@dataclass(frozen=True, slots=True)
class ExpectedSkip:
    """Tests that may skip, and only where `runs_here` says no."""

    tests: str
    """Pattern of node ids."""
    needs: str
    runs_here: Callable[[], bool]


EXPECTED_SKIPS = (
    ExpectedSkip("tests/crash/test_naive_writers.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_power_cut.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_thin_volume.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_syscalls.py::*", "strace", lambda: shutil.which("strace") is not None),
    ExpectedSkip("tests/terminal/*", "tmux", lambda: shutil.which("tmux") is not None),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for directory in MARKED_DIRECTORIES:
            if item.path.is_relative_to(HERE / directory):
                item.add_marker(directory)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        listed = [skip for skip in EXPECTED_SKIPS if fnmatchcase(item.nodeid, skip.tests)]
        if any(skip.runs_here() for skip in listed):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} skipped where it has to run ({listed[0].needs}): {call.excinfo}"
    return report
