"""Records checkpoints that have no record: their structure is checked, both sides are compared, then they are hashed.

Twins that differ are recorded on no side until `adopt NAME --side SIDE` says which one is right.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.states import Role


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="NAMEs of checkpoints, by default every one without a record")
    parser.add_argument("--replace", action="store_true", help="also those that `changed` since they were recorded")
    parser.add_argument("--side", choices=[role.value for role in Role], help="which side is right where they differ")
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    options = {"replace": "true"} if arguments.replace else {}
    if arguments.side is not None:
        options["side"] = arguments.side
    return run_action(session, arguments, options)
