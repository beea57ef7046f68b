"""Work in a child: its code, its signals, and an end that waits for no thread of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.monitor.making import GUARD

PRELUDE = """
import os, signal, sys, time, threading
from ckptdeck.monitor import stand_in
def ready():
    os.write(1, f"{os.getpid()}\\n".encode())
"""


@contextmanager
def started(work: str, patience: float = GUARD) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that stands in for `work`, and the process id that `work` told."""
    given = f"stand_in._PATIENCE = {patience}\n"
    program = f"{PRELUDE}{given}def work():\n    ready()\n    {work}\nsys.exit(stand_in.run_in_child(work))\n"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process, child
        finally:
            for pid in (process.pid, child):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("return 0", 0),
        ("return 143", 143),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), 9)", 137),
        ("raise SystemExit(5)", 5),
    ],
)
def test_the_code_is_that_of_the_work_however_it_ends(work: str, code: int) -> None:
    with started(work) as (process, child):
        assert process.wait(GUARD) == code
        assert child != process.pid


@pytest.mark.parametrize(
    ("work", "lost"),
    [("return 143", []), ("os._exit(143)", []), ("os.kill(os.getpid(), signal.SIGSEGV)", [139])],
)
def test_who_stands_in_is_told_only_of_work_that_was_killed(work: str, lost: list[int]) -> None:
    program = f"{PRELUDE}def work():\n    {work}\nstand_in.run_in_child(work, lambda code: print(code))\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=GUARD, check=True)
    assert [int(line) for line in done.stdout.split()] == lost


def test_a_signal_reaches_the_work() -> None:
    with started("signal.signal(signal.SIGTERM, lambda *_: os._exit(99)); ready(); time.sleep(60)") as (process, _):
        assert process.stdout is not None
        process.stdout.readline()  # it listens now
        process.terminate()
        assert process.wait(GUARD) == 99


def test_a_signal_that_comes_before_anybody_listens_reaches_the_work() -> None:
    """The one who stands in dies of no signal of its own in the moment after the fork."""
    told_at_once = """
born = os.fork
def fork():
    child = born()
    if child:
        os.kill(os.getpid(), signal.SIGTERM)
    return child
os.fork = fork
"""
    program = f"{PRELUDE}{told_at_once}sys.exit(stand_in.run_in_child(lambda: time.sleep(60) or 0))\n"
    assert subprocess.run([sys.executable, "-c", program], timeout=GUARD).returncode == 128 + signal.SIGTERM


def test_what_cannot_end_keeps_nobody_waiting() -> None:
    """In place of a thread inside a call that never comes back: an exit that does not."""
    with started("os._exit = lambda code: time.sleep(60); return 3") as (process, child):
        assert process.wait(GUARD) == 3
        assert Path(f"/proc/{child}").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_work_that_says_nothing_when_told_to_end_is_not_waited_for(number: int) -> None:
    """In place of a child that is dead but for a thread inside a call that never comes back."""
    deaf = "; ".join(f"signal.signal({each:d}, signal.SIG_IGN)" for each in (signal.SIGTERM, signal.SIGINT))
    with started(f"{deaf}; ready(); time.sleep(60)", patience=0.1) as (process, _):
        assert process.stdout is not None
        process.stdout.readline()  # it is deaf now
        process.send_signal(number)
        assert process.wait(GUARD) == 128 + number


def test_the_work_ends_with_who_stands_in_for_it() -> None:
    with started("time.sleep(60)") as (process, child):
        process.kill()
        process.wait(GUARD)
        deadline = time.monotonic() + GUARD
        while Path(f"/proc/{child}").exists() and state_of(child) != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
