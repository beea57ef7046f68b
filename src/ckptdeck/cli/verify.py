"""Hashes checkpoints and compares them with their records, newest first, primary before mirror.

Each result is kept as a receipt, good or bad, and counts as long as the file stays what it is. Nothing is recorded
that has no record (that is `adopt`). Exit code 1 when something is not what its record says.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ckptdeck.cli import text
from ckptdeck.cli.arguments import add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.json_output import verify_document
from ckptdeck.cli.known_names import require_known
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.amounts import counted
from ckptdeck.core.errors import Cancelled, CkptdeckError, VolumeSuspect
from ckptdeck.core.notation import parse_age, parse_rate
from ckptdeck.core.progress import Effort
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import FINDINGS, NOT_THERE, Condition, Kind, Role, State
from ckptdeck.core.survey import Survey
from ckptdeck.core.unit import Unit
from ckptdeck.core.values import dataclass
from ckptdeck.core.verify import Verification, verify_one
from ckptdeck.monitor import log

_FOUND, _VOLUME = 1, 7
_NOT_READ = frozenset({State.UNSAFE_WRITE, State.UNREADABLE})
"""Nothing is to be learnt by reading: still being written, or not readable at all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, names="NAMEs of checkpoints, by default every recorded one")
    parser.add_argument("--older-than", metavar="AGE", help="only what was not verified within AGE: 12h, 7d")
    parser.add_argument("--deep", action="store_true", help="also read what has no record, for the checksums inside it")
    parser.add_argument("--rate", metavar="RATE", help="read at most so much: 200MB/s")


@dataclass(frozen=True, slots=True)
class _Task:
    side: Role
    checkpoint: Checkpoint


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    older_than = None if arguments.older_than is None else parse_age(arguments.older_than)
    rate = None if arguments.rate is None else parse_rate(arguments.rate)
    session = open_session(arguments, terminal, interruption)
    survey = session.look_settled()
    require_known(survey, session.names)
    tasks = list(_tasks(survey, session.names, older_than, deep=arguments.deep))
    results: list[Verification] = []
    code = 0
    for side in survey.sides:
        inventory = side.inventory
        if inventory.condition not in (Condition.OK, Condition.UNINITIALISED):
            terminal.warn(f"the {side.role} was not verified: {inventory.why}")
            code = _VOLUME
        for damage in (warning for warning in inventory.warnings if warning.code == "damaged-record"):
            terminal.warn(f"the {side.role} has a damaged record: {damage.text}")
            code = max(code, _FOUND)
    with session.working(rate) as (effort, bar):
        for task in tasks:
            outcome, failed = _verify(session, task, effort, deep=arguments.deep)
            bar.clear()
            results.append(outcome)
            terminal.say(text.verification_line(outcome, text.paint_for(terminal)))
            code = max(code, failed)
    if any(outcome.state in FINDINGS for outcome in results):
        code = max(code, _FOUND)
    _conclude(session, survey, results, code)
    return code


def _tasks(survey: Survey, names: tuple[str, ...], older_than: float | None, *, deep: bool) -> Iterator[_Task]:
    """Newest step first; what is recorded and there, and what was asked for by name."""
    for row in survey.steps:
        for side in survey.sides:
            copy = row.on(side.role)
            if copy is None or not side.inventory.condition.readable or (names and copy.name not in names):
                continue
            if _is_due(copy, survey.taken_at, older_than, unrecorded_too=deep or bool(names)):
                yield _Task(side.role, copy)


def _is_due(copy: Checkpoint, now: float, older_than: float | None, *, unrecorded_too: bool) -> bool:
    if copy.state in NOT_THERE:
        return False
    if copy.sighting.record is None and copy.sighting.next_record is None:
        return unrecorded_too
    verified_at = copy.verified_at if copy.state is State.VERIFIED else None
    return older_than is None or verified_at is None or now - verified_at > older_than


def _verify(session: Session, task: _Task, effort: Effort, *, deep: bool) -> tuple[Verification, int]:
    """The outcome, and an exit code when it could not be had."""
    copy = task.checkpoint
    unrecorded = copy.sighting.record is None and copy.sighting.next_record is None
    if unrecorded and (not deep or copy.state in _NOT_READ):
        return Verification(copy.name, task.side, copy.state, f"{copy.reason}; nothing to hash against", None, 0), 0
    try:
        if unrecorded:
            from ckptdeck.core.deep_look import verify_deep

            return verify_deep(session.host, session.pair.on(task.side), _unit_of(session, task), effort), 0
        return verify_one(session.host, session.pair.on(task.side), copy.name, effort), 0
    except Cancelled:
        raise
    except CkptdeckError as error:
        code = _VOLUME if isinstance(error, VolumeSuspect) else _FOUND
        return Verification(copy.name, task.side, State.UNREADABLE, str(error), None, 0), code


def _unit_of(session: Session, task: _Task) -> Unit:
    sighting = task.checkpoint.sighting
    identity = sighting.identity
    members = tuple(member.path for member in identity.members) if identity is not None else ()
    root = session.pair.on(task.side).root
    return Unit(root, sighting.name, sighting.kind, members if sighting.kind is Kind.GROUP else ())


def _conclude(session: Session, survey: Survey, results: list[Verification], code: int) -> None:
    terminal = session.terminal
    unrecorded = sum(
        checkpoint.sighting.record is None and checkpoint.state not in NOT_THERE | {State.FOREIGN, State.UNREADABLE}
        for side in survey.sides
        for checkpoint in side.checkpoints
    )
    terminal.document(verify_document(results, unrecorded=unrecorded, exit_code=code))
    summary = text.verify_summary(results)
    terminal.say(summary)
    if unrecorded:
        terminal.note(f"{counted(unrecorded, 'checkpoint')} without a record: `ckptdeck adopt` records them")
    if results:
        outcome = "done" if code == 0 else f"exit {code}"
        for checkpoint_set in session.pair.sets:
            log.append(session.host, checkpoint_set.control, text=summary, outcome=outcome)
