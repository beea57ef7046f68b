"""Opens the console over a fake engine, with a clock that stands still, and reads its screen as text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from typing import Any

from textual.pilot import Pilot

from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.monitor.view_state import ViewState
from ckptdeck.tui.app import ConsoleApp
from ckptdeck.tui.settings import ConsoleSettings
from tests.tui import scenes
from tests.tui.fake_engine import FakeEngine
from tests.tui.idle import waiting_for_it_to_rest

QUIET = 3600.0
"""Seconds between two polls: tests poll by hand."""


class HandClock:
    """A monotonic clock that moves when told to, far past every deaf moment at first."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.step = 1.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


SETTINGS = ConsoleSettings(poll=QUIET, zone=UTC, clock=lambda: scenes.NOW)


class Console:
    """One open console."""

    def __init__(self, app: ConsoleApp, engine: FakeEngine, pilot: Pilot[None]) -> None:
        self.app = app
        self.engine = engine
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def update(self, **changes: Any) -> None:
        """The engine has something new, and the console looks."""
        self.engine.set(**changes)
        self.app.poll()
        await self._pilot.pause()

    async def settle(self) -> None:
        await self._pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)
        await self._pilot.pause()

    async def click(self, selector: str, x: int, y: int) -> None:
        await self._pilot.click(selector, offset=(x, y))
        await self._pilot.pause()

    @property
    def at(self) -> str:
        """The kind of screen on top."""
        return type(self.app.screen).__name__

    @property
    def text(self) -> str:
        """What the terminal shows, line by line, without trailing blanks."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def said(self) -> str:
        """All toasts."""
        return "\n".join(notification.message for notification in self.app._notifications)


@asynccontextmanager
async def open_console(
    snapshot: Snapshot | None = None,
    size: tuple[int, int] = (80, 24),
    *,
    view_state: ViewState | None = None,
    **settings: Any,
) -> AsyncIterator[Console]:
    """An open console after its first paint; `settings` replace those of `SETTINGS`."""
    engine = FakeEngine(scenes.snapshot() if snapshot is None else snapshot)
    chosen = replace(SETTINGS, **{"monotonic": HandClock(), **settings})
    app = ConsoleApp(engine, chosen, view_state or ViewState())
    with waiting_for_it_to_rest():
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            yield Console(app, engine, pilot)
