"""What the console takes from its surroundings, gathered once so that tests can say otherwise."""

from __future__ import annotations

import locale
import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import tzinfo

from textual.driver import Driver

from ckptdeck.core.values import dataclass
from ckptdeck.tui.key_map import AS_BUILT, KeyMap
from ckptdeck.tui.lasting_input import LastingDriver

LOCAL_POLL = 0.2
REMOTE_POLL = 0.5
"""Seconds between two looks at the engine's snapshot; over SSH every painted line travels."""


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How one console runs."""

    read_only: bool = False
    start_locked: bool = True
    bell: bool = True
    """New trouble rings."""
    ascii: bool = False
    """The terminal shows nothing but ASCII."""
    no_colour: bool = False
    poll: float = LOCAL_POLL
    zone: tzinfo | None = None
    """The zone times are shown in; None for the local one."""
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    terminal_alive: Callable[[], bool] = lambda: True
    """False once nobody can see the console any more."""
    driver: type[Driver] | None = None
    """What reads the terminal's keys; None for Textual's own choice."""
    keys: KeyMap = AS_BUILT
    """What the operator's file puts in the place of the registry's keys."""
    follow_signals: bool = False
    """Whether TERM, HUP and INT end the console in order; only the main thread may ask for that."""


def settings_for(
    environment: Mapping[str, str], *, read_only: bool, start_locked: bool, bell: bool, keys: KeyMap
) -> ConsoleSettings:
    """The settings of a real console in this environment."""
    encoding = locale.getpreferredencoding(False).lower().replace("-", "")
    return ConsoleSettings(
        read_only=read_only,
        start_locked=start_locked,
        bell=bell,
        keys=keys,
        ascii=bool(environment.get("CKPTDECK_ASCII")) or encoding != "utf8",
        no_colour="NO_COLOR" in environment,
        poll=REMOTE_POLL if environment.get("SSH_CONNECTION") else LOCAL_POLL,
        terminal_alive=_terminal_alive,
        driver=LastingDriver,
        follow_signals=True,
    )


def _terminal_alive() -> bool:
    return sys.__stdin__ is not None and os.isatty(sys.__stdin__.fileno())
