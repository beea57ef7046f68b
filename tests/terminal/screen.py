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

from ckptdeck.tui.screens.modal import DEAF_FOR

PATIENCE = 40.0
"""Real seconds after which what was waited for counts as not happening; a loaded machine needs a few."""
BETWEEN_LOOKS = 0.05
READING = DEAF_FOR + 0.1
"""Seconds; what is seen has been open for longer than it was waited for here."""
_OF_A_REVIEW = (" plan ", "Cancel", "Do it")
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
        seen = ""

        def is_there() -> bool:
            nonlocal seen
            seen = self.text()
            return what in seen if isinstance(what, str) else what(seen)

        wait_until(is_there, lambda: f"never seen: {what}\n{seen}")
        return seen

    def press_until(self, key: str, there: Callable[[str], bool]) -> str:
        """Presses the key until the screen is as told: where it may be dropped, and does no harm once too often."""

        def is_there(text: str) -> bool:
            if there(text):
                return True
            self.type(key)
            return False

        return self.wait_for(is_there)

    def answer(self, question: str | Callable[[str], bool], key: str, then: str | Callable[[str], bool]) -> str:
        """The screen as it is then, once the question was seen and answered with one press of the key."""
        self.wait_for(question)
        read_the_question()
        self.type(key)
        return self.wait_for(then)

    def leave_review(self, key: str) -> None:
        """Answers a plan review once all of it is there, and waits until nothing of it is left."""
        self.answer(
            lambda text: all(part in text for part in _OF_A_REVIEW),
            key,
            lambda text: not any(part in text for part in _OF_A_REVIEW),
        )

    def ended(self) -> int:
        """Waits for the end and returns the exit code."""
        seen = self.wait_for(lambda text: "ENDED " in text)
        return int(seen.split("ENDED ")[1].split()[0])

    def is_sane(self) -> bool:
        """Neither the alternate screen nor any mouse mode is left on, the cursor is seen, and lines can be typed."""
        flags, terminal = self._ask("#{alternate_on}#{mouse_any_flag}#{cursor_flag} #{pane_tty}").split()
        modes = subprocess.run(["stty", "-a", "-F", terminal], capture_output=True, check=True, text=True).stdout
        return flags == "001" and {"icanon", "echo", "isig", "icrnl"} <= set(modes.replace(";", " ").split())

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", "deck", "-x", str(columns), "-y", str(rows))

    def accept_copies(self) -> None:
        """As terminals do that let programs in them fill the clipboard."""
        self._tmux("set-option", "-s", "set-clipboard", "on")

    def copied(self) -> str:
        """What was handed to the terminal's clipboard last; "" for nothing."""
        done = subprocess.run(self._command("show-buffer"), capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def title(self) -> str:
        return self._ask("#{pane_title}")

    def pid_of(self, *words: str) -> int:
        """The process below the pane whose command line ends with `words`: of a console the child that paints."""
        shell = int(self._ask("#{pane_pid}"))
        for pid in reversed(_descendants(shell)):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
            if line[-len(words) :] == [os.fsencode(word) for word in words] and b"ckptdeck" in line:
                return pid
        raise AssertionError(f"no process ends with {words}")

    def close(self) -> None:
        """The terminal goes away with everything in it."""
        subprocess.run(self._command("kill-server"), capture_output=True, check=False)

    def _ask(self, what: str) -> str:
        return self._tmux("display-message", "-p", "-t", "deck", what).strip()

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(self._command(*words), capture_output=True, check=True, env=clean_environment())
        return done.stdout.decode("utf-8", "replace")

    def _command(self, *words: str) -> list[str]:
        return ["tmux", "-S", str(self.base / "tmux"), *words]


def wait_until(
    there: Callable[[], bool], complaint: Callable[[], str] = lambda: "it never came", between: float = BETWEEN_LOOKS
) -> None:
    """Looks again and again, and fails once PATIENCE is over."""
    deadline = time.monotonic() + PATIENCE
    while not there():
        if time.monotonic() > deadline:
            pytest.fail(complaint())
        time.sleep(between)


def read_the_question() -> None:
    """Lets the moment pass in which a question is deaf that is seen by now: the next key is certain to be meant."""
    time.sleep(READING)


def processes_naming(path: Path) -> set[int]:
    """Every process with the path, or one below it, among its words."""
    found = set()
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if any(Path(os.fsdecode(word)).is_relative_to(path) for word in words):
            found.add(int(line.parent.name))
    return found


def clean_environment() -> dict[str, str]:
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
