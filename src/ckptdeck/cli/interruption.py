"""Ctrl-C, kill -TERM and a closed terminal: long work stops at a safe point, anything else at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ckptdeck.core.progress import CancelToken

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """While `working`, the first signal asks the work to stop and the second one ends it where it stands.

    Where it stands is safe too: nothing unfinished ever has a final name.
    """

    def __init__(self) -> None:
        self.token = CancelToken()
        self.over = threading.Event()
        """Set once the command has ended."""
        self._working = False

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Handles the signals inside the block; the former handlers are put back afterwards."""
        if threading.current_thread() is not threading.main_thread():
            try:
                yield  # only the main thread may set handlers; whoever runs us elsewhere handles signals there
            finally:
                self.over.set()
            return
        # An ignored signal (nohup) stays ignored.
        wanted = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        former = {number: signal.signal(number, self._handle) for number in wanted}
        try:
            yield
        finally:
            self.over.set()
            for number, handler in former.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def working(self) -> Iterator[CancelToken]:
        """Marks work that looks at the token between its chunks."""
        self._working = True
        try:
            yield self.token
        finally:
            self._working = False

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._working and not self.token.cancelled:
            self.token.cancel()
        else:
            raise KeyboardInterrupt
