"""Shared by the crash tests: fresh pairs of sets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.sandbox import Sandbox


@pytest.fixture
def fresh_sandbox() -> Iterator[Callable[[], Sandbox]]:
    """Makes one pair of empty sets after another; in memory where it can, since sweeps make thousands."""
    memory = Path("/dev/shm")
    top = Path(tempfile.mkdtemp(prefix="ckptdeck-", dir=memory if memory.is_dir() else None))
    made = 0

    def make() -> Sandbox:
        nonlocal made
        shutil.rmtree(top / str(made), ignore_errors=True)
        made += 1
        return Sandbox.fresh(top / str(made))

    yield make
    shutil.rmtree(top)
