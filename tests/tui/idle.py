"""Waits until a console has done all it has to do, however busy the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

SOON = 1 / 50
"""Seconds: a timer that is due within these is waited for, as the one that paints is."""
MOST_TIMERS = 8
"""How often in a row; the one that paints goes on for ever once a console has ended."""
PATIENCE = 20.0
"""Real seconds after which a console that always has something to do counts as one that never comes to rest."""


async def nothing_to_do(_least: float = 0.0, _most: float = 0.0) -> None:
    """Returns once no task of the loop can go on before somebody presses a key or a timer is due.

    In place of Textual's own `wait_for_idle`, which takes a process that gets no processor for one that is at rest.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    timers = 0
    while True:
        await asyncio.sleep(0)
        if not vars(loop)["_ready"]:
            due = min((timer.when() for timer in vars(loop)["_scheduled"] if not timer.cancelled()), default=deadline)
            if due - loop.time() > SOON or timers == MOST_TIMERS:
                return
            await asyncio.sleep(due - loop.time())
            timers += 1
        assert loop.time() < deadline, "the console never comes to rest"


@contextmanager
def waiting_for_it_to_rest() -> Iterator[None]:
    """Textual's pilot waits like that in the block."""
    with patch("textual.app.wait_for_idle", nothing_to_do), patch("textual.pilot.wait_for_idle", nothing_to_do):
        yield
