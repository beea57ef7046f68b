"""A run's directory, a second disk's, and the command line over them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ckptdeck.cli.main import main

OLD = 86_400.0
"""Seconds: well past the age guard."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        loaded = json.loads(self.out)
        assert isinstance(loaded, dict)
        return loaded


@dataclass(frozen=True, slots=True)
class Deck:
    """Two bare directories below `base`, and `run` for `ckptdeck ...`."""

    base: Path
    capsys: pytest.CaptureFixture[str]

    @classmethod
    def below(cls, directory: Path, capsys: pytest.CaptureFixture[str]) -> Deck:
        made = cls(directory / "data", capsys)
        made.primary.mkdir(parents=True)
        made.mirror.mkdir()
        return made

    @property
    def primary(self) -> Path:
        return self.base / "ckpt"

    @property
    def mirror(self) -> Path:
        return self.base / "mirror"

    @property
    def control(self) -> Path:
        return self.base / ".ckpt.ckptdeck"

    def run(self, *words: str | Path) -> Ran:
        self.capsys.readouterr()
        code = main([str(word) for word in words])
        captured = self.capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    def put(self, name: str, data: bytes, *, side: str = "ckpt", age: float = OLD) -> Path:
        """A file written by somebody who knows nothing of us, `age` seconds ago."""
        path = self.base / side / name
        path.write_bytes(data)
        moment = time.time() - age
        os.utime(path, (moment, moment))
        return path

    def init(self) -> None:
        assert self.run("init", self.primary, self.mirror).code == 0

    def recorded(self, *names: str) -> None:
        """An initialised pair with these on the primary, each recorded and verified."""
        self.init()
        for name in names:
            self.put(name, data_of(name))
        assert self.run("adopt", self.primary, "--yes").code == 0

    def mirrored(self, *names: str) -> None:
        """The same, and on the mirror."""
        self.recorded(*names)
        assert self.run("mirror", self.primary, "--yes").code == 0

    def forget_receipts(self, *controls: Path) -> None:
        for control in controls or (self.control, self.mirror / ".ckptdeck"):
            for receipt in (control / "receipts").iterdir():
                receipt.unlink()

    def tree(self) -> dict[str, tuple[int, int]]:
        """Everything there is with size and mtime: equal before and after means nothing was written."""
        found = {}
        for path in self.base.rglob("*"):
            status = path.lstat()
            found[str(path)] = (status.st_size, status.st_mtime_ns)
        return found


def data_of(name: str, size: int = 20_000) -> bytes:
    """Bytes of no known format, the same for the same name."""
    return hashlib.shake_128(name.encode("utf-8", "surrogateescape")).digest(size)


def flip(path: Path) -> None:
    """Changes one byte and leaves the mtime: what a rotting disk does."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def cut(path: Path, size: int) -> None:
    """Shortens a file and leaves the mtime."""
    status = path.stat()
    os.truncate(path, size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
