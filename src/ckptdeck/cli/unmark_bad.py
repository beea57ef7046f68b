"""Takes the mark of `mark-bad` back, on both sides. What is on disk is then judged by its hash alone."""

from __future__ import annotations

import argparse

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.mark_bad import change_marks
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="the NAMEs whose content is not bad after all")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    return change_marks(open_session(arguments, terminal, interruption), "unmark-bad")
