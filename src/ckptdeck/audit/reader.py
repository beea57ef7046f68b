"""Reads sources in a process of its own: no source, however it is built, ends or stops the one that asks.

The parser of the interpreter is written in C. It has limits, but no deadline, and nesting has crashed it before.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import asdict
from types import TracebackType

from ckptdeck.audit.examine import LARGEST, examine
from ckptdeck.audit.finding import FileReport, Finding, Silenced

PATIENCE = 30.0
"""Seconds for one file; the largest take a tenth of it."""
_CHUNK = 1 << 16
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from ckptdeck.audit.reader import serve; serve()"


class Reader:
    """A context in which `read` works."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._end()

    def read(self, path: str) -> FileReport:
        """Examines one file. Never raises for what is in it: one that takes too long or ends the process is a note."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(path).encode() + b"\n")
            process.stdin.flush()
            answer = self._answer(process)
        except BrokenPipeError:
            answer = b""
        if answer is None:
            self._end()
            return FileReport(path, note=f"not looked at: it takes longer than {self._patience:g} s")
        if not answer:
            self._end()
            return FileReport(path, note="not looked at: it is too much for this interpreter")
        return _from_json(path, answer)

    def _start(self) -> subprocess.Popen[bytes]:
        """The same interpreter with the same path; `-P`, since the directory the user is in may be somebody else's."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self._process

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """One line; nothing when the process has ended, None when it takes too long."""
        assert process.stdout is not None
        until = time.monotonic() + self._patience
        pieces: list[bytes] = []
        while not (pieces and pieces[-1].endswith(b"\n")):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            piece = os.read(process.stdout.fileno(), _CHUNK)
            if not piece:
                return b""
            pieces.append(piece)
        return b"".join(pieces)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def serve() -> None:
    """The other side: a path per line on stdin, a report per line on stdout."""
    for line in sys.stdin.buffer:
        report = _read_file(json.loads(line))
        sys.stdout.buffer.write(json.dumps(asdict(report)).encode() + b"\n")
        sys.stdout.buffer.flush()


def _read_file(path: str) -> FileReport:
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        return FileReport(path, note=f"cannot be read: {error.strerror}")
    return examine(path, data)


def _from_json(path: str, answer: bytes) -> FileReport:
    document = json.loads(answer)
    return FileReport(
        path,
        tuple(Finding(**finding) for finding in document["findings"]),
        tuple(Silenced(**silenced) for silenced in document["silenced"]),
        document["note"],
    )
