"""The end of a process that has answered."""

from __future__ import annotations

import atexit
import os
import sys


def leave(code: int) -> None:
    """Ends the process with `code`, without taking apart first what it knows, which takes a tenth of its time.

    Returns where that would cut something off: a thread that is to be waited for, or text that could not be written,
    which the interpreter then says.
    """
    if _others_at_work():
        return
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _others_at_work() -> bool:
    threading = sys.modules.get("threading")  # loaded by whoever started one
    return threading is not None and any(
        thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()
    )
