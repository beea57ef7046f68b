"""Both sides, what is being written, the space and the resume point. Writes nothing and hashes nothing.

`verified` comes from receipts of earlier hashing. Works on bare directories without `init`, too.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.findings import exit_code_of
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.json_output import status_document
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.cli.text import paint_for, status_lines
from ckptdeck.monitor.trouble import find_trouble


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    survey = session.look_settled()
    terminal.document(status_document(survey))
    for line in status_lines(survey, find_trouble(survey), paint_for(terminal)):
        terminal.say(line)
    return exit_code_of(survey)
