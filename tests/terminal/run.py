"""A run with real torch files on two sides, as old as a test wants them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ckptdeck.cli.main import main
from ckptdeck.core.checkpoint_set import find_pair
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import make_weights

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Run:
    primary: Path
    mirror: Path

    @classmethod
    def fresh(cls, base: Path) -> Run:
        run = cls(base / "ckpt", base / "mirror")
        run.primary.mkdir()
        run.mirror.mkdir()
        return run

    @property
    def directories(self) -> tuple[str, str]:
        return str(self.primary), str(self.mirror)

    def save_directly(self, step: int, size: int = 200_000) -> Path:
        """As a trainer that knows nothing of us, a while ago."""
        path = self.primary / f"step_{step:04d}.pt"
        path.write_bytes(torch_bytes(step, size))
        then = time.time() - 100 * HOUR + step * 10
        os.utime(path, (then, then))
        return path

    def let_a_trainer_save(self, step: int, size: int = 200_000) -> None:
        """As a trainer that uses the library: a process of its own saves this step, and its rolling name."""
        options = {"--first-step": step, "--saves": 1, "--interval": 0.1, "--direct-every": 0, "--size": size}
        words = [str(word) for pair in options.items() for word in pair]
        trainer = [sys.executable, "-m", "ckptdeck.demo.trainer", str(self.primary), *words]
        subprocess.run(trainer, check=True, capture_output=True)

    def record_and_mirror(self) -> None:
        assert main(["init", *self.directories, "--quiet"]) == 0
        assert main(["mirror", *self.directories, "--all", "--yes", "--quiet"]) == 0

    def limit_rate(self, rate: str) -> None:
        """Copies become slow enough to be met in the middle."""
        self._set_policy(f'[verify]\nrate = "{rate}"\n')

    def keep_last(self, steps: int) -> None:
        """The retention of the set."""
        self._set_policy(f"[prune]\nkeep_last = {steps}\n")

    def _set_policy(self, text: str) -> None:
        control = find_pair(FileSystem(), *self.directories).primary.control_path("ckptdeck.toml")
        Path(control).write_text(text, encoding="utf-8")

    def cut(self, path: Path) -> None:
        """Takes the last quarter away without moving the time."""
        status = path.stat()
        with path.open("r+b") as file:
            file.truncate(status.st_size * 73 // 100)
        self.age(path, status.st_mtime_ns)

    def age(self, path: Path, mtime_ns: int) -> None:
        """Gives a damaged file the time it had, as damage by a disk does."""
        os.utime(path, ns=(mtime_ns, mtime_ns))

    def on_primary(self) -> set[str]:
        return {path.name for path in self.primary.iterdir()}

    def on_mirror(self) -> set[str]:
        return {path.name for path in self.mirror.iterdir()} - {".ckptdeck"}


def torch_bytes(step: int, size: int) -> bytes:
    sink = io.BytesIO()
    write_torch_file(sink, make_weights(size, str(step)), archive=f"step_{step}", step=step, loss=2.0)
    return sink.getvalue()
