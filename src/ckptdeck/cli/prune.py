"""Deletes what the retention does not keep, on both sides together, guarded: nothing goes that is in doubt.

The retention is the policy's, or what the options say. A plan that takes more than half of a side needs
`--confirm-count N` with its number, also with --yes.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--keep-last", metavar="N", help="keep the newest N whole steps (1 or more)")
    parser.add_argument("--keep-every", metavar="K", help="also keep every step that is a multiple of K")
    parser.add_argument("--keep-best", metavar="M:METRIC[:max]", help="also keep the best M by a recorded metric")
    parser.add_argument(
        "--confirm-count", metavar="N", type=int, help="confirm a plan that deletes more than half of a side"
    )
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    chosen = {key: getattr(arguments, key.replace("-", "_")) for key in ("keep-last", "keep-every", "keep-best")}
    options = {key: value for key, value in chosen.items() if value is not None}
    return run_action(session, arguments, options, confirmed_count=arguments.confirm_count)
