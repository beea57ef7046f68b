"""The console: both sides live, look-only until unlocked. Also: `ckptdeck DIR [DIR]`."""

from __future__ import annotations

import argparse
import logging
import os
import signal

from ckptdeck.cli.arguments import Selection, add_selection, is_directory_word, select
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.monitor.desk import answer_within
from ckptdeck.monitor.stand_in import run_in_child
from ckptdeck.monitor.user_config import UserConfig, default_path, named_path, read_user_config

_LOOK_FOR = 3.0
"""Seconds that directories get to say what they are, and the user's file to be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--read-only", action="store_true", help="no actions at all")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")


def run(arguments: argparse.Namespace, terminal: Terminal, _interruption: Interruption) -> int:
    _require_terminal(terminal, instead=" ".join(["ckptdeck", "status", *map(shell_word, arguments.words)]))
    # The screen belongs to the console: what the core warns of must not be written over it.
    logging.getLogger("ckptdeck").addHandler(logging.NullHandler())

    def open_console() -> int:
        user = _settings_in_time(arguments)
        selection = _select_in_time(arguments)

        from ckptdeck.monitor.engine import LiveEngine
        from ckptdeck.monitor.host import this_host
        from ckptdeck.tui.rebinding import key_map_of
        from ckptdeck.tui.run import run_console

        keys = key_map_of(dict(user.keys), user.path or "")
        engine = LiveEngine(this_host(), selection.primary, selection.mirror, keep_samples=not arguments.read_only)
        return run_console(
            engine,
            read_only=arguments.read_only,
            mouse=user.mouse and not arguments.no_mouse,
            start_locked=user.start_locked,
            theme=user.theme,
            bell=user.bell,
            keys=keys,
        )

    from ckptdeck.tui.left_terminal import remember_terminal

    give_back = remember_terminal()

    def lost(code: int) -> None:
        give_back()
        terminal.complain(
            f"The console was ended by {_signal_name(code)} and could not say what its jobs were doing. Nothing "
            "unfinished has a final name; the next start offers to go on."
        )

    return run_in_child(open_console, lost)


def _signal_name(code: int) -> str:
    """What ended a process with this exit code, for people."""
    try:
        return signal.Signals(code - 128).name
    except ValueError:
        return f"signal {code - 128}"


def _settings_in_time(arguments: argparse.Namespace) -> UserConfig:
    """The user's file, looked at for a moment only: their home may hang. Then the defaults, unless it is needed to know
    what to show."""
    try:
        return answer_within(_LOOK_FOR, lambda: read_user_config(arguments.config, os.environ))
    except TimeoutError as error:
        path = named_path(arguments.config, os.environ)
        if path is None and (arguments.primary or any(map(is_directory_word, arguments.words))):
            return UserConfig()
        raise UsageError(
            f"The configuration file does not answer: {visible(path or default_path(os.environ))}",
            next_step="Look at its mount, or name the directories and no configuration file",
        ) from error


def _select_in_time(arguments: argparse.Namespace) -> Selection:
    """What was named, looked at for a moment only: a mount that hangs is for the console to show."""
    try:
        return answer_within(_LOOK_FOR, lambda: select(arguments, FileSystem(), os.environ))
    except TimeoutError:
        return select(arguments, FileSystem(), os.environ, look=False)


def _require_terminal(terminal: Terminal, *, instead: str) -> None:
    if not terminal.as_json and terminal.stdin.isatty() and terminal.stdout.isatty() and terminal.stderr.isatty():
        return
    raise UsageError(
        "The console needs a terminal",
        why="--json asks for a document"
        if terminal.as_json
        else "stdin, stdout or stderr (where it paints) is not one",
        next_step=f"In a script use `{instead}`, with --json for programs",
    )
