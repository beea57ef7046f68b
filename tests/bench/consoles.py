"""Consoles to be measured: in a pseudo terminal as a person has them, and beside a clock in their own loop."""

from __future__ import annotations

import asyncio
import os
import select
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ckptdeck.monitor.engine import LiveEngine
from ckptdeck.monitor.host import this_host
from ckptdeck.monitor.view_state import ViewState
from ckptdeck.tui.app import ConsoleApp
from ckptdeck.tui.collecting import only_young_objects
from ckptdeck.tui.settings import ConsoleSettings
from tests.soak.figures import read_process
from tests.terminal.pseudo import Pseudo, open_pseudo
from tests.terminal.screen import CKPTDECK

_BARE = (
    "from textual.app import App; from textual.widgets import Static; "
    "type('Bare', (App,), {'compose': lambda self: [Static('bare and ready')]})().run()"
)
"""The least a Textual application can be."""
_INSTALLED = ("env", "-u", "PYTHONDONTWRITEBYTECODE")
"""Compiled modules are kept, as an installation does: else ours alone would be compiled at each start."""
_TICK = 0.005


@contextmanager
def bare_app(home: Path) -> Iterator[Pseudo]:
    """After its first paint."""
    with open_pseudo(*_INSTALLED, sys.executable, "-c", _BARE, home=str(home)) as terminal:
        terminal.wait_for("bare and ready", between=0.002)
        yield terminal


@contextmanager
def console(primary: str, mirror: str, home: Path, seen: str) -> Iterator[Pseudo]:
    """Once `seen` is on its screen."""
    with open_pseudo(*_INSTALLED, *CKPTDECK, primary, mirror, home=str(home)) as terminal:
        terminal.wait_for(seen, between=0.002)
        yield terminal


def key_to_frame(terminal: Pseudo, keys: str) -> float:
    """Median seconds from a key to the first that is painted for it."""
    times = []
    for key in keys:
        terminal.read_for(0.3)  # what the second paints is over
        started = time.perf_counter()
        terminal.type(key)
        select.select([terminal.reader], [], [], 5.0)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def idle_share(terminal: Pseudo, seconds: float) -> float:
    """Percent of one core that the process and its children use while nothing happens."""
    terminal.read_for(3.0)
    before, started = _cpu(terminal), time.monotonic()
    terminal.read_for(seconds)
    return 100 * (_cpu(terminal) - before) / (time.monotonic() - started)


def _cpu(terminal: Pseudo) -> float:
    pid = terminal.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return sum(read_process(one, 0.0).cpu for one in (pid, *map(int, children)))


class Lags:
    """How late a clock of 5 ms rings in a loop, in seconds."""

    def __init__(self) -> None:
        self._late: list[float] = []

    async def ring(self) -> None:
        while True:
            due = time.perf_counter() + _TICK
            await asyncio.sleep(_TICK)
            self._late.append(time.perf_counter() - due)

    def take(self) -> float:
        """The 95th percentile since it was last asked."""
        late, self._late = sorted(self._late), []
        return late[int(len(late) * 0.95)]


def lags(primary: str, mirror: str, busy: Callable[[LiveEngine], bool], begin: Callable[[LiveEngine], object]) -> float:
    """The lag of a console's loop from `begin`, when the first survey is there, for as long as `busy` is true.

    With a `begin` that does nothing and a `busy` that is true before the survey: during the first survey.
    """

    async def run() -> float:
        engine = LiveEngine(this_host(), primary, mirror, keep_samples=False)
        app = ConsoleApp(engine, ConsoleSettings(), ViewState())
        lag = Lags()
        async with app.run_test(size=(120, 40)):
            clock = asyncio.create_task(lag.ring())
            while engine.snapshot().survey is None:
                await asyncio.sleep(_TICK)
            if begin is not during_the_survey:
                await asyncio.sleep(2.0)
                lag.take()
                begin(engine)
                await asyncio.sleep(0.1)
                while busy(engine):
                    await asyncio.sleep(0.05)
            taken = lag.take()
            clock.cancel()
        return taken

    with only_young_objects():
        return asyncio.run(run())


def during_the_survey(_engine: LiveEngine) -> None:
    """Nothing is begun."""


def large_file(path: Path, size: int) -> None:
    """Bytes that cannot be compressed."""
    with path.open("wb") as file:
        for _ in range(max(1, size >> 20)):
            file.write(os.urandom(1 << 20))
