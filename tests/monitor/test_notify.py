"""The notify command: its words, one at a time, and the end of one that does not end."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.monitor.notify import PATIENCE, Notifier
from ckptdeck.monitor.policy_file import read_policy_to_obey
from tests.monitor.making import GUARD, StandingClock
from tests.monitor.pretended import PretendedKernel


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def notifier(clock: StandingClock) -> Iterator[Notifier]:
    made = Notifier(clock, "/data/run", {"PATH": os.environ["PATH"]})
    yield made
    made.close()


def ended(notifier: Notifier) -> None:
    assert notifier._running is not None
    notifier._running.wait(GUARD)


def test_what_happens_while_one_runs_is_told_together_by_the_next(notifier: Notifier, tmp_path: Path) -> None:
    told, gate = tmp_path / "told", tmp_path / "gate"
    os.mkfifo(gate)
    command = f'printf "%s;" "$CKPTDECK_TROUBLE" >> {told}; read _ < {gate}'
    notifier.tell(["one"])
    assert notifier.turn(command, None) == ""
    notifier.tell(["two"])
    notifier.tell(["three"])
    assert notifier.turn(command, None) == ""
    gate.write_text("\n")
    ended(notifier)
    assert notifier.turn(command, None) == ""
    gate.write_text("\n")
    ended(notifier)
    assert notifier.turn(command, None) == ""
    assert told.read_text() == "one;two\nthree;"
    assert notifier._running is None


def test_what_was_told_before_the_command_was_known_is_not_lost(notifier: Notifier, tmp_path: Path) -> None:
    notifier.tell(["one"])
    assert notifier.turn(None, None) == ""
    notifier.turn(f'printf %s "$CKPTDECK_TROUBLE" > {tmp_path / "told"}', None)
    ended(notifier)
    assert (tmp_path / "told").read_text() == "one"


def test_more_than_a_person_reads_is_cut(notifier: Notifier, tmp_path: Path) -> None:
    notifier.tell([f"trouble {number} " + "x" * 5000 for number in range(300)])
    notifier.turn(f'printf %s "$CKPTDECK_TROUBLE" | wc -c > {tmp_path / "told"}', None)
    ended(notifier)
    assert int((tmp_path / "told").read_text()) == 16_000


def test_a_command_that_hangs_is_killed_with_all_that_it_started(
    notifier: Notifier, clock: StandingClock, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    notifier.tell(["one"])
    notifier.turn(f"sleep 1000 & echo $! > {pids}; wait", None)
    child = os.pidfd_open(int(pids.read_text()))
    clock.advance(PATIENCE - 1)
    assert notifier.turn(None, None) == ""
    clock.advance(1)
    assert notifier.turn(None, None) == "the notify command did not end within 30 s and was killed"
    assert select.select([child], [], [], GUARD)[0], "it still runs"
    os.close(child)


def test_what_cannot_be_started_is_said(notifier: Notifier) -> None:
    notifier.tell(["one"])
    assert notifier.turn("true\0false", None).startswith("the notify command cannot be started: ")


# --- whose command it is


def test_a_command_of_somebody_else_is_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "ckptdeck.toml"
    policy.write_text('[watch]\nnotify = "true"\npoll = "7s"\n')
    complaints: list[str] = []
    fs = PretendedKernel(StandingClock())
    assert read_policy_to_obey(fs, str(tmp_path), complaints.append).notify == "true"
    assert complaints == []
    monkeypatch.setattr(os, "geteuid", lambda: policy.stat().st_uid + 1)
    if policy.stat().st_uid == 0:
        os.chown(policy, 12345, -1)
    found = read_policy_to_obey(fs, str(tmp_path), complaints.append)
    assert (found.notify, found.poll) == (None, 7.0)
    assert complaints[0].startswith(f"notify is not run: {policy} belongs to user {policy.stat().st_uid}")


def test_without_a_file_there_is_nothing_to_obey(tmp_path: Path) -> None:
    fs = PretendedKernel(StandingClock())
    for control in (None, str(tmp_path)):
        assert read_policy_to_obey(fs, control, pytest.fail) == DEFAULT_POLICY
