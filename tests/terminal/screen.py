"""A real tmux with a real console in it: keys go in, text comes out, and every wait is for something to be seen."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PATIENCE = 40.0
"""Real seconds after which what was waited for counts as not happening; a loaded machine needs a few."""
_BETWEEN_LOOKS = 0.05
CKPTDECK = (sys.executable, "-m", "ckptdeck")


@dataclass
class Screen:
    """One tmux server with one window. `base` is a private directory for its socket and for HOME."""

    base: Path
    columns: int = 80
    rows: int = 24
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def available(cls) -> bool:
        return shutil.which("tmux") is not None

    def start(self, *words: str) -> None:
        """Runs the words in a shell that says afterwards how they ended."""
        settings = {"HOME": str(self.base), "TMPDIR": str(self.base), "LC_ALL": "C.UTF-8", **self.environment}
        command = " ".join(
            ["env", *(f"{key}={shlex.quote(value)}" for key, value in settings.items()), *map(shlex.quote, words)]
        )
        script = f"{command}; echo ENDED $?; exec cat"
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-s", "deck", "-x", str(self.columns), "-y", str(self.rows), script
        )

    def type(self, *keys: str) -> None:
        """One key after the other, in tmux's names ("y", "Enter", "Escape")."""
        for key in keys:
            self._tmux("send-keys", "-t", "deck", key)

    def text(self, *options: str) -> str:
        return self._tmux("capture-pane", "-p", *options, "-t", "deck")

    def wait_for(self, what: str | Callable[[str], bool]) -> str:
        """The screen once `what` is on it, or true of it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            seen = self.text()
            if what in seen if isinstance(what, str) else what(seen):
                return seen
            if time.monotonic() > deadline:
                pytest.fail(f"never seen: {what}\n{seen}")
            time.sleep(_BETWEEN_LOOKS)

    def leave_review(self, key: str) -> None:
        """Presses the key until the review is gone: it is deaf for a moment after it opened."""

        def gone(text: str) -> bool:
            if "Do it" in text:
                self.type(key)
            return "Do it" not in text and "RESUME" in text

        self.wait_for(gone)

    def ended(self) -> int:
        """Waits for the end and returns the exit code."""
        seen = self.wait_for(lambda text: "ENDED " in text)
        return int(seen.split("ENDED ")[1].split()[0])

    def is_sane(self) -> bool:
        """Neither the alternate screen nor any mouse mode is left on."""
        flags = self._tmux("display-message", "-p", "-t", "deck", "#{alternate_on}#{mouse_any_flag}#{cursor_flag}")
        return flags.strip() == "001"

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "deck", "-x", str(columns), "-y", str(rows))

    def title(self) -> str:
        return self._tmux("display-message", "-p", "-t", "deck", "#{pane_title}").strip()

    def pid_of(self, *words: str) -> int:
        """The process below the pane whose command line ends with `words`."""
        shell = int(self._tmux("display-message", "-p", "-t", "deck", "#{pane_pid}"))
        for pid in _descendants(shell):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
            if line[-len(words) :] == [os.fsencode(word) for word in words] and b"ckptdeck" in line:
                return pid
        raise AssertionError(f"no process ends with {words}")

    def close(self) -> None:
        """The terminal goes away with everything in it."""
        subprocess.run(self._command("kill-server"), capture_output=True, check=False)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(self._command(*words), capture_output=True, check=True, env=_clean_environment())
        return done.stdout.decode("utf-8", "replace")

    def _command(self, *words: str) -> list[str]:
        return ["tmux", "-S", str(self.base / "tmux"), *words]


def _clean_environment() -> dict[str, str]:
    """Nothing of the terminal the tests run in decides how the console looks."""
    dropped = ("NO_COLOR", "SSH_CONNECTION", "TMUX", "COLUMNS", "LINES", "COLORTERM", "CKPTDECK_ASCII")
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii")
        except OSError:
            continue
        found += map(int, children.split())
    return found
