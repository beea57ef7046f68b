"""The product as the bench runs it: whole processes of the command line on sets made for it."""

from __future__ import annotations

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
    _forget(mirror / name, mirror / CONTROL)


def forget_checkpoint(primary: Path, name: str) -> None:
    """Nor had the primary."""
    _forget(primary / name, primary.parent / f".{primary.name}{CONTROL}")


def _forget(path: Path, control: Path) -> None:
    for each in (path, *control.glob(f"*/{path.name}*")):
        each.unlink(missing_ok=True)


def recorded_pair(
    primary: Path, mirror: Path, fill: Callable[[Path], object], name: str = "step_0001.pt"
) -> tuple[Path, Path]:
    """An initialised pair whose primary holds one checkpoint with a record and a receipt; the file and the mirror."""
    primary.mkdir()
    mirror.mkdir()
    run_once(deck("init", primary, mirror))
    fill(primary / name)
    run_once(deck("adopt", primary, "--yes"))
    return primary / name, mirror


def set_readback(primary: Path, *, wanted: bool) -> None:
    """Whether copies are read back, in the pair's policy."""
    policy = primary.parent / f".{primary.name}{CONTROL}" / "ckptdeck.toml"
    policy.write_text(f"[verify]\nreadback = {str(wanted).lower()}\n", encoding="utf-8")
