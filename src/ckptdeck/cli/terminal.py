"""Where a command talks: answers go to stdout, everything else to stderr, questions only to people."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from ckptdeck.core.errors import Refused, from_os_error


class Terminal:
    """The three streams of one command, and how it was asked to use them.

    A reader of stdout that went away (`ckptdeck status | head`) is no error: what was asked for goes on, quietly.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        quiet: bool = False,
        environ: Mapping[str, str] = os.environ,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.stdin = sys.stdin if stdin is None else stdin
        self.stdout = sys.stdout if stdout is None else stdout
        self.stderr = sys.stderr if stderr is None else stderr
        self._backlog = False
        self._colour_wanted = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    @property
    def interactive(self) -> bool:
        """Somebody can be asked: stdin and stderr are terminals."""
        return _is_terminal(self.stdin) and _is_terminal(self.stderr)

    @property
    def answers_to_person(self) -> bool:
        """stdout is read by eyes, not by a program."""
        return _is_terminal(self.stdout)

    @property
    def progress_to_person(self) -> bool:
        return _is_terminal(self.stderr) and not self.quiet and not self.as_json

    @property
    def colour(self) -> bool:
        return self._colour_wanted and not self.as_json and self.answers_to_person

    # --- stdout

    def say(self, line: str = "") -> None:
        """One line of the answer; nothing with --json, whose only answer is the document."""
        if not self.as_json:
            self._write(self.stdout, line + "\n")

    def say_all(self, lines: Iterable[str]) -> None:
        """Many lines of the answer, handed over together."""
        if not self.as_json:
            self._write(self.stdout, "".join(f"{line}\n" for line in lines))

    def say_exactly(self, data: bytes) -> None:
        """Bytes of the answer as they are, for programs that read names."""
        if self.as_json:
            return
        try:
            self.stdout.flush()
            self.stdout.buffer.write(data)
            self.stdout.buffer.flush()
        except BrokenPipeError:
            self._reader_left()

    def document(self, document: Mapping[str, Any]) -> None:
        """The one JSON document of a command."""
        if self.as_json:
            self._write(self.stdout, json.dumps(document, indent=2) + "\n")

    def keep_saying(self, line: str) -> None:
        """One line of an answer that has no end, also with --json. A disk too full for it now may have room later: what
        could not be handed over is tried again with the next line, as far as a buffer holds it."""
        encoding = self.stdout.encoding or "utf-8"
        try:
            self.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            self.stdout.flush()
        except BrokenPipeError:
            self._reader_left()
        except OSError:
            self._backlog = True
        else:
            self._backlog = False

    def flush(self) -> None:
        """Hands over what is still buffered; the last thing a command does."""
        try:
            self.stdout.flush()
        except BrokenPipeError:
            self._reader_left()
        except OSError:
            if not self._backlog:
                raise
            self._reader_left()

    # --- stderr

    def note(self, text: str) -> None:
        """Something good to know, not asked for; silent with --quiet."""
        if not self.quiet:
            self._write(self.stderr, text + "\n")

    def warn(self, text: str) -> None:
        self._write(self.stderr, f"warning: {text}\n")

    def complain(self, text: str) -> None:
        """Why the command failed."""
        self._write(self.stderr, f"ckptdeck: {text}\n")

    def progress_line(self, document: Mapping[str, Any]) -> None:
        """One JSON line of progress."""
        self._write(self.stderr, json.dumps(document) + "\n")

    # --- questions

    def lay_before(self, lines: Iterable[str]) -> None:
        """What a person is about to be asked about; on stderr like the question, also with --quiet."""
        for line in lines:
            self._write(self.stderr, line + "\n")

    def confirm(self, question: str, retry: str) -> None:
        """Asks a person. Raises Refused when there is none, or when the answer is not yes.

        `retry` is the command line that would not have to ask.
        """
        self._require_person(retry)
        self._write(self.stderr, f"{question} [y/N] ")
        answer = self.stdin.readline().strip().lower()
        if answer not in ("y", "yes"):
            raise Refused(
                "Nothing was changed: the answer was not yes",
                guard="not-confirmed",
                next_step="Run the command again when the plan is what you want",
            )

    def confirm_number(self, question: str, number: int, retry: str) -> None:
        """Asks a person for a number. Raises Refused when there is none, or when it is another one."""
        self._require_person(retry)
        self._write(self.stderr, question)
        answer = self.stdin.readline().strip()
        if answer != str(number):
            raise Refused(
                f"Nothing was changed: the number was not {number}",
                guard="not-confirmed",
                next_step="Run the command again when the plan is what you want",
            )

    # --- inside

    def _require_person(self, retry: str) -> None:
        if not self.interactive:
            raise Refused(
                "Nothing was changed: nobody confirmed",
                guard="not-confirmed",
                why="Without --yes a person is asked, and stdin and stderr are not both a terminal",
                next_step=f"Look at the plan with --dry-run, then run `{retry}`",
            )

    def _write(self, stream: TextIO, text: str) -> None:
        encoding = stream.encoding or "utf-8"
        try:
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()
        except BrokenPipeError:
            if stream is self.stdout:
                self._reader_left()
        except OSError as error:
            if stream is self.stdout:
                self._reader_left()
                raise from_os_error(error, "Writing the answer to stdout") from error
            # stderr itself cannot be written to: there is nowhere left to say so, and the exit code still tells

    def _reader_left(self) -> None:
        """Sends further answers nowhere, and keeps the interpreter from complaining about the pipe at exit."""
        self.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
        try:
            descriptor = sys.stdout.fileno()
        except (OSError, ValueError):
            return  # stdout was replaced by something without a descriptor: nothing to redirect
        os.dup2(self.stdout.fileno(), descriptor)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False
