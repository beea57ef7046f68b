"""Keys from a terminal that another program may read from as well: the shell, while the console is stopped.

Textual asks whether there is something to read and then reads. Where somebody else took it in between, or the shell
went back to whole lines, that read would wait for a line's end, and whoever ends the reading thread would wait for it:
the loop. This read never waits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

from ckptdeck.tui.lasting_output import open_anew

if TYPE_CHECKING:
    from textual.app import App


class LastingDriver(LinuxDriver):
    """Textual's own, on an open file of its own, which lives as long as the process."""

    def __init__(
        self, app: App[object], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.fileno = open_anew(self.fileno, os.O_RDONLY)

    def run_input_thread(self) -> None:
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except BlockingIOError:
                continue  # somebody else took it
