"""One console from start to end: what is remembered, the app, and an engine that is stopped whatever happens."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ckptdeck.monitor.desk import answer_within
from ckptdeck.monitor.snapshot import Engine
from ckptdeck.monitor.view_state import ViewState, load_view_state, save_view_state, view_state_path
from ckptdeck.tui import lifecycle
from ckptdeck.tui.app import ConsoleApp
from ckptdeck.tui.collecting import only_young_objects
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.lasting_output import give_it_a_size, lasting_output
from ckptdeck.tui.messages import TakenUp
from ckptdeck.tui.settings import settings_for

Answer = TypeVar("Answer")
_MOMENT = 0.5
"""Seconds that the place of what is remembered gets to answer."""


def run_console(
    engine: Engine,
    *,
    read_only: bool = False,
    mouse: bool = True,
    start_locked: bool = True,
    theme: str | None = None,
    bell: bool = True,
    keys: KeyMap,
) -> int:
    """Runs the console until it is left; its exit code: 0, or 128 and the signal that ended it."""
    path = view_state_path(os.environ)
    state = _in_a_moment(lambda: load_view_state(path), ViewState())
    if theme is not None:
        state = replace(state, theme=theme)
    if os.environ.get("SSH_CONNECTION"):
        os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    give_it_a_size()
    with lasting_output() as output:
        settings = settings_for(os.environ, read_only=read_only, start_locked=start_locked, bell=bell, keys=keys)
        app = ConsoleApp(engine, settings, state)
        if output is not None:
            output.taken_up = lambda: app.post_message(TakenUp())
        try:
            with only_young_objects():
                app.run(mouse=mouse)
        finally:
            engine.stop(lifecycle.STOP_WITHIN)
    if app.view_state != state:
        _in_a_moment(lambda: save_view_state(path, app.view_state), False)
    return app.return_code or 0


def _in_a_moment(question: Callable[[], Answer], otherwise: Answer) -> Answer:
    """The home directory may hang, and how somebody likes to look is not worth waiting for."""
    try:
        return answer_within(_MOMENT, question)
    except TimeoutError:
        return otherwise
