"""A training box in small: a trainer that saves fast, a watch that mirrors and prunes, and an operator's console."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ckptdeck.cli.main import main
from ckptdeck.core.checkpoint_set import find_pair
from ckptdeck.core.filesystem import FileSystem
from tests.terminal.screen import CKPTDECK, Screen

KEEP = 12
_NICE = 10


@dataclass(frozen=True, slots=True)
class Box:
    """Everything runs until the block around it ends. `watch` and `console` are process ids."""

    primary: Path
    mirror: Path
    screen: Screen
    console: int
    watch: int

    @property
    def saves(self) -> int:
        """Checkpoints that lie on both sides now."""
        return sum(path.suffix == ".pt" for side in (self.primary, self.mirror) for path in side.iterdir())


@contextmanager
def open_box(base: Path, interval: float, size: int) -> Iterator[Box]:
    """`interval` in seconds between two saves of `size` bytes; `base` is an empty directory."""
    primary, mirror = base / "ckpt", base / "mirror"
    primary.mkdir()
    mirror.mkdir()
    if main(["init", str(primary), str(mirror), "--quiet"]) != 0:
        raise RuntimeError("the pair could not be set up")
    control = find_pair(FileSystem(), str(primary), str(mirror)).primary.control_path("ckptdeck.toml")
    Path(control).write_text(f"[prune]\nkeep_last = {KEEP}\n", encoding="utf-8")
    with ExitStack() as closing:
        _start(
            closing, "-m", "ckptdeck.demo.trainer", str(primary), "--until-eof", "--saves", "1000000",
            "--interval", str(interval), "--size", str(size), "--direct-every", "0",
        )  # fmt: skip
        watch = _start(
            closing, "-m", "ckptdeck", "watch", str(primary), str(mirror), "--auto-mirror", "--auto-prune", "--quiet"
        )
        place = base / "tmux"
        place.mkdir()
        screen = Screen(place, 120, 40)
        closing.callback(screen.close)
        screen.start("nice", "-n", str(_NICE), *CKPTDECK, str(primary), str(mirror))
        screen.wait_for("RESUME")
        console = screen.pid_of(str(primary), str(mirror))
        yield Box(primary, mirror, screen, console, watch.pid)


def _start(closing: ExitStack, *words: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: os.nice(_NICE),
    )
    closing.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


ROUND = (
    ("j", "j", "k"), ("J",), ("Escape",), ("s",), ("l", "l", "0"), ("Escape",), ("i",), ("Escape",), ("!",), ("!",),
    ("o",), ("o",), ("o",), ("o",), ("/",), ("2", "0"), ("Escape",), ("Q",), ("Escape",), ("R",), ("Escape",),
    ("G",), ("g",), ("V",), ("T",), ("T",), ("T",), ("?",), ("Escape",), ("P",), ("n",), ("U",), ("m",), ("n",),
    ("U",), ("F5",),
)  # fmt: skip
"""What the operator presses, a few keys at a time, again and again: every screen, a review, a verification."""

SIZES = ((120, 40), (80, 24), (40, 12), (160, 45))


def act(screen: Screen, turn: int) -> None:
    """The operator's next few keys; after each round the terminal has another size."""
    screen.type(*ROUND[turn % len(ROUND)])
    if turn % len(ROUND) == 0:
        screen.resize(*SIZES[turn // len(ROUND) % len(SIZES)])
