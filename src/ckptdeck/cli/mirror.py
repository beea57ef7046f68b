"""Copies to the mirror what the retention keeps and the mirror lacks, newest first, each copy read back and proven.

Without names only what the retention keeps; `--all` or names override that. Candidates are proven in the act and
recorded on both sides. Nothing is ever deleted.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.checkpoint_set import from_condition
from ckptdeck.core.errors import UsageError
from ckptdeck.core.states import Condition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="NAMEs of checkpoints, by default what the retention keeps")
    parser.add_argument("--all", action="store_true", help="everything the mirror lacks, whatever the retention says")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="also where both are whole and differ: the mirror's goes to quarantine once the new copy is proven",
    )
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    if session.pair.mirror is None:
        if session.pair.primary.condition not in (Condition.OK, Condition.UNINITIALISED):
            raise from_condition(session.pair.primary)  # its pairing cannot be read
        raise UsageError(
            "There is no mirror",
            why="Only one directory was given, and the primary is paired with none",
            next_step=f"Give a second directory, or pair one: `ckptdeck init {session.directories()} MIRROR`",
        )
    chosen = {"all": arguments.all, "replace": arguments.replace}
    return run_action(session, arguments, {key: "true" for key, value in chosen.items() if value})
