"""Copies from the mirror back to the primary what is whole there and not here, newest first, pointers last.

Without names: what is missing on the primary. `--newest [N]`: the newest N whole steps, as after a dead disk.
`--from-quarantine ID`: what was set aside gets its name back, if that is free.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="NAMEs of checkpoints, by default what is missing on the primary")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--newest", metavar="N", nargs="?", const="1", help="the newest N whole steps (1)")
    chosen.add_argument("--from-quarantine", metavar="ID", action="append", help="put an artifact back; repeatable")
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    options = {}
    if arguments.newest is not None:
        options["newest"] = arguments.newest
    if arguments.from_quarantine is not None:
        options["from-quarantine"] = " ".join(arguments.from_quarantine)
    return run_action(open_session(arguments, terminal, interruption), arguments, options)
