"""`ckptdeck demo`: the console on a made-up run that is really there, and nothing left behind afterwards.

Without a terminal the run saves once more and its status is printed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from ckptdeck.core.errors import ItemFailed, UsageError, describe_os_error, from_os_error
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.values import dataclass
from ckptdeck.demo.place import let_go, make_place, remove_leftovers
from ckptdeck.demo.scene import STEP_INTERVAL, Scene, build_scene
from ckptdeck.monitor.host import this_host

SMALLEST, LARGEST = 100_000, 1_000_000_000
"""Bytes one checkpoint may be asked to have; the scene holds about 25 of them."""
_FINDINGS = 1
_PATIENCE = 5.0  # seconds between asking the trainer to end and insisting


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What a person may ask for."""

    keep: bool = False
    """Leave the files and print where they are."""
    interval: float = 8.0
    """Seconds between two saves of the pretended run."""
    size: int = 3_500_000
    """Bytes of one checkpoint, about."""
    as_json: bool = False
    """Without a terminal: the status as its JSON document."""

    def __post_init__(self) -> None:
        if not SMALLEST <= self.size <= LARGEST:
            raise UsageError(
                f"A checkpoint of {self.size} bytes cannot be made here",
                next_step=f"Give a --size between {SMALLEST} and {LARGEST} bytes",
            )
        if not 0.1 <= self.interval <= 86400:
            raise UsageError(
                f"A run cannot save every {self.interval:g} s", next_step="Give an --interval of 0.1 to 86400 seconds"
            )


def run(options: DemoOptions, *, terminal: bool | None = None) -> int:
    """Builds the scene, shows it, and cleans up whatever happens; the exit code.

    `terminal` tells whether a console can be opened (None: look). Raises CkptdeckError, mostly when there is no
    room; SIGTERM and SIGHUP become SystemExit, ctrl-c stays KeyboardInterrupt, both after the cleaning.
    """
    if terminal is None:
        terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    with _signals_end_it():
        remove_leftovers()
        try:
            directory, lock = make_place()
        except OSError as error:
            raise from_os_error(error, f"Making a directory in {visible(tempfile.gettempdir())}") from error
        builder = os.getpid()
        try:
            scene = _build(directory, options.size)
            return _open_console(scene, options) if terminal else _print_status(scene, options)
        finally:
            if os.getpid() == builder:  # the console works in a child, and errors are raised there (stand_in.py)
                with _undisturbed():
                    _leave(directory, keep=options.keep)
                    os.close(lock)


def _build(directory: str, size: int) -> Scene:
    try:
        return build_scene(this_host(), directory, size)
    except OSError as error:
        raise from_os_error(error, f"Building the demo in {visible(directory)}") from error


def _open_console(scene: Scene, options: DemoOptions) -> int:
    from ckptdeck.cli.main import main

    # How somebody turns a demo is not how they look at their own runs.
    os.environ["XDG_STATE_HOME"] = os.path.join(os.path.dirname(scene.primary), "state")
    with _trainer(scene, options.interval):
        return main(["console", scene.primary, scene.mirror])


def _print_status(scene: Scene, options: DemoOptions) -> int:
    from ckptdeck.cli.main import main

    with _trainer(scene, min(options.interval, 2.0), saves=1) as trainer:
        complaint = "" if trainer.stderr is None else trainer.stderr.read()  # up to its end; its input stays open
        trainer.wait()
    if trainer.returncode != 0:
        raise ItemFailed(f"The pretended run ended with {trainer.returncode}", why=visible(complaint[-2000:].strip()))
    code = main(["status", scene.primary, scene.mirror, *(["--json"] if options.as_json else [])])
    return 0 if code == _FINDINGS else code  # the findings are what the scene was made for


@contextlib.contextmanager
def _trainer(scene: Scene, interval: float, saves: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """The run as another process. It ends with the block, and with us: it sees the pipe close even if we are killed."""
    command = [sys.executable, "-P", "-m", "ckptdeck.demo.trainer", scene.primary, "--until-eof"]
    command += ["--first-step", str(scene.newest_step + STEP_INTERVAL), "--step-interval", str(STEP_INTERVAL)]
    command += ["--interval", str(interval), "--size", str(scene.size)]
    if saves is not None:
        command += ["--saves", str(saves), "--direct-every", "0"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if saves is not None else subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,  # a ctrl-c is for the console alone
    ) as process:
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _leave(directory: str, *, keep: bool) -> None:
    if keep:
        let_go(directory)
        sides = " ".join(shell_word(os.path.join(directory, side)) for side in ("ckpt", "mirror"))
        print(f"Kept: {visible(directory)}. Look again with: ckptdeck console {sides}", file=sys.stderr)
        return
    try:
        shutil.rmtree(directory)
    except OSError as error:
        print(f"Not all of the demo could be removed. {describe_os_error(error, directory)}", file=sys.stderr)


# --- signals

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def _signals_end_it() -> Iterator[None]:
    """Turns the signals into SystemExit (128 + number), so that `finally` runs; ignored ones stay ignored (nohup)."""
    wanted = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, _exit) for number in wanted}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """A second signal does not interrupt the cleaning up."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in (*_ENDING, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
