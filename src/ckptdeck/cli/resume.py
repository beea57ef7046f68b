"""Prints the path of the newest whole checkpoint, and nothing else, for a launch script to resume from.

Newest step first, primary before mirror. A receipt stands, a recorded checkpoint without one is hashed now, what has
no record is never taken (but see --accept structure). Exit code 0 exactly when a path is printed; 8: there are
checkpoints and none is whole; 9: nothing was ever saved; 7: a side that may hold a newer one cannot be read.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import UsageError
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.resume import answer_resume
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role, State
from ckptdeck.core.survey import ResumePoint, Survey


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument(
        "--restore", action="store_true", help="copy it to the primary first when only the mirror has it"
    )
    parser.add_argument(
        "--accept", choices=["structure"], help="also take a checkpoint without record whose structure is whole"
    )
    parser.add_argument("--primary-only", action="store_true", help="never answer with a path on the mirror")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    if arguments.restore and arguments.primary_only:
        raise UsageError("--restore and --primary-only contradict each other", next_step="Leave one of them out")
    session = open_session(arguments, terminal, interruption)
    survey = session.look()
    told: list[str] = []
    try:
        with _effort(session, survey) as effort:
            point = answer_resume(
                session.host,
                session.pair,
                survey,
                accept_structure=arguments.accept == "structure",
                primary_only=arguments.primary_only,
                effort=effort,
                warn=told.append,
            )
    finally:
        for sentence in told:
            terminal.warn(sentence)
    if arguments.restore and point.side is Role.MIRROR:
        point = _bring_back(session, point)
    if terminal.as_json:
        from ckptdeck.cli.json_output import resume_object

        terminal.document({"schema": "ckptdeck.resume/1", "resume": resume_object(point), "warnings": told})
    elif terminal.answers_to_person:
        terminal.say(visible(point.path))
    else:
        terminal.say_exactly(os.fsencode(point.path) + b"\n")
    session.spare_the_next(survey)
    return 0


@contextlib.contextmanager
def _effort(session: Session, survey: Survey) -> Iterator[Effort]:
    """Of long work where something may have to be hashed. A receipt is read in less time than preparing for that."""
    if any(copy.state is State.SIZE_ONLY for side in survey.sides for copy in side.checkpoints):
        with session.working() as (effort, _bar):
            yield effort
    else:
        yield UNHURRIED


def _bring_back(session: Session, point: ResumePoint) -> ResumePoint:
    """The same checkpoint on the primary; the mirror's where it could not be copied, which can be resumed from too."""
    from ckptdeck.core.apply import apply
    from ckptdeck.core.plans.plan import Outcome
    from ckptdeck.core.resume import plan_bring_back

    plan = plan_bring_back(session.look(), point.name)
    if plan.refused is not None or not plan.acting:
        why = plan.refused.text if plan.refused is not None else "the primary holds something else under that name"
        session.terminal.warn(f"{visible(point.name)} was not restored: {why}")
        return point
    with session.working() as (effort, _bar):
        result = apply(session.host, session.pair, session.policy, plan, effort)
    failed = next((one for one in result.results if one.outcome is not Outcome.DONE), None)
    if failed is not None:
        session.terminal.warn(f"{visible(point.name)} was not restored: {failed.text}")
        return point
    root = session.pair.primary.root
    return replace(point, side=Role.PRIMARY, path=os.path.join(root, point.name))
