"""Sets bad copies aside by one rename each. It frees nothing until `ckptdeck purge`.

Without names: every bad copy and every stale leftover. With --side and names: those copies of that side, whatever
their state, unless a guard protects them.
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
    add_selection(parser, names="NAMEs of checkpoints, by default everything bad or stale")
    parser.add_argument("--side", choices=[role.value for role in Role], help="only there, and good copies too")
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    options = {} if arguments.side is None else {"side": arguments.side}
    return run_action(open_session(arguments, terminal, interruption), arguments, options)
