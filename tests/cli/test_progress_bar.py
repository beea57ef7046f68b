"""A bar that never breaks a line, and JSON lines for programs."""

from __future__ import annotations

import io
import json

import pytest

from ckptdeck.cli.progress_bar import ProgressBar, bar_line
from ckptdeck.cli.terminal import Terminal
from ckptdeck.cli.text import cell_width
from ckptdeck.core.progress import Progress
from tests.cli.test_terminal import Screen


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


HALF = Progress("hash", "step_0810.pt", "primary", 500_000_000, 1_000_000_000)


def test_a_line_says_how_far_how_fast_and_how_long() -> None:
    line = bar_line(HALF, elapsed=2.0, since=0, columns=100)
    assert line.startswith("hash step_0810.pt primary [###############...............]  50% 250 MB/s 2s")


@pytest.mark.parametrize("columns", [1, 8, 20, 30, 45, 60, 80, 200])
@pytest.mark.parametrize("name", ["s.pt", "x" * 250, "\x1b[2J\n.pt"])
def test_it_always_fits(columns: int, name: str) -> None:
    line = bar_line(Progress("read back", name, "mirror", 1, 3), elapsed=1.0, since=0, columns=columns)
    assert cell_width(line) < max(columns, 1) or line == ""
    assert line.isprintable()


def test_short_work_shows_nothing_and_long_work_five_pictures_a_second() -> None:
    clock = Clock()
    terminal = Terminal(stdin=Screen(), stdout=Screen(), stderr=(screen := Screen()), environ={})
    bar = ProgressBar(terminal, clock, lambda: 80)
    for _ in range(40):
        bar(HALF)
        clock.sleep(0.05)
    assert clock.time == pytest.approx(2.0)
    assert 6 <= screen.getvalue().count("\r") <= 8
    bar.clear()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_nothing_for_a_pipe_and_json_lines_when_asked() -> None:
    silent = Terminal(stdin=Screen(), stdout=Screen(), stderr=(pipe := io.StringIO()), environ={})
    bar = ProgressBar(silent, Clock())
    bar(HALF)
    assert pipe.getvalue() == ""
    told = Terminal(as_json=True, stdin=Screen(), stdout=Screen(), stderr=(lines := io.StringIO()), environ={})
    ProgressBar(told, Clock())(HALF)
    assert json.loads(lines.getvalue()) == {
        "schema": "ckptdeck.progress/1",
        "phase": "hash",
        "name": "step_0810.pt",
        "side": "primary",
        "done": 500_000_000,
        "total": 1_000_000_000,
    }
