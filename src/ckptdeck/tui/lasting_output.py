"""A terminal that may go away or stop reading: what is written to it then goes nowhere, and nobody fails or waits.

Textual writes in a thread behind a bounded queue. Were that thread to die of a failing write, or to wait for a terminal
that is not read (a stopped client, a window of a sleeping laptop), whoever fills the queue would wait for ever: the
loop, and with it the signals that are to end the console.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Any, TextIO

STALLED_AFTER = 1.0
"""Seconds in which a terminal must take something, or it does not count as read any more."""
_GONE = frozenset({errno.EIO, errno.EPIPE, errno.ENXIO, errno.EBADF})
_CANCEL = b"\x18"
"""Ends a sequence that was cut in the middle, for any terminal (ECMA-48: CAN)."""
_USUAL = (24, 80)


class LastingOutput:
    """Writes to `terminal` through `fd`, which never blocks. `taken_up` is called, on the writing thread, when a
    terminal that was not read is read again: all that was written meanwhile is lost, so all has to be painted anew."""

    def __init__(self, terminal: TextIO, fd: int) -> None:
        self._terminal = terminal
        self._fd = fd
        self._stalled = False
        self._gone = False
        self.taken_up: Callable[[], object] = lambda: None

    def write(self, text: str) -> int:
        data = text.encode("utf-8", "replace")
        if self._stalled and self._ready(0):
            self._stalled = False
            data = _CANCEL + data
            self.taken_up()
        if not self._stalled:
            self._put(data)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)

    def _put(self, data: bytes) -> None:
        while data and not self._gone:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                if not self._ready(STALLED_AFTER):
                    self._stalled = True
                    return
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                self._gone = True

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([], [self._fd], [], seconds)[1])


@contextlib.contextmanager
def lasting_output() -> Iterator[LastingOutput | None]:
    """While it lasts, Textual finds a LastingOutput where it looks for the terminal; None where there is none."""
    terminal = sys.__stderr__
    if terminal is None:
        yield None
        return
    fd = open_anew(terminal.fileno(), os.O_WRONLY)
    output = LastingOutput(terminal, fd)
    sys.__stderr__ = output  # type: ignore[misc, assignment]
    try:
        yield output
    finally:
        sys.__stderr__ = terminal  # type: ignore[misc]
        os.close(fd)


def open_anew(terminal: int, access: int) -> int:
    """For reading or for writing, an open file of our own: that it does not block is nothing the shell's has to suffer
    from. Where the terminal has no name here (a container's may not), the shell's, which blocks."""
    try:
        return os.open(os.ttyname(terminal), access | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return os.dup(terminal)


def give_it_a_size() -> None:
    """A terminal that says it has no rows or no columns gets the usual ones; one without a size would be painted anew
    for ever."""
    for stream in (sys.__stdin__, sys.__stdout__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            fd = stream.fileno()  # type: ignore[union-attr]
            rows, columns, *_ = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))
            if not rows or not columns:
                fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *_USUAL, 0, 0))
            return
