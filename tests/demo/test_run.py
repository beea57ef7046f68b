"""The whole demo as a process of its own: what it prints, and that it leaves nothing behind however it ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ckptdeck.core.errors import NoSpace, UsageError
from ckptdeck.core.host import Host
from ckptdeck.demo.run import LARGEST, SMALLEST, DemoOptions, run
from ckptdeck.demo.scene import Scene
from tests.demo.waiting import wait_until

PROGRAM = "import sys; from ckptdeck.cli.main import main; sys.exit(main(sys.argv[1:]))"
COMMAND = [sys.executable, "-P", "-c", PROGRAM, "demo", "--size", "200kB"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the demo makes its directory."""
    place = tmp_path / "place with a blank"
    place.mkdir()
    return place


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(place), "XDG_CONFIG_HOME": str(place.parent), "TERM": "xterm-256color"}


def run_demo(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--interval", "0.2s", *options],
        env=environment(place),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_terminal_it_saves_once_prints_the_status_and_is_gone(place: Path) -> None:
    done = run_demo(place)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert any(line.startswith("750 ") for line in lines), "the trainer saved one more step"
    assert any("TRUNCATED" in line for line in lines)
    assert os.listdir(place) == []


def test_keep_leaves_the_files_and_says_where_and_json_is_that_of_status(place: Path) -> None:
    done = run_demo(place, "--keep", "--json")
    (kept,) = place.iterdir()
    assert done.returncode == 0
    assert f"Kept: {kept}. Look again with: ckptdeck console '{kept}/ckpt' '{kept}/mirror'" in done.stderr
    assert (kept / "ckpt" / "step_0750.pt").exists()
    document = json.loads(done.stdout)
    assert document["schema"] == "ckptdeck.status/1"
    assert [step["step"] for step in document["steps"][:2]] == [750, 700]


def test_no_room_is_said_and_nothing_is_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_up(_host: Host, directory: str, _size: int) -> Scene:
        Path(directory, "ckpt").mkdir()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr("ckptdeck.demo.run.build_scene", fill_up)
    with pytest.raises(NoSpace, match="Building the demo"):
        run(DemoOptions(), terminal=False)
    assert os.listdir(place) == []


@pytest.mark.parametrize("size", [SMALLEST - 1, LARGEST + 1])
def test_sizes_that_make_no_sense_are_refused(size: int) -> None:
    with pytest.raises(UsageError, match="--size"):
        DemoOptions(size=size)


@pytest.mark.parametrize("interval", [0.0, -1.0, float("nan")])
def test_intervals_that_make_no_sense_are_refused(interval: float) -> None:
    with pytest.raises(UsageError, match="--interval"):
        DemoOptions(interval=interval)


# --- with a terminal


class Console:
    """The demo with a terminal of its own, and all that it has painted."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.set_blocking(self._terminal, False)
        self.process = psutil.Popen(
            [*COMMAND, "--interval", "1000s"], env=environment(place), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        self._painted = b""

    def painted(self) -> bytes:
        with contextlib.suppress(OSError):  # nothing there at the moment, or the other end is closed
            while chunk := os.read(self._terminal, 65536):
                self._painted += chunk
        return self._painted

    def shows_a_save(self) -> bool:
        """The console is painted and the trainer is in the middle of a save."""
        parts = self._place.glob("*/ckpt/step_0750.pt.part")
        return b"RESUME" in self.painted() and any(part.stat().st_size for part in parts)

    @property
    def trainer(self) -> psutil.Process:
        children = self.process.children()
        (found,) = (child for child in children if "ckptdeck.demo.trainer" in child.cmdline())
        return found

    def has_ended(self) -> bool:
        self.painted()
        return self.process.poll() is not None

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._terminal)


@pytest.fixture
def console(place: Path) -> Iterator[Console]:
    console = Console(place)
    yield console
    console.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(place: Path, console: Console, number: signal.Signals) -> None:
    wait_until(console.shows_a_save)
    trainer = console.trainer
    console.process.send_signal(number)
    wait_until(console.has_ended)
    assert console.process.returncode == 128 + number
    assert os.listdir(place) == []
    assert not trainer.is_running()
    assert b"\x1b[?1049l" in console.painted(), "the terminal got its own screen back"


def test_ctrl_c_while_the_scene_is_built_ends_everything(place: Path, console: Console) -> None:
    wait_until(lambda: os.listdir(place))
    console.process.send_signal(signal.SIGINT)
    wait_until(console.has_ended)
    assert console.process.returncode == 130
    assert os.listdir(place) == []


def users_of(directory: Path) -> Iterator[psutil.Process]:
    """Who names it, or something in it, on the command line."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(word.startswith(str(directory)) for word in process.cmdline()):
                yield process


def test_a_demo_that_runs_and_one_that_was_kept_lose_nothing(place: Path, console: Console) -> None:
    assert run_demo(place, "--keep").returncode == 0
    wait_until(console.shows_a_save)
    both = set(place.iterdir())
    assert len(both) == 2
    assert run_demo(place).returncode == 0
    assert set(place.iterdir()) == both


def test_the_trainer_does_not_outlive_a_killed_console(place: Path, console: Console) -> None:
    wait_until(console.shows_a_save)
    trainer = console.trainer
    console.process.kill()
    wait_until(console.has_ended)
    wait_until(lambda: not trainer.is_running())
    assert not list(place.glob("*/ckpt/*750*")), "what it was saving has no name"
    (left,) = place.iterdir()
    others = {place / "ckptdeck-demo-of-others", place / "mine"}
    for other in others:
        (other / "ckpt").mkdir(parents=True)
    (place / "ckptdeck-demo-link").symlink_to(place / "mine")
    wait_until(lambda: not any("ckptdeck" in str(process.cmdline()) for process in users_of(left)))
    assert run_demo(place).returncode == 0
    assert set(place.iterdir()) == {*others, place / "ckptdeck-demo-link"}
