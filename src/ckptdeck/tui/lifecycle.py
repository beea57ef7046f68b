"""A console ends in order however it is ended: jobs at a safe point, the terminal as it was.

An unhandled TERM or HUP would leave the alternate screen on and cut a copy in the middle.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from textual.app import SuspendNotSupported

STOP_WITHIN = 1.0
"""Seconds that jobs get to reach a safe point."""
TERMINAL_CHECK = 3.0
"""Seconds between two looks whether the terminal is still there."""
HANGUP_CODE = 129
_ECHO = 0.5
"""Seconds after coming back in which being told to stop is the same word heard twice: from the shell, which tells all
of a job, and from the process that stands in for this one."""

_SETTLE, _BETWEEN = 0.1, 0.5
"""Seconds after coming back until the terminal is taken anew, in which the same word may come again, and between two
times, as all stands still for a moment then."""

_CODES = {signal.SIGHUP: HANGUP_CODE, signal.SIGINT: 130, signal.SIGTERM: 143}


class _TerminalGone(Exception):
    """It went away while the process was stopped, or belongs to somebody else now."""


def follow_signals(end: Callable[[int], None], come_back: Callable[[], None], step_back: Callable[[], None]) -> None:
    """Calls `end` with the exit code of the signal, `step_back` when the process is to stop, `come_back` when a stopped
    one goes on.

    A HUP that is ignored (nohup) stays ignored. Textual's own handler for TSTP runs in the middle of whatever is being
    written, and may then wait for itself for ever; the one for CONT starts its threads a second time where they still
    run: the terminal would be left raw at the end, and a forgotten thread keep the process.
    """
    loop = asyncio.get_running_loop()
    for number, code in _CODES.items():
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, end, code)
    loop.add_signal_handler(signal.SIGCONT, _seldom(loop, come_back))
    back_at = -_ECHO

    def stop() -> None:
        nonlocal back_at
        if loop.time() - back_at >= _ECHO:
            step_back()
            back_at = loop.time()

    loop.add_signal_handler(signal.SIGTSTP, stop)


def _seldom(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> Callable[[], None]:
    """What acts soon after it was called, however often, and at most once per `_BETWEEN`."""
    acted_at = -_BETWEEN
    pending = False

    def run() -> None:
        nonlocal acted_at, pending
        act()
        acted_at, pending = loop.time(), False

    def call() -> None:
        nonlocal pending
        if not pending:
            pending = True
            loop.call_at(max(loop.time() + _SETTLE, acted_at + _BETWEEN), run)

    return call


def in_foreground() -> bool:
    """False in the background of a shell, where to take the terminal would mean to be stopped again."""
    if sys.__stderr__ is None:
        return True
    try:
        return os.tcgetpgrp(sys.__stderr__.fileno()) == os.getpgrp()
    except OSError:
        return True  # no terminal to be in the background of


def stop_and_go_on(suspend: Callable[[], AbstractContextManager[None]], alive: Callable[[], bool]) -> None:
    """Gives the terminal back and stops this process; going on, it takes the terminal anew if that is `alive`."""
    with contextlib.suppress(SuspendNotSupported, _TerminalGone), suspend():
        os.kill(os.getpid(), signal.SIGSTOP)
        if not (alive() and in_foreground()):
            raise _TerminalGone
