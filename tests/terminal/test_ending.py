"""However it ends, the terminal is as it was, nothing has a wrong name, and the next start goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.terminal.run import Run
from tests.terminal.screen import CKPTDECK, Screen, processes_naming, wait_until
from tests.terminal.test_acting import demo_of, slow_mirror, verified_rows

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
    again.wait_for(lambda text: "· recovery" in text and "an interrupted copy" in text)
    again.type("U")
    again.wait_for("UNLOCKED")
    again.type("g", "m")
    again.leave_review("y")
    again.type("q")
    again.wait_for(lambda text: verified_rows(text) == 2)
    assert (run.mirror / "step_0100.pt").read_bytes() == (run.primary / "step_0100.pt").read_bytes()
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt"}


IGNORING_HANGUPS = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")


@pytest.mark.parametrize("shell", [(), IGNORING_HANGUPS], ids=["told", "not-told"])
def test_a_closed_terminal_ends_it_with_nothing_under_a_wrong_name(
    run: Run, open_screen: Open, shell: tuple[str, ...]
) -> None:
    screen = slow_mirror(run, open_screen, shell=shell)
    console = screen.pid_of(*run.directories)
    screen.close()
    wait_until(lambda: not Path(f"/proc/{console}").exists())
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt.part"}


def test_a_demo_whose_terminal_is_closed_leaves_nothing_behind(open_screen: Open) -> None:
    screen = open_screen(*CKPTDECK, "demo", "--size", "400kB", "--interval", "1s")
    screen.wait_for("· recovery")
    place = demo_of(screen)
    screen.close()
    wait_until(lambda: not place.exists() and not processes_naming(place))


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_it_can_be_stopped_and_goes_on(run: Run, open_screen: Open, number: int) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    console = screen.pid_of(*run.directories)
    job = (parent_of(console), console)  # what a shell with job control signals; the shell of tmux has none
    tell(job, number)
    wait_until(lambda: all(state_of(pid) == "T" for pid in job))
    assert screen.is_sane() == (number == signal.SIGTSTP)
    tell(job, signal.SIGCONT)
    screen.wait_for("structure-ok")
    # What is typed while the terminal is taken anew may be dropped.
    screen.press_until("q", lambda text: "ENDED " in text)
    assert screen.ended() == 0
    assert screen.is_sane()


def test_closing_the_terminal_of_a_stopped_one_ends_it(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    console = screen.pid_of(*run.directories)
    os.kill(console, signal.SIGTSTP)
    wait_until(lambda: state_of(console) == "T")
    screen.close()
    wait_until(lambda: not Path(f"/proc/{console}").exists())


def tell(job: Iterable[int], number: int) -> None:
    for pid in job:
        os.kill(pid, number)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def state_of(pid: int) -> str:
    """The kernel's letter for what the process does: T when it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_a_primary_that_is_not_there_says_so_and_quits(run: Run, open_screen: Open) -> None:
    screen = open_screen(*CKPTDECK, str(run.primary / "nowhere"), str(run.mirror))
    seen = screen.wait_for("no directory")
    assert "mount" in seen
    screen.type("q")
    assert screen.ended() == 0
    assert screen.is_sane()
