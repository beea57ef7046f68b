"""However it ends, the terminal is as it was, nothing has a wrong name, and the next start goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal.run import Run
from tests.terminal.screen import CKPTDECK, Screen
from tests.terminal.test_acting import slow_mirror, verified_rows

Open = Callable[..., Screen]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_in_the_middle_of_a_mirror(run: Run, open_screen: Open, number: int, code: int) -> None:
    screen = slow_mirror(run, open_screen)
    os.kill(screen.pid_of(*run.directories), number)
    assert screen.ended() == code
    assert screen.is_sane()
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt.part"}
    run.limit_rate("900MB/s")
    again = open_screen(*CKPTDECK, *run.directories)
    again.wait_for("structure-ok")
    again.type("U")
    again.wait_for("UNLOCKED")
    again.type("g", "m")
    again.wait_for("Do it")
    again.leave_review("y")
    again.wait_for(lambda text: verified_rows(text) == 2)
    assert (run.mirror / "step_0100.pt").read_bytes() == (run.primary / "step_0100.pt").read_bytes()
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt"}


def test_a_closed_terminal_ends_it_with_nothing_under_a_wrong_name(run: Run, open_screen: Open) -> None:
    screen = slow_mirror(run, open_screen)
    console = Path(f"/proc/{screen.pid_of(*run.directories)}")
    watcher = open_screen("cat")
    screen.close()
    watcher.wait_for(lambda _text: not console.exists())
    assert run.on_mirror() <= {"step_0050.pt", "step_0100.pt.part"}


def test_a_primary_that_is_not_there_says_so_and_quits(run: Run, open_screen: Open) -> None:
    screen = open_screen(*CKPTDECK, str(run.primary / "nowhere"), str(run.mirror))
    seen = screen.wait_for("no directory")
    assert "mount" in seen
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_sane()
