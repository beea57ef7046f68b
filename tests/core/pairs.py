"""A pair of sets as the command line drives it: look, plan, apply, look again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ckptdeck.core.apply import apply
from ckptdeck.core.plans.adopt import plan_adopt
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.plan import ItemResult, Plan, PlanResult
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.states import Role, State, Verdict
from ckptdeck.core.survey import Step, Survey, take_survey
from tests.core.units import fill
from tests.core.workbench import Workbench

QUIET = 1_000_000_000.0
"""When files were written that are at rest."""


def survey(bench: Workbench, policy: Policy = DEFAULT_POLICY, previous: Survey | None = None) -> Survey:
    return take_survey(bench.host, bench.pair, policy, previous)


def row(bench: Workbench, name: str) -> Step:
    return next(step for step in survey(bench).steps if step.name == name)


def states(bench: Workbench, name: str) -> tuple[State, State, Verdict]:
    """On the primary, on the mirror, and of both."""
    found = row(bench, name)
    assert found.primary is not None
    assert found.mirror is not None
    return found.primary.state, found.mirror.state, found.verdict


def do(bench: Workbench, plan: Plan, effort: Effort = UNHURRIED, policy: Policy = DEFAULT_POLICY) -> PlanResult:
    return apply(bench.host, bench.pair, policy, plan, effort)


def adopt(bench: Workbench, *names: str, replace: bool = False, side: Role | None = None) -> PlanResult:
    return do(bench, plan_adopt(survey(bench), names, replace=replace, side=side))


def mirror(bench: Workbench, *names: str, replace: bool = False, effort: Effort = UNHURRIED) -> PlanResult:
    return do(bench, plan_mirror(survey(bench), names, all_steps=True, replace=replace), effort)


def repair(bench: Workbench, *names: str) -> PlanResult:
    return do(bench, plan_repair(survey(bench), names))


def recover(bench: Workbench) -> PlanResult:
    return do(bench, plan_recover(survey(bench)))


def told(results: Sequence[ItemResult]) -> dict[str, str]:
    return {result.item.name: result.text for result in results}


def put(
    bench: Workbench,
    name: str,
    files: Mapping[str, bytes | str | None],
    side: Role = Role.PRIMARY,
    *,
    at: float = QUIET,
) -> Path:
    """A directory that somebody else wrote."""
    return fill(bench.directory(side) / name, files, at=at)


def put_names(bench: Workbench, files: Mapping[str, bytes], side: Role = Role.PRIMARY, *, at: float = QUIET) -> None:
    """Files that somebody else wrote into a set."""
    for name, data in files.items():
        (bench.directory(side) / name).write_bytes(data)
        os.utime(bench.directory(side) / name, (at, at))


def left_in(bench: Workbench, side: Role, place: str) -> list[str]:
    """What a place in the control directory holds, notes left out."""
    return sorted(n for n in os.listdir(bench.on(side).control_path(place)) if not n.endswith((".json", ".record")))
