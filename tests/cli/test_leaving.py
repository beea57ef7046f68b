"""A process ends as soon as it has answered, and cuts nothing off."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_LAST_WORDS = "import atexit, sys; from ckptdeck.cli.leaving import leave; {}; leave(7); print('went on')"


def _ended(before: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LAST_WORDS.format(before)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_ends_with_the_code_and_hands_over_what_was_said() -> None:
    done = _ended("print('an answer'); atexit.register(print, 'a last word')")
    assert (done.returncode, done.stdout) == (7, "an answer\na last word\n")


@pytest.mark.parametrize(("daemon", "waits"), [(True, False), (False, True)])
def test_waits_for_a_thread_that_is_to_be_waited_for(daemon: bool, waits: bool) -> None:
    thread = f"import threading; on = threading.Event(); threading.Thread(target=on.wait, args=(5,), daemon={daemon})"
    done = _ended(f"{thread}.start(); atexit.register(on.set); threading._register_atexit(on.set)")
    assert ("went on" in done.stdout) is waits


def test_leaves_it_to_the_interpreter_to_say_what_could_not_be_written() -> None:
    command = [sys.executable, "-c", _LAST_WORDS.format("print('an answer')")]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=buffered)
    assert done.returncode == 120
    assert "No space left" in done.stderr
