"""How far long work is: a bar for people, JSON lines for programs, nothing for anyone else."""

from __future__ import annotations

import os
from collections.abc import Callable

from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import size_text, span_text
from ckptdeck.core.progress import Clock, Progress
from ckptdeck.core.safe_text import json_name, visible

_REFRESH = 0.2
"""Seconds between two pictures: 5 Hz."""
_FIRST_AFTER = 0.5
"""Seconds of work before a bar is worth showing."""
_CLEAR = "\r\x1b[K"


class ProgressBar:
    """A core `Report`. Call `clear` before anything else is written to stderr, `advance` when an item is over."""

    def __init__(self, terminal: Terminal, clock: Clock, columns: Callable[[], int] | None = None) -> None:
        self._terminal = terminal
        self._clock = clock
        self._columns = columns or _columns
        self._silent = terminal.quiet or not (terminal.as_json or terminal.progress_to_person)
        self._key: tuple[str, str, str] | None = None
        self._begun = 0.0
        self._first = 0
        self._next = 0.0
        self._shown = False

    def __call__(self, progress: Progress) -> None:
        if self._silent:
            return
        now = self._clock.monotonic()
        key = (progress.phase, progress.name, progress.side)
        if key != self._key:
            self._key, self._begun, self._first = key, now, progress.done
            if not self._shown:
                self._next = now + (0 if self._terminal.as_json else _FIRST_AFTER)
        if now < self._next:
            return
        self._next = now + _REFRESH
        if self._terminal.as_json:
            self._terminal.progress_line(_document(progress))
        else:
            self._draw(progress, now)

    def clear(self) -> None:
        """Takes the bar off the screen."""
        if self._shown:
            self._shown = False
            self._terminal.stderr.write(_CLEAR)
            self._terminal.stderr.flush()

    def _draw(self, progress: Progress, now: float) -> None:
        line = bar_line(progress, elapsed=now - self._begun, since=self._first, columns=self._columns())
        self._shown = True
        self._terminal.stderr.write(_CLEAR + line)
        self._terminal.stderr.flush()


def bar_line(progress: Progress, *, elapsed: float, since: int, columns: int) -> str:
    """`hash step_0810.pt primary [#####.....] 41% 1.20 GB/s 3s`, never wider than `columns` - 1."""
    fraction = min(1.0, progress.done / progress.total) if progress.total > 0 else 0.0
    rate = (progress.done - since) / elapsed if elapsed > 0 else 0.0
    tail = f"{fraction:4.0%}"
    if rate > 0:
        tail += f" {size_text(rate)}/s {span_text((progress.total - progress.done) / rate)}"
    width = columns - 1
    room = width - len(tail) - len(progress.phase) - len(progress.side) - 4
    if room < 8:
        return f"{progress.phase} {tail}"[:width]
    cells = max(0, min(30, room - 24))
    name = visible(progress.name, limit=room - cells - 2 if cells else room)
    done = round(cells * fraction)
    bar = f" [{'#' * done}{'.' * (cells - done)}]" if cells else ""
    return f"{progress.phase} {name} {progress.side}{bar} {tail}"[:width]


def _document(progress: Progress) -> dict[str, object]:
    return {
        "schema": "ckptdeck.progress/1",
        "phase": progress.phase,
        **json_name(progress.name),
        "side": progress.side,
        "done": progress.done,
        "total": progress.total,
    }


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80
