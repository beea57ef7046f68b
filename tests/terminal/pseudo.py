"""A pseudo terminal in which nobody reads unless told: what a window is whose client was stopped."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.terminal.screen import BETWEEN_LOOKS, PATIENCE, clean_environment, wait_until


@dataclass
class Pseudo:
    """A process in its terminal. `reader` is our end."""

    process: subprocess.Popen[bytes]
    reader: int
    seen: bytes = b""

    def wait_for(self, text: str, between: float = BETWEEN_LOOKS) -> None:
        """Reads until the text was seen, looking again every so many seconds."""
        there, wanted = self._holds, text.encode()
        wait_until(lambda: there(wanted), lambda: f"never seen: {text}\n{self.seen[-2000:]!r}", between)

    def read_for(self, seconds: float) -> None:
        """Reads all that is painted in that time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.reader], [], [], left)[0]:
                self.seen = os.read(self.reader, 65536)

    def _holds(self, text: bytes) -> bool:
        while select.select([self.reader], [], [], 0)[0]:
            self.seen += os.read(self.reader, 65536)
        return text in self.seen

    def type(self, keys: str) -> None:
        os.write(self.reader, keys.encode())

    @property
    def is_full(self) -> bool:
        """The kernel holds as much unread as it takes."""
        return bool(select.select([self.reader], [], [], 0)[0]) and _unread(self.reader) > 3000

    def ended(self) -> int:
        return self.process.wait(PATIENCE)


@contextmanager
def open_pseudo(*words: str, rows: int = 40, columns: int = 120, home: str) -> Iterator[Pseudo]:
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        words, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), env={**clean_environment(), "HOME": home},
    )  # fmt: skip
    os.close(terminal)
    try:
        yield Pseudo(process, reader)
    finally:
        process.kill()
        process.wait()
        os.close(reader)


def _unread(fd: int) -> int:
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0])
