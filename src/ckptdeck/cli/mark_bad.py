"""Declares the recorded content of checkpoints bad, on both sides: a copy of it made again is bad too."""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import carry_out, make_plan
from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import UsageError
from ckptdeck.core.plans.plan import Outcome
from ckptdeck.core.safe_text import json_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="the NAMEs whose content is bad")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    return change_marks(open_session(arguments, terminal, interruption), "mark-bad")


def change_marks(session: Session, action: str) -> int:
    """Changes the mark in the records of the named checkpoints on both sides, at once, and says so."""
    if not session.names:
        raise UsageError("No checkpoint was named", next_step=f"Write `ckptdeck {action} {session.directories()} NAME`")
    result = carry_out(session, make_plan(session, action, {}), confirmed=True)
    sides: dict[str, list[str]] = {name: [] for name in session.names}
    for one in result.results:
        if one.outcome is Outcome.DONE:
            sides.setdefault(one.item.name, []).append(one.item.side.value)
    marks = [{**json_name(name), "sides": changed} for name, changed in sides.items()]
    session.terminal.document({"schema": f"ckptdeck.{action}/1", "checkpoints": marks})
    return result.exit_code
