"""A console that was killed leaves its terminal as it needed it. Who stands in for it puts that right, with no UI."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from typing import TextIO

from ckptdeck.tui.lasting_output import lasting_output

_AS_BEFORE = "".join(
    (
        "\x18",  # ends a sequence that was cut in the middle
        "\x1b[?2026l",  # paints at once
        *(f"\x1b[?{mode}l" for mode in (1000, 1003, 1015, 1006, 1016, 1004, 2004, 2048)),  # mouse, focus, paste, size
        "\x1b[<u",  # keys as usual
        "\x1b7\x1b[?1049l",  # the first screen; on it already, the cursor stays where it is
        "\x1b[?25h\x1b[?7h\x1b[0m",  # a cursor, lines that wrap, no colour
    )
)


def remember_terminal() -> Callable[[], None]:
    """Notes how the terminal takes its input now. What is returned makes it so again, and switches off all that a
    console switches on; it does nothing where there is no terminal, or where that belongs to another job now."""
    terminal = sys.__stdin__
    modes = None if terminal is None else _modes_of(terminal)

    def give_back() -> None:
        if terminal is None or modes is None or not _is_ours(terminal):
            return
        with _not_stopped_by_it(), contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(terminal, termios.TCSAFLUSH, modes)
            with lasting_output() as output:
                if output is not None:
                    output.write(_AS_BEFORE)

    return give_back


def _modes_of(terminal: TextIO) -> list[int | list[bytes | int]] | None:
    try:
        return termios.tcgetattr(terminal)
    except (termios.error, ValueError):
        return None


def _is_ours(terminal: TextIO) -> bool:
    try:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:  # gone
        return False


@contextlib.contextmanager
def _not_stopped_by_it() -> Iterator[None]:
    """The job may go to the background in this moment."""
    former = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTTOU, former)
