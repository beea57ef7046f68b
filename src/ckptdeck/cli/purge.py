"""Takes what is in quarantine apart, for good: the given ids, or all of it, or what is older than an age."""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="IDs in quarantine (see `ckptdeck quarantined`), by default all")
    parser.add_argument("--older-than", metavar="AGE", help="only what was set aside longer ago, such as 7d")
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    options = {} if arguments.older_than is None else {"older-than": arguments.older_than}
    return run_action(open_session(arguments, terminal, interruption), arguments, options)
