"""Lists what is in quarantine on both sides: id, name, size, since when and why."""

from __future__ import annotations

import argparse

from ckptdeck.cli import json_output
from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import counted, moment_text, size_text
from ckptdeck.core.safe_text import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    survey = open_session(arguments, terminal, interruption).look()
    terminal.document(json_output.quarantined_document(survey))
    total = 0
    for side in survey.sides:
        for one in side.inventory.quarantine:
            total += 1
            terminal.say(
                f"{one.id}  {side.role}  {visible(one.name)}  {size_text(one.size)}  {moment_text(one.at)}  "
                f"{visible(one.reason)}"
            )
    if not total:
        terminal.say("nothing is in quarantine")
    else:
        terminal.say(
            f"{counted(total, 'artifact')}; `ckptdeck purge ID` frees one for good, "
            "`ckptdeck restore --from-quarantine ID` puts one back"
        )
    return 0
