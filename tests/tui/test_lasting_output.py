"""Writing to a terminal that is not read, or not there any more."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator

import pytest

from ckptdeck.tui import lasting_output
from ckptdeck.tui.lasting_output import LastingOutput

LOTS = "x" * 1_000_000


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting_output, "STALLED_AFTER", 0.0)


@pytest.fixture
def terminal() -> Iterator[tuple[LastingOutput, int]]:
    """What is written to, and the end where it is read."""
    reader, writer = pty.openpty()
    os.set_blocking(writer, False)
    os.set_blocking(reader, False)
    yield LastingOutput(sys.stderr, writer), reader
    for fd in (reader, writer):
        os.close(fd)


def drain(reader: int) -> bytes:
    taken = b""
    while True:
        try:
            taken += os.read(reader, 65536)
        except BlockingIOError:
            return taken


def test_what_is_read_arrives(terminal: tuple[LastingOutput, int]) -> None:
    output, reader = terminal
    assert output.write("é") == 1
    assert drain(reader) == "é".encode()


def test_who_does_not_read_keeps_nobody_waiting_and_is_painted_for_anew(terminal: tuple[LastingOutput, int]) -> None:
    output, reader = terminal
    taken_up: list[bool] = []
    output.taken_up = lambda: taken_up.append(True)
    output.write(LOTS)
    output.write("lost")
    assert taken_up == []
    before = drain(reader)
    assert 0 < len(before) < len(LOTS)
    output.write("anew")
    assert taken_up == [True]
    assert drain(reader) == b"\x18anew", "a sequence that was cut is ended first"


def test_a_terminal_that_went_away_fails_nobody(terminal: tuple[LastingOutput, int]) -> None:
    _, writer = pty.openpty()
    gone = LastingOutput(sys.stderr, writer)
    os.close(_)
    for _attempt in range(3):
        assert gone.write("x") == 1
    os.close(writer)
