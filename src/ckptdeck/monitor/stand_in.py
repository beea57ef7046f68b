"""Work in a child process, so that a call of the system that never comes back cannot keep the shell waiting.

A thread inside a call on a mount that hangs (a hard NFS mount, FUSE, a suspended disk) cannot be killed, and a process
ends only with the last of its threads: whoever waits for it would wait for the mount. The child says its exit code when
its work is done; who stands in for it passes that on at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGCONT)
_PR_SET_PDEATHSIG = 1
_KILLED = 128
_TOLD_TO_END = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT})
_PATIENCE = 5.0
"""Seconds after being told to end in which the child says its code. After that nobody waits for it: it may be dead, and
only a thread inside a call that never comes back keeps it from being gone."""
_SETTLE = 0.05
"""Seconds after which a child that stopped is stopped: when a whole job goes on, the word reaches us one by one."""


def run_in_child(work: Callable[[], int], lost: Callable[[int], None] = lambda code: None) -> int:
    """The exit code of `work` (0 to 255), which runs in a child of this process and of its terminal.

    Signals are passed on to the child, and when it stops we stop. What `work` raises goes on being raised in the child
    alone, whose exit code is then that of its process. `lost` gets the code where the child could not end in order: a
    signal killed it, or it is not waited for any more. No other thread may run.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    # A signal before the child can be told of it waits: it would end us and leave the child to its terminal.
    former = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
        os.close(reader)
        _end_with_parent()
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(writer, bytes([code]))
        os._exit(code)
    os.close(writer)
    told: list[tuple[int, float]] = []
    with _forwarding(child, told):
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
        code, in_order = _wait_for(child, reader, told)
        if not in_order:
            lost(code)
    os.close(reader)
    return code


def _wait_for(child: int, reader: int, told: Sequence[tuple[int, float]]) -> tuple[int, bool]:
    """Its code as soon as it is told; that of its end when it ended without a word, that of the signal when nobody can
    say. Whether it ended by itself."""
    while not select.select([reader], [], [], 1.0)[0]:  # signals are handled between two calls
        if told and time.monotonic() - told[0][1] > _PATIENCE:
            return _KILLED + told[0][0], False
    said = os.read(reader, 1)
    if said:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, os.WNOHANG)
        return said[0], True
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return (code, True) if code >= 0 else (_KILLED - code, False)


@contextlib.contextmanager
def _forwarding(child: int, told: list[tuple[int, float]]) -> Iterator[None]:
    """Signals go to the child; those that tell it to end are noted in `told`, with the time."""

    def forward(number: int, _frame: FrameType | None) -> None:
        if number in _TOLD_TO_END:
            told.append((number, time.monotonic()))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    def stop_too(_number: int, _frame: FrameType | None) -> None:
        time.sleep(_SETTLE)
        with contextlib.suppress(ChildProcessError):
            changed = os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOHANG)
            if changed is not None:
                os.kill(os.getpid(), signal.SIGSTOP)

    wanted = [number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, forward) for number in wanted}
    former[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, stop_too)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _end_with_parent() -> None:
    """A TERM when the parent is gone, killed for example."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
