"""Who may import whom: tui and cli → monitor → core, and nothing heavy where it is not needed.

The first half reads the sources; the second looks at what a real import loads, since a static look cannot see
imports inside functions being reached.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ckptdeck

ROOT = Path(ckptdeck.__file__).parent

FORBIDDEN = {
    "core": (
        "ckptdeck.monitor",
        "ckptdeck.cli",
        "ckptdeck.tui",
        "ckptdeck.demo",
        "ckptdeck.saving",
        "ckptdeck.trainers",
        "textual",
        "rich",
        "watchfiles",
        "psutil",
        "time",
        "subprocess",
        "pickle",
        "marshal",
        "shelve",
    ),
    "monitor": (
        *(f"ckptdeck.{room}" for room in ("cli", "tui", "demo", "saving", "trainers")),
        "textual",
        "rich",
    ),
    "tui": (
        "ckptdeck.cli",
        "ckptdeck.demo",
        "ckptdeck.saving",
        "ckptdeck.trainers",
        "ckptdeck.core.apply",
        "ckptdeck.core.filesystem",
        "ckptdeck.core.publish",
        "ckptdeck.core.scan",
        "ckptdeck.core.transfer",
        "ckptdeck.core.verify",
        "subprocess",
    ),
    "cli": ("ckptdeck.saving", "ckptdeck.trainers"),
    "demo": ("ckptdeck.trainers",),
    "trainers": ("ckptdeck.cli", "ckptdeck.tui", "ckptdeck.demo", "textual", "rich", "watchfiles"),
    "audit": (
        *(f"ckptdeck.{room}" for room in ("core", "monitor", "cli", "tui", "demo", "saving", "trainers")),
        *("importlib", "runpy", "pickle", "textual", "rich"),
    ),
    "core/plans": (
        "ckptdeck.core.filesystem",
        "ckptdeck.core.host",
        "ckptdeck.core.manifest",
        "ckptdeck.core.scan",
        "ckptdeck.core.apply",
    ),
}
PURE = (
    "core/standing.py",
    "core/health.py",
    "core/verdict.py",
    "core/space.py",
    "core/guards.py",
    "core/survey.py",
)
"""Decide over pictures: they may name the types of the outer rooms, never a system call."""


MAY_THREAD = ("progress.py", "turns.py")
"""The token that another thread sets, and the pair that reads one large file."""


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_inside(module: str, forbidden: str) -> bool:
    return module == forbidden or module.startswith(forbidden + ".")


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    offences = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, module in imports_of(path)
        if any(is_inside(module, forbidden) for forbidden in FORBIDDEN[room])
    ]
    assert offences == []


TRAINING_LIBRARIES = ("torch", "lightning", "transformers", "accelerate")
PLUGINS = {"trainers/lightning.py", "trainers/transformers.py"}


def test_training_libraries_are_imported_by_their_plugins_alone() -> None:
    importing = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for _, module in imports_of(path)
        if any(is_inside(module, library) for library in TRAINING_LIBRARIES)
    }
    assert importing == PLUGINS


def test_the_core_starts_no_threads_and_reads_no_clock() -> None:
    offences = []
    for path in sorted((ROOT / "core").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "datetime.now(" in text or ".today(" in text or "utcnow(" in text:
            offences.append(f"{path.name} reads a clock")
        threads = any(is_inside(module, "threading") for _, module in imports_of(path))
        if threads and path.name not in MAY_THREAD:
            offences.append(f"{path.name} imports threading")
    assert offences == []


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_call_no_operating_system(module: str) -> None:
    named = {name for _, name in imports_of(ROOT / module)}
    assert not named & {"os", "io", "shutil", "pathlib", "tempfile"}, named


LIGHT = ("textual", "rich", "watchfiles", "psutil", "asyncio", "importlib.metadata")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import ckptdeck", id="package"),
        pytest.param("from ckptdeck import publish", id="trainer"),
        pytest.param("import ckptdeck.core.apply, ckptdeck.core.survey, ckptdeck.core.scan", id="core"),
        pytest.param("import ckptdeck.cli.main", id="command line"),
    ],
)
def test_importing_loads_nothing_heavy(code: str) -> None:
    script = f"{code}\nimport sys\nprint(*[m for m in {LIGHT!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_public_names_are_all_there() -> None:
    assert [name for name in ckptdeck.__all__ if getattr(ckptdeck, name, None) is None] == []
