"""What the core warns of while it works is written above the progress bar."""

from __future__ import annotations

import logging

from ckptdeck.cli.progress_bar import ProgressBar
from ckptdeck.cli.terminal import Terminal


class WarningsAbove(logging.Handler):
    """For the logger `ckptdeck`."""

    def __init__(self, bar: ProgressBar, terminal: Terminal) -> None:
        super().__init__(logging.WARNING)
        self._bar = bar
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        self._bar.clear()
        self._terminal.warn(record.getMessage())
