"""A console ends in order however it is ended: jobs at a safe point, the terminal as it was.

An unhandled TERM or HUP would leave the alternate screen on and cut a copy in the middle.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

STOP_WITHIN = 1.0
"""Seconds that jobs get to reach a safe point."""
TERMINAL_CHECK = 3.0
"""Seconds between two looks whether the terminal is still there."""
HANGUP_CODE = 129

_TERMINAL_GONE = frozenset({errno.EIO, errno.EPIPE, errno.ENXIO})
_CODES = {signal.SIGHUP: HANGUP_CODE, signal.SIGINT: 130, signal.SIGTERM: 143}


def follow_signals(end: Callable[[int], None], come_back: Callable[[], None]) -> None:
    """Calls `end` with the exit code of the signal, and `come_back` when a stopped process goes on.

    A HUP that is ignored (nohup) stays ignored. Textual's own handler for CONT starts its threads a second time
    where they still run: the terminal would be left raw at the end, and a forgotten thread keep the process.
    """
    loop = asyncio.get_running_loop()
    for number, code in _CODES.items():
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, code)
    loop.add_signal_handler(signal.SIGCONT, come_back)


class LastingOutput:
    """A terminal that may go away: from then on what is written to it goes nowhere, and nobody fails or waits.

    Textual writes in a thread behind a bounded queue. That thread dies of the first failing write, and whoever then
    fills the queue, the end of the application among them, would wait for ever.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        with _nobody_listening():
            self._terminal.write(text)
        return len(text)

    def flush(self) -> None:
        with _nobody_listening():
            self._terminal.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """While it lasts, Textual finds a LastingOutput where it looks for the terminal."""
    terminal = sys.__stderr__
    if terminal is None:
        yield
        return
    sys.__stderr__ = LastingOutput(terminal)  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        sys.__stderr__ = terminal  # type: ignore[misc]


@contextlib.contextmanager
def _nobody_listening() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _TERMINAL_GONE:
            raise
