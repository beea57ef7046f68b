"""Says which directory does not answer, while a command waits inside a call of the system that does not come back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable

PATIENCE = 10.0
"""Seconds between two looks whether the directories answer, and until the first."""
_ANSWER_WITHIN = 3.0


def answers(directory: str) -> bool:
    """Whether a stat of it comes back in time, well or not."""
    back = threading.Event()

    def look() -> None:
        try:
            os.stat(directory)
        except OSError:
            pass
        finally:
            back.set()

    threading.Thread(target=look, daemon=True).start()
    return back.wait(_ANSWER_WITHIN)


def notice_hangs(
    directories: Iterable[str],
    say: Callable[[str], None],
    over: threading.Event,
    *,
    patience: float = PATIENCE,
    answers: Callable[[str], bool] = answers,
) -> None:
    """Calls `say` once for each directory that does not answer, until `over` is set. From a thread of its own: the one
    that hangs says nothing."""
    threading.Thread(target=_watch, args=(list(directories), say, over, patience, answers), daemon=True).start()


def _watch(
    directories: list[str],
    say: Callable[[str], None],
    over: threading.Event,
    patience: float,
    answers: Callable[[str], bool],
) -> None:
    while directories and not over.wait(patience):
        silent = [directory for directory in directories if not answers(directory)]
        for directory in silent:
            say(directory)
        directories = [directory for directory in directories if directory not in silent]
