"""Both sides, what is being written, the space and the resume point. Hashes nothing.

Writes nothing but a copy of the records of a large set, in the control directory, which makes the next look quicker.

`verified` comes from receipts of earlier hashing. Works on bare directories without `init`, too. `--prometheus FILE`
also writes the figures for node_exporter's textfile collector.
"""

from __future__ import annotations

import argparse
import os

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.findings import exit_code_of
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.cli.text import paint_for, status_lines
from ckptdeck.core.errors import UsageError, from_os_error
from ckptdeck.core.outlook import foresee
from ckptdeck.core.safe_text import visible
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.space_samples import read_samples
from ckptdeck.monitor.trouble import find_trouble


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--prometheus", metavar="FILE", help="also write metrics there, for the textfile collector")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    if arguments.prometheus is not None:
        _require_prom(arguments.prometheus)
    session = open_session(arguments, terminal, interruption)
    survey = session.look_settled()
    survey = foresee(survey, read_samples(session.host, survey))
    if not terminal.as_json:  # whatever becomes of the metrics
        terminal.say_all(status_lines(survey, find_trouble(survey), paint_for(terminal)))
    if arguments.prometheus is not None:
        _write_metrics(session, survey, arguments.prometheus)
    if terminal.as_json:
        from ckptdeck.cli.json_output import status_document

        terminal.document(status_document(survey))
    session.spare_the_next(survey)
    return exit_code_of(survey)


def _require_prom(path: str) -> None:
    if not path.endswith(".prom"):
        raise UsageError(
            f"{visible(path)} does not end with .prom",
            why="The textfile collector reads nothing else",
            next_step="Name the file something.prom, in the collector's directory",
        )


def _write_metrics(session: Session, survey: Survey, path: str) -> None:
    """Whole or not at all: a collector must never read half of it. Raises NoSpace, ItemFailed."""
    from ckptdeck.core.small_file import write_small_file
    from ckptdeck.monitor.prometheus import metrics_text

    directory, name = os.path.split(os.path.abspath(path))
    try:
        write_small_file(session.host.fs, directory, name, metrics_text(survey).encode(), pid=session.host.pid)
    except OSError as error:
        raise from_os_error(error, f"Writing {visible(path)}") from error
