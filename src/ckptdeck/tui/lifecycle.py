"""A console ends in order however it is ended: jobs at a safe point, the terminal as it was.

An unhandled TERM or HUP would leave the alternate screen on and cut a copy in the middle.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

STOP_WITHIN = 1.0
"""Seconds that jobs get to reach a safe point."""
TERMINAL_CHECK = 3.0
"""Seconds between two looks whether the terminal is still there."""
HANGUP_CODE = 129

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
