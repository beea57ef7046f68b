"""Going back to an earlier step: what was saved after it by now is set aside, and saving those steps again works."""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.core.amounts import counted
from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard, side_not_usable
from ckptdeck.core.plans.items import does, stays, stopped
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.states import Role, State, Verdict


def plan_rollback(survey: Survey, step: int) -> Plan:
    """Retires every recorded step above `step`, on both sides. Nothing is moved or deleted.

    Raises UsageError when `step` is not there to go on from.
    """
    options = {"step": str(step)}
    refused = next((r for s in survey.sides if (r := side_not_usable(survey, s.role)) is not None), None)
    if refused is not None:
        return Plan("rollback", (), refused, options=options)
    serving = {row.step for row in survey.steps if row.step is not None and row.step <= step and _may_serve(row)}
    if step not in serving:
        raise _not_there(step, max(serving, default=None))
    items = [
        item for row in survey.steps if row.step is not None and row.step > step for item in _row_items(row, survey)
    ]
    acting = [item for item in items if item.acts]
    steps = {item.step for item in acting}
    answer = f"set {counted(len(steps), 'step')} above {step} aside" if steps else f"nothing above step {step}"
    return Plan("rollback", tuple(sorted(items, key=lambda item: not item.acts)), answer=answer, options=options)


def _not_there(step: int, below: int | None) -> UsageError:
    if below is None:
        return UsageError(
            f"Nothing at step {step} or below could be resumed from",
            why="A rollback sets aside everything newer, and the run would have nothing left",
            next_step="`ckptdeck status` lists the steps; choose one that is whole",
        )
    return UsageError(
        f"There is no recorded step {step} to go back to",
        why=f"The run would go on from step {below} instead",
        next_step=f"Say {below} if that is meant; `ckptdeck status` lists the steps",
    )


def _may_serve(row: Step) -> bool:
    return row.verdict is not Verdict.RETIRED and any(
        copy is not None and copy.state in (State.VERIFIED, State.SIZE_ONLY) for copy in (row.primary, row.mirror)
    )


def _row_items(row: Step, survey: Survey) -> Iterator[PlanItem]:
    for role in Role:
        copy = row.on(role)
        if copy is None or survey.side(role) is None:
            continue
        record = copy.sighting.record
        if record is None:
            if copy.sighting.identity is not None:
                text = f"{copy.state}, without a record; `ckptdeck adopt` records it first"
                yield stopped(copy, role, Refusal(Guard.NEEDS_ADOPT, text))
        elif record.retired:
            yield stays(copy, role, "retired already")
        else:
            yield does(
                Act.RETIRE, role, copy, f"step {row.step} is newer than the one gone back to", {"digest": record.digest}
            )
