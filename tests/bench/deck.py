"""The product as the bench runs it: whole processes of the command line on sets made for it."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from tests.bench.contest import run_once

COMMAND = (sys.executable, str(Path(sysconfig.get_path("scripts")) / "ckptdeck"))
CONTROL = ".ckptdeck"


def deck(*words: str | Path) -> list[str]:
    """One command line."""
    return [*COMMAND, *map(str, words)]


def recorded_set(root: Path, fill: Callable[[Path], object], name: str = "step_0001.pt") -> Path:
    """An initialised primary in `root` with one checkpoint that has a record and a receipt; the file's path."""
    root.mkdir()
    run_once(deck("init", root))
    fill(root / name)
    run_once(deck("adopt", root, "--yes"))
    return root / name


def forget_copy(mirror: Path, name: str) -> None:
    """The mirror never had it."""
    for path in (mirror / name, *mirror.glob(f"{CONTROL}/*/{name}*")):
        path.unlink(missing_ok=True)
    shutil.rmtree(mirror / CONTROL / "staging" / name, ignore_errors=True)
