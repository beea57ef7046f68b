"""How every command that changes sets goes: look, plan, show, ask, apply, report, write down."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

from ckptdeck.cli import json_output, plan_text, text
from ckptdeck.cli.known_names import require_known
from ckptdeck.cli.plan_file import SavedPlan, read_plan_file, restrict
from ckptdeck.cli.session import Session, require_changeable
from ckptdeck.core.amounts import counted
from ckptdeck.core.apply import apply
from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import WAITING
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanItem, PlanResult
from ckptdeck.core.plans.refusals import error_of_refusal
from ckptdeck.core.states import Role
from ckptdeck.monitor import log
from ckptdeck.monitor.command_line import command_line
from ckptdeck.monitor.core_calls import PLANNERS


def run_action(
    session: Session, arguments: argparse.Namespace, options: Mapping[str, str], *, confirmed_count: int | None = None
) -> int:
    """Plans the command and, when confirmed, applies it. Returns the exit code."""
    saved = None if arguments.only_plan is None else read_plan_file(arguments.only_plan, arguments.command)
    plan = make_plan(session, arguments.command, options, saved)
    if arguments.dry_run:
        return show_only(session, plan)
    result = carry_out(session, plan, confirmed=arguments.yes, confirmed_count=confirmed_count)
    session.terminal.document(json_output.result_document(result))
    return result.exit_code


def make_plan(session: Session, action: str, options: Mapping[str, str], saved: SavedPlan | None = None) -> Plan:
    """The plan over what is on disk now, not more than a saved one allows."""
    names = session.names
    if saved is not None:
        if names or options:
            raise UsageError(
                "--only-plan takes names and options from the saved plan",
                next_step="Leave them out; directories may be given",
            )
        names, options = saved.names, saved.options
    survey = session.look()
    if action != "purge":  # its names are ids in quarantine, which the planner knows
        require_known(survey, names)
    plan = PLANNERS[action](survey, names, options)
    return plan if saved is None else restrict(plan, saved)


def show_only(session: Session, plan: Plan) -> int:
    """--dry-run: the plan and what would refuse it."""
    session.terminal.document(json_output.plan_document(plan))
    _show(session, plan)
    if plan.refused is not None:
        return error_of_refusal(plan.refused).exit_code
    return blocked_code(plan)


def carry_out(session: Session, plan: Plan, *, confirmed: bool, confirmed_count: int | None = None) -> PlanResult:
    """Shows the plan, asks, applies it and reports each item. Raises Refused when it may not or nobody agreed."""
    terminal = session.terminal
    if plan.refused is not None:
        raise error_of_refusal(plan.refused)
    if not plan.acting:
        _show(session, plan)
        return _nothing(plan)
    require_changeable(session.pair, plan.action)
    if not confirmed:
        terminal.lay_before(plan_text.plan_lines(plan))
        mirror = session.pair.mirror
        line = command_line(plan, session.pair.primary.root, None if mirror is None else mirror.root)
        if plan.count is not None and confirmed_count is None:
            line += f" --confirm-count {plan.count}"
            terminal.confirm_number(
                f"Type how many copies are to be deleted ({plan.action}): ", plan.count, f"{line} --yes"
            )
            confirmed_count = plan.count
        else:
            terminal.confirm(f"Do this ({plan.action}, {counted(len(plan.acting), 'item')})?", f"{line} --yes")
    result = _apply(session, plan, confirmed_count)
    if confirmed and plan.action == "prune":  # whoever was asked has seen it
        for line in plan_text.held_back_lines(plan):
            terminal.say(line)
    terminal.say(plan_text.summary_line(result))
    return result


def blocked_code(plan: Plan) -> int:
    """4 when a guard stopped all that was asked for, 3 when some of it, else 0."""
    if not any(_blocked(plan, item) for item in plan.items):
        return 0
    return 3 if plan.acting else 4


def _apply(session: Session, plan: Plan, confirmed_count: int | None) -> PlanResult:
    terminal = session.terminal
    paint = text.paint_for(terminal)
    with session.working() as (effort, bar):

        def tell(result: ItemResult) -> None:
            bar.clear()
            terminal.say(plan_text.result_line(result, paint))
            if terminal.as_json and not terminal.quiet:
                terminal.progress_line(json_output.progress_result(result))

        result = apply(session.host, session.pair, session.policy, plan, effort, tell, confirmed_count)
    result = replace(result, results=result.results + _unreached(plan, result))
    _write_down(session, result)
    return result


def _unreached(plan: Plan, result: PlanResult) -> tuple[ItemResult, ...]:
    """What was asked for and a guard kept from even being planned."""
    seen = {id(one.item) for one in result.results}
    return tuple(_guarded(item) for item in plan.items if _blocked(plan, item) and id(item) not in seen)


def _nothing(plan: Plan) -> PlanResult:
    """The result of a plan without anything to do; what was asked for and a guard stopped is a refusal (4)."""
    return PlanResult(plan, tuple(_guarded(item) for item in plan.items if _blocked(plan, item)))


def _guarded(item: PlanItem) -> ItemResult:
    return ItemResult(item, Outcome.SKIPPED, item.reason, exit_code=4, error_code="refused")


def _blocked(plan: Plan, item: PlanItem) -> bool:
    """Asked for, and stopped by a guard.

    One rule for every command: what was named is a refusal. Where nothing was named, what a guard holds back is the
    normal course of things; only `repair` leaves something bad behind then, and that is well only while it waits.
    """
    if item.act is not Act.SKIP or item.guard is None:
        return False
    return bool(plan.names) or (plan.action == "repair" and item.guard not in WAITING)


def _show(session: Session, plan: Plan) -> None:
    terminal = session.terminal
    paint = text.paint_for(terminal)
    for line in plan_text.plan_lines(plan, paint):
        terminal.say(line)
    for line in plan_text.waiting_lines(plan, session.policy.min_age):
        terminal.say(line)


def _write_down(session: Session, result: PlanResult) -> None:
    """One line in the log of every set that was changed; best effort."""
    sides = {one.item.side for one in result.results} or {Role.PRIMARY}
    outcome = "done" if result.exit_code == 0 else f"exit {result.exit_code}"
    for side in sides:
        control = session.pair.on(side).control
        log.append(session.host, control, text=plan_text.summary_line(result), outcome=outcome)
