from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.terminal.run import Run
from tests.terminal.screen import Screen


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.fresh(tmp_path)


@pytest.fixture
def open_screen() -> Iterator[Callable[..., Screen]]:
    """Opens a terminal; all of them are closed at the end. Sockets want short paths, so they get their own place."""
    if not Screen.available():
        pytest.skip("tmux is not installed")
    opened: list[Screen] = []
    with tempfile.TemporaryDirectory(prefix="deck-") as base:

        def open_one(*words: str, columns: int = 80, rows: int = 24, **environment: str) -> Screen:
            place = Path(base, str(len(opened)))
            place.mkdir()
            screen = Screen(place, columns, rows, environment)
            opened.append(screen)
            screen.start(*words)
            return screen

        yield open_one
        for screen in opened:
            screen.close()
