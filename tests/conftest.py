"""Workers, markers by directory, the real file systems, the figures at the end, and the skips a run may have.

A test that needs root, loop devices, a tool or a library skips elsewhere with a reason. On a machine that has them a
skip would be a proof that silently stopped being one, so there it fails the run.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.crash.figures import FIGURES
from tests.crash.volumes import Bench, may_mount, why_no_volumes
from tests.integrations.extra import MODULES as INTEGRATIONS

HERE = Path(__file__).parent
MOST_WORKERS = 4
"""More would only wait for each other's disk."""
MARKED_DIRECTORIES = ("crash", "terminal")
_OF_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ExpectedSkip:
    """Tests that may skip, and only where `runs_here` says no."""

    tests: str
    """Pattern of node ids."""
    needs: str
    runs_here: Callable[[], bool]


def _installed(*modules: str) -> Callable[[], bool]:
    return lambda: all(find_spec(module) is not None for module in modules)


def _on_path(tool: str) -> Callable[[], bool]:
    return lambda: shutil.which(tool) is not None


EXPECTED_SKIPS = (
    ExpectedSkip("tests/crash/test_naive_writers.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_power_cut.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_error_sweep.py::test_failing_eviction*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_thin_volume.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/crash/test_trees.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/cli/test_space_freed.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/monitor/test_watch_beside_trainers.py::*tmpfs*", "root that may mount", may_mount),
    ExpectedSkip("tests/crash/test_syscalls.py::*", "strace", _on_path("strace")),
    ExpectedSkip("tests/terminal/*", "tmux", _on_path("tmux")),
    ExpectedSkip("tests/cli/test_export.py::*", "xxhsum", _on_path("xxhsum")),
    ExpectedSkip("tests/cli/test_directories.py::*xxhsum*", "xxhsum", _on_path("xxhsum")),
    ExpectedSkip("tests/integrations/test_torch_publish.py", "torch", _installed("torch")),
    ExpectedSkip("tests/integrations/test_*librar*.py", "the integrations extra", _installed(*INTEGRATIONS)),
    ExpectedSkip("tests/integrations/test_power_cut_of_libraries.py::*", "root and loop devices", may_mount),
    ExpectedSkip("tests/test_saving.py::*h5py*", "h5py", _installed("h5py")),
    ExpectedSkip("tests/test_readme.py::*HDF5*", "h5py", _installed("h5py")),
    ExpectedSkip("tests/*safetensors*", "safetensors", _installed("safetensors")),
    ExpectedSkip("tests/monitor/test_priority.py::*", "an x86-64 kernel", lambda: os.uname().machine == "x86_64"),
)
"""Everything that may be skipped at all; a skip that is not in here fails the run wherever it happens."""


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Real file systems to mount, where this machine has them."""
    reason = why_no_volumes()
    if reason:
        pytest.skip(reason)
    made = Bench(tmp_path_factory.mktemp("volumes"))
    yield made
    made.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure() -> None:
    """A shell ignores signals of the terminal for what it starts in the background; here they are sent, and meant."""
    for number in _OF_THE_TERMINAL:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def pytest_xdist_auto_num_workers() -> int:
    """One for each core this process may use."""
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS)


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
        needs = _has_to_run(item.nodeid)
        if needs is not None:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} skipped where it has to run ({needs}): {call.excinfo}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips as a whole never becomes an item."""
    report = yield
    if report.skipped:
        needs = _has_to_run(collector.nodeid)
        if needs is not None:
            report.outcome = "failed"
            report.longrepr = f"{collector.nodeid} skipped where it has to run ({needs}): {report.longrepr}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands in what it counted."""
    handed_in = getattr(session.config, "workeroutput", None)
    if handed_in is not None:
        handed_in["figures"] = dict(FIGURES)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Adds up what the workers counted; one that died has handed in nothing, and fails the run."""
    if error is None:
        FIGURES.update(node.workeroutput["figures"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if FIGURES:
        terminalreporter.section("crash safety")
        for what, number in sorted(FIGURES.items()):
            terminalreporter.write_line(f"{number:>8}  {what}")


def _has_to_run(node: str) -> str | None:
    """What it needs, if that is here or nothing says what it is; None where it may skip."""
    excuses = [skip for skip in EXPECTED_SKIPS if fnmatchcase(node, skip.tests)]
    if excuses and not any(skip.runs_here() for skip in excuses):
        return None
    return ", ".join(skip.needs for skip in excuses) or "not in EXPECTED_SKIPS of tests/conftest.py"
