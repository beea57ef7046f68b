"""Replaces a bad copy from the whole side.

The new copy is staged and proven first; then the bad one goes to quarantine and the new one gets the name.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli.action import run_action
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="NAMEs of checkpoints, by default every one with a bad and a whole copy")
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    return run_action(open_session(arguments, terminal, interruption), arguments, {})
