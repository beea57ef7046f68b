"""How long the disks will do: how many more saves fit, when they are full, what a retention needs, what a prune frees.

What is assumed can be said: the retention, the time between two saves, the size of one, the steps that are left. The
table then answers as if it were so, for that N and for those around it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.json_output import outlook_document
from ckptdeck.cli.session import open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import moment_text, size_text, span_text
from ckptdeck.core.errors import UsageError
from ckptdeck.core.notation import parse_age, parse_size
from ckptdeck.core.outlook import Outlook, WhatIf, largest_keep, look_ahead
from ckptdeck.core.safe_text import visible
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
    table = list(_what_ifs(survey, samples, what_if, outlooks))
    terminal.document(outlook_document(survey, outlooks, table))
    for line in _lines(survey, outlooks, table):
        terminal.say(line)
    return 0


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


def _what_ifs(
    survey: Survey,
    samples: Mapping[Role, tuple[Sample, ...]],
    what_if: WhatIf,
    outlooks: Mapping[Role, Outlook],
) -> Iterator[tuple[int, Mapping[Role, Outlook]]]:
    """The same question for other retentions."""
    asked = next((one.keep_last for one in outlooks.values()), survey.policy.keep_last)
    for keep_last in sorted({*_AROUND, asked}):
        assumed = WhatIf(keep_last, what_if.interval, what_if.size, what_if.steps_left)
        yield keep_last, look_ahead(survey, samples, assumed)


def _lines(
    survey: Survey, outlooks: Mapping[Role, Outlook], table: list[tuple[int, Mapping[Role, Outlook]]]
) -> Iterator[str]:
    for side in survey.sides:
        outlook = outlooks.get(side.role)
        if outlook is None:
            yield f"{side.role}  {visible(side.inventory.root)}  {visible(side.inventory.why) or 'cannot be looked at'}"
            continue
        yield from _side_lines(side.inventory.root, outlook, survey.taken_at)
        yield ""
    if survey.shared_device:
        yield "both sides are on one device: every figure is of the two together, and one dead disk takes both"
        yield ""
    most = largest_keep(outlooks)
    if most is not None:
        yield f"the largest retention that fits {'both sides' if len(outlooks) > 1 else 'here'}: keep {most}"
    yield ""
    yield "keep  peak need   fits      a prune now frees"
    for keep_last, found in table:
        peaks = [one.peak_need for one in found.values()]
        fits = [one.kept_fits for one in found.values()]
        peak = max((peak for peak in peaks if peak is not None), default=None)
        word = "?" if None in fits or not fits else "yes" if all(fits) else "no"
        freed = sum({one.role: one.frees for one in found.values()}.values()) // (2 if survey.shared_device else 1)
        mark = " <" if keep_last == next(iter(outlooks.values())).keep_last else ""
        yield f"{keep_last:>4}  {_size(peak):>9}   {word:<4}  {size_text(freed):>10}{mark}"


def _side_lines(root: str, outlook: Outlook, now: float) -> Iterator[str]:
    yield f"{outlook.role}  {visible(root)}"
    if outlook.fits is not None:
        yield f"  as things are      {outlook.fits:,} more fit, full {_when(outlook.full_at, now)}"
    yield f"  with a prune now   frees {size_text(outlook.frees)}, full {_when(outlook.full_at_pruned, now)}"
    need = "peak need unknown" if outlook.peak_need is None else f"needs {size_text(outlook.peak_need)} at its peak"
    verdict = {True: "fits", False: "does not fit", None: "cannot be told"}[outlook.kept_fits]
    full = "never full by its own saves" if outlook.full_at_kept is None else f"full {_when(outlook.full_at_kept, now)}"
    yield f"  keep {outlook.keep_last:<4}          {need}: {verdict}" + (f", {full}" if outlook.kept_fits else "")
    if outlook.saves_left is not None:
        words = {True: "fits", False: "does not fit", None: "cannot be told"}
        yield (
            f"  rest of the run    {outlook.saves_left:,} saves: {words[outlook.rest_fits]} as things are, "
            f"{words[outlook.rest_fits_kept]} with the retention"
        )
    for line in outlook.basis:
        yield f"    {visible(line)}"


def _when(at: float | None, now: float) -> str:
    if at is None:
        return "at a time that cannot be told"
    return "now" if at <= now else f"in {span_text(at - now)} ({moment_text(at)})"


def _size(size: int | None) -> str:
    return "?" if size is None else size_text(size)
