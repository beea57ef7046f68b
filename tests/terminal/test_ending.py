"""However it ends, the terminal is as it was, nothing has a wrong name, and the next start goes on."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.terminal.run import Run
from tests.terminal.screen import CKPTDECK, PATIENCE, Screen, processes_naming, wait_until
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


def test_one_that_a_shell_took_the_terminal_from_goes_on_without_a_line_s_end(run: Run, open_screen: Open) -> None:
    """A shell with job control reads whole lines while the job is stopped, and both read what is typed."""
    run.save_directly(50)
    screen = open_screen("env", "PS1=READY ", "bash", "--norc", "--noediting", "-i")
    screen.wait_for("READY")
    screen.type(shlex.join((*CKPTDECK, *run.directories)), "Enter")
    screen.wait_for("structure-ok")
    console = screen.pid_of(*run.directories)
    os.kill(parent_of(console), signal.SIGSTOP)  # its child goes on, and reads
    screen.wait_for("Stopped")
    # The first word may be the console's, which stops when it reads in the background.
    screen.press_until("Enter", lambda _: state_of(console) == "T")
    screen.type("fg", "Enter")
    screen.wait_for(lambda text: "structure-ok" in text and "fg" not in text)
    screen.press_until("q", lambda text: "READY" in text)
    assert screen.is_sane()


def test_a_burst_of_going_on_keeps_nobody_waiting(run: Run, open_screen: Open) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    console = screen.pid_of(*run.directories)
    before = time.monotonic()
    for _ in range(300):
        os.kill(console, signal.SIGCONT)
        time.sleep(0.002)  # as one, they would be one signal
    screen.press_until("q", lambda text: "ENDED " in text)
    assert screen.ended() == 0
    assert time.monotonic() - before < PATIENCE / 4
    assert screen.is_sane()


def test_a_home_that_hangs_keeps_nobody_waiting(run: Run, open_screen: Open, tmp_path: Path) -> None:
    """Pipes that nobody reads or writes, in place of files on a mount that does not answer."""
    run.save_directly(50)
    for name in ("view.json", "view.json.part"):
        (tmp_path / "state" / "ckptdeck").mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / "state" / "ckptdeck" / name)
    screen = open_screen(*CKPTDECK, *run.directories, XDG_STATE_HOME=str(tmp_path / "state"))
    screen.wait_for("structure-ok")
    console = screen.pid_of(*run.directories)
    screen.type("T", "q")
    assert screen.ended() == 0
    wait_until(lambda: not Path(f"/proc/{console}").exists())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_one_leaves_the_terminal_sane(run: Run, open_screen: Open, number: int) -> None:
    run.save_directly(50)
    screen = open_screen(*CKPTDECK, *run.directories)
    screen.wait_for("structure-ok")
    assert not screen.is_sane()
    os.kill(screen.pid_of(*run.directories), number)
    assert screen.ended() == 128 + number
    assert screen.is_sane()
    assert "final name" in screen.text()


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
