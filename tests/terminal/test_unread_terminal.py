"""Nobody reads what the console paints, or the terminal has no size: TERM ends it all the same."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.terminal.pseudo import Pseudo, open_pseudo
from tests.terminal.run import Run
from tests.terminal.screen import CKPTDECK, read_the_question, wait_until


def test_a_terminal_that_is_not_read_keeps_neither_jobs_nor_the_end_waiting(run: Run, tmp_path: Path) -> None:
    run.save_directly(50)
    run.record_and_mirror()
    run.save_directly(100, 24_000_000)
    run.limit_rate("1MB/s")
    with open_pseudo(*CKPTDECK, *run.directories, home=str(tmp_path)) as terminal:
        terminal.wait_for("structure-ok")
        terminal.type("U")
        terminal.wait_for("UNLOCKED")
        terminal.type("gm")
        terminal.wait_for("Do it")
        read_the_question()
        terminal.type("y")
        wait_until((run.mirror / "step_0100.pt.part").exists)
        press_until(terminal, "T", lambda: terminal.is_full)  # from here on nobody reads
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 143
    assert run.on_mirror() == {"step_0050.pt", "step_0100.pt.part"}


def press_until(terminal: Pseudo, keys: str, there: Callable[[], bool]) -> None:
    def is_there() -> bool:
        if not there():
            terminal.type(keys)
            return False
        return True

    wait_until(is_there)


def test_a_terminal_without_a_size_gets_one(run: Run, tmp_path: Path) -> None:
    run.save_directly(50)
    with open_pseudo(*CKPTDECK, *run.directories, rows=0, columns=0, home=str(tmp_path)) as terminal:
        terminal.wait_for("structure-ok")
        painted = len(terminal.seen)
        assert painted < 100_000, "it is not painted again and again"
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 143
