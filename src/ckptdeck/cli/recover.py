"""After a reboot, a crash or a lost mount: one plan that finishes or clears what was interrupted, and one answer.

The answer comes first: from which step the run goes on, and what was lost. A second run changes nothing. Exit code 8:
there are checkpoints and none is whole; 9: nothing was ever saved.
"""

from __future__ import annotations

import argparse

from ckptdeck.cli import json_output
from ckptdeck.cli.action import carry_out, make_plan, show_only
from ckptdeck.cli.arguments import add_action_options, add_selection
from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.plan_file import read_plan_file
from ckptdeck.cli.session import Session, open_session
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import Cancelled, CkptdeckError
from ckptdeck.core.plans.plan import Act, Plan
from ckptdeck.core.resume import answer_resume
from ckptdeck.core.safe_text import visible
from ckptdeck.core.survey import ResumePoint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_action_options(parser)


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    session = open_session(arguments, terminal, interruption)
    saved = None if arguments.only_plan is None else read_plan_file(arguments.only_plan, "recover")
    plan = make_plan(session, "recover", {}, saved)
    return _show(session, plan) if arguments.dry_run else _recover(session, plan, confirmed=arguments.yes)


def _show(session: Session, plan: Plan) -> int:
    """--dry-run, which hashes nothing. The exit code says when even the plan leaves nothing to resume from."""
    code = show_only(session, plan)
    if code or any(item.act is Act.FINISH for item in plan.items) or session.look().resume is not None:
        return code
    _, error = _ask(session)
    if error is None:
        return 0
    session.terminal.complain(str(error))
    return error.exit_code


def _recover(session: Session, plan: Plan, *, confirmed: bool) -> int:
    """Applies the plan, then proves the resume point: a failed item, then a missing answer, decide the exit code."""
    terminal = session.terminal
    result = carry_out(session, plan, confirmed=confirmed)
    point, error = _ask(session)
    terminal.document(
        json_output.result_document(result)
        | {
            "resume": None if point is None else json_output.resume_object(point),
            "error": None if error is None else json_output.error_document(error),
        }
    )
    if point is not None:
        terminal.say(f"resume from {visible(point.path)}, proven whole")
    elif error is not None:
        terminal.complain(str(error))
    return result.exit_code or (0 if error is None else error.exit_code)


def _ask(session: Session) -> tuple[ResumePoint | None, CkptdeckError | None]:
    """Where the run goes on now, or why nowhere. Raises Cancelled."""
    try:
        with session.working() as (effort, _bar):
            return answer_resume(session.host, session.pair, session.look(), effort=effort), None
    except Cancelled:
        raise
    except CkptdeckError as error:
        return None, error
