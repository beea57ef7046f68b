"""How long the disks will do: how many more saves fit, when they are full, what a retention needs, what a prune frees.

What is assumed can be said: the retention, the time between two saves, the size of one, the steps that are left. The
table then answers as if it were so, for that N and for those around it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.findings import volume_code
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import open_session
from ckptdeck.cli.space_json import space_document
from ckptdeck.cli.space_text import space_lines
from ckptdeck.cli.terminal import Terminal
from ckptdeck.cli.text import paint_for
from ckptdeck.core.errors import UsageError
from ckptdeck.core.notation import parse_age, parse_size
from ckptdeck.core.outlook import Outlook, WhatIf, largest_keep, look_ahead
from ckptdeck.core.samples import Sample
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.space_samples import read_samples

_AROUND = (1, 3, 6, 12, 24, 48)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--keep-last", metavar="N", type=int, help="as if the retention kept the newest N")
    parser.add_argument("--every", metavar="TIME", help="as if there were a save every 30m")
    parser.add_argument("--size", metavar="SIZE", help="as if a save took 2.47GB")
    parser.add_argument("--steps-left", metavar="N", type=int, help="training steps until the run ends")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    what_if = _what_if(arguments)
    session = open_session(arguments, terminal, interruption)
    survey = session.look()
    samples = read_samples(session.host, survey)
    outlooks = look_ahead(survey, samples, what_if)
    retentions = list(_retentions(survey, samples, what_if, outlooks))
    terminal.document(space_document(survey, outlooks, retentions))
    for line in space_lines(survey, outlooks, retentions, what_if, paint_for(terminal)):
        terminal.say(line)
    return volume_code(survey)


def _what_if(arguments: argparse.Namespace) -> WhatIf:
    for name in ("keep_last", "steps_left"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value} is not 1 or more")
    interval = None if arguments.every is None else parse_age(arguments.every)
    size = None if arguments.size is None else parse_size(arguments.size)
    if size == 0 or interval == 0:
        raise UsageError("A save takes bytes and time", next_step="Write --size 2.47GB, --every 30m")
    return WhatIf(arguments.keep_last, interval, size, arguments.steps_left)


def _retentions(
    survey: Survey,
    samples: Mapping[Role, tuple[Sample, ...]],
    what_if: WhatIf,
    outlooks: Mapping[Role, Outlook],
) -> Iterator[tuple[int, Mapping[Role, Outlook]]]:
    """The same question for the retention asked about, the largest that fits, and a few beside."""
    asked = next((one.keep_last for one in outlooks.values()), survey.policy.keep_last)
    most = largest_keep(outlooks)
    worth_a_row = {most} if most and most < 10 * max(asked, *_AROUND) else set()
    for keep_last in sorted({*_AROUND, asked} | worth_a_row):
        yield keep_last, look_ahead(survey, samples, replace(what_if, keep_last=keep_last))
