"""The policy's `notify` command: run for trouble, one at a time, and never waited for.

The command is the operator's own text for `sh -c`. What is to be told reaches it in environment variables only, so
that no name of a file is ever read by a shell.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from ckptdeck.core.progress import Clock

PATIENCE = 30.0
"""Seconds after which a notify command is ended."""
TEXT = "CKPTDECK_TROUBLE"
PRIMARY = "CKPTDECK_PRIMARY"
MIRROR = "CKPTDECK_MIRROR"
_SENTENCES = 20
_MOST = 1000
"""Sentences that may wait."""
_LONGEST = 16_000
"""Characters; the kernel takes no variable over 128 KiB."""
_LAST_WORDS = 2.0
"""Seconds a command that runs at the very end still gets."""


class Notifier:
    """Runs one command at a time; what happens meanwhile is told together, by the next. No method waits for it."""

    def __init__(self, clock: Clock, primary: str, environ: Mapping[str, str]) -> None:
        self._clock = clock
        self._environ = {**environ, PRIMARY: primary}
        self._waiting: list[str] = []
        self._running: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    def tell(self, sentences: Sequence[str]) -> None:
        """Remembers what is to be told."""
        self._waiting = [*self._waiting, *sentences][-_MOST:]

    def turn(self, command: str | None, mirror: str | None) -> str:
        """Looks after the command that runs, and starts `command` when something waits. "" or what went wrong.

        What waits while there is no command waits on: it may be in a policy that was not read yet.
        """
        problem = self._look_after()
        if command is not None and self._running is None and self._waiting:
            problem = self._start(command, mirror) or problem
        return problem

    def close(self) -> None:
        """Ends what still runs, after a moment."""
        if self._running is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._running.wait(_LAST_WORDS)
            self._end()

    def _start(self, command: str, mirror: str | None) -> str:
        environ = self._environ | {TEXT: _text_of(self._waiting)} | ({} if mirror is None else {MIRROR: mirror})
        self._waiting.clear()
        try:
            self._running = subprocess.Popen(
                ["/bin/sh", "-c", command],
                env=environ,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=2,  # stdout is ours, and maybe JSON
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"the notify command cannot be started: {error}"
        self._began = self._clock.monotonic()
        return ""

    def _look_after(self) -> str:
        if self._running is None:
            return ""
        code = self._running.poll()
        if code is not None:
            self._running = None
            return f"the notify command failed with exit code {code}" if code else ""
        if self._clock.monotonic() - self._began < PATIENCE:
            return ""
        self._end()
        return f"the notify command did not end within {PATIENCE:.0f} s and was killed"

    def _end(self) -> None:
        """With everything it started."""
        running, self._running = self._running, None
        if running is not None and running.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _text_of(sentences: Sequence[str]) -> str:
    shown = list(sentences[:_SENTENCES])
    if len(sentences) > _SENTENCES:
        shown.append(f"and {len(sentences) - _SENTENCES} more")
    return "\n".join(shown)[:_LONGEST]
