"""What a short command loads: exact, where a timing would depend on the machine. Every module is paid by a launcher."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.looks import make_bench

_RUN = """
import contextlib, io, json, sys
from ckptdeck.cli.main import main
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
    code = main(json.loads(sys.argv[1]))
print(json.dumps([code, sorted(sys.modules)]))
"""
_HEAVY = frozenset({"textual", "rich", "asyncio", "psutil", "watchfiles", "importlib.metadata", "multiprocessing"})
_SELDOM = frozenset(
    {
        "ctypes", "decimal", "difflib", "logging", "shutil", "statistics", "subprocess",
        "tempfile", "tomllib",
    }
)  # fmt: skip
"""Of the standard library: each takes longer to load than what most commands do."""
_LATER = ("core.probes", "core.plans", "core.publish", "core.apply", "core.transfer", "tui", "cli.json_output")
"""Rooms of ours that looking at a set at rest has no use for."""


def loaded_by(*words: str) -> tuple[int, frozenset[str]]:
    command = [sys.executable, "-c", _RUN, json.dumps(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stdout)
    return code, frozenset(modules)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_the_command_line_alone(option: str) -> None:
    code, modules = loaded_by(option)
    ours = {name.removeprefix("ckptdeck.") for name in modules if name.startswith("ckptdeck.")}
    assert code == 0
    assert ours == {"cli", "cli.leaving", "cli.main", "cli.terminal", "core", "core.errors", "core.safe_text"}
    assert not modules & (_HEAVY | _SELDOM)


@pytest.mark.parametrize("command", ["status", "resume"])
def test_looking_at_a_set_at_rest_loads_no_format_and_no_planner(tmp_path: Path, command: str) -> None:
    bench = make_bench(tmp_path, now=tmp_path.stat().st_ctime)
    bench.write("step_0010.pt")
    bench.record("step_0010.pt", 10)
    bench.receive("step_0010.pt")
    code, modules = loaded_by(command, str(bench.root))
    needless = {name for name in modules for room in _LATER if f"{name}.".startswith(f"ckptdeck.{room}.")}
    assert code == 0
    assert needless == set()
    assert not modules & (_HEAVY | _SELDOM)


def test_a_console_paints_before_it_loads_what_changes_files() -> None:
    console = "import sys, ckptdeck.monitor.engine, ckptdeck.tui.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", console], capture_output=True, text=True, check=True)
    later = ("core.apply", "core.probes", "core.publish", "core.removal", "core.transfer", "core.verify")
    assert not {f"ckptdeck.{name}" for name in later} & set(done.stdout.split())
