"""Goes back to STEP: every recorded step above it is set aside on both sides, and saving them again works.

Nothing is moved or deleted; what is set aside is no resume point any more and the first to be pruned.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="the STEP to go back to, in digits")
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    if arguments.only_plan is not None:
        return run_action(session, arguments, {})
    if len(session.names) != 1:
        raise UsageError("One step is gone back to", next_step="Write `ckptdeck rollback PRIMARY MIRROR STEP`")
    unnamed = replace(session, selection=replace(session.selection, names=()))
    return run_action(unnamed, arguments, {"step": session.names[0]})
