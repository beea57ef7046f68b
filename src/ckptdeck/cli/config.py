"""What is in force for these sets, and where each part of it was read from."""

from __future__ import annotations

import argparse
import os

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.policy import policy_in_force
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.monitor.user_config import UserConfig, default_path, read_user_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    settings = policy_in_force(session.policy)
    path = session.policy_in_force.path
    user = read_user_config(arguments.config, os.environ)
    if user.keys:
        from ckptdeck.tui.rebinding import key_map_of

        key_map_of(dict(user.keys), user.path or "")
    terminal.document(
        {
            "schema": "ckptdeck.config/1",
            "policy": {
                **({"path": None} if path is None else json_name(path, "path")),
                "values": {key: {"value": value, "default": is_default} for key, value, is_default in settings},
            },
            "user": {"path": user.path, **_user_values(user)},
        }
    )
    terminal.say(f"policy: {'built-in defaults, the set has no file' if path is None else visible(path)}")
    _say_table(terminal, [(key, value, "default" if is_default else "set") for key, value, is_default in settings])
    terminal.say()
    shown = visible(user.path) if user.path is not None else f"none (would be {visible(default_path(os.environ))})"
    terminal.say(f"your file: {shown}")
    defaults = _user_values(UserConfig())
    values = _user_values(user)
    _say_table(
        terminal,
        [(key, _word(value), "default" if value == defaults.get(key, ...) else "set") for key, value in values.items()],
    )
    return 0


def _user_values(user: UserConfig) -> dict[str, object]:
    return {
        "primary": user.primary,
        "console.theme": user.theme,
        "console.start_locked": user.start_locked,
        "console.mouse": user.mouse,
        "console.bell": user.bell,
        **{f"keys.{name}": list(keys) for name, keys in user.keys},
    }


def _word(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list):
        return " ".join(map(visible, value))
    return visible(str(value)) if isinstance(value, str) else str(value).lower()


def _say_table(terminal: Terminal, rows: list[tuple[str, str, str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for key, value, origin in rows:
        terminal.say(f"  {key:{widths[0]}}  {visible(value):{widths[1]}}  {origin}".rstrip())
