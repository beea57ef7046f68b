"""What a plan or a verification becomes as work for the job runner: its lane, its bytes, what is done, what is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import Cancelled, CkptdeckError, PartlyDone, Refused, UsageError, VolumeSuspect
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanItem, PlanResult
from ckptdeck.core.plans.refusals import error_of_refusal
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import FINDINGS, Role
from ckptdeck.core.survey import Side, Survey
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.command_line import action_line
from ckptdeck.monitor.core_calls import CoreCalls
from ckptdeck.monitor.job_runner import OnResult, Order
from ckptdeck.monitor.job_words import COPYING, IF_WE_QUIT, START, job_title, plan_line, title_for

_BYTES_GO_BY = frozenset({Act.RECORD, Act.COPY, Act.REPAIR, Act.FINISH, Act.VERIFY})
"""Acts that take as long as their bytes need; the others only change names."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What every order needs."""

    core: CoreCalls
    host: Host
    primary: str
    mirror: str | None


def plan_order(shop: Workshop, survey: Survey, plan: Plan, told: OnResult, confirmed_count: int | None = None) -> Order:
    """The plan as a job. `told` gets each result after it was done, on the job's thread.

    `confirmed_count` is the number that somebody typed for a plan that carries a count. Raises the error a refused
    plan means, and Refused for one that does nothing.
    """
    if plan.refused is not None:
        raise error_of_refusal(plan.refused)
    if not plan.acting and plan.action != START:
        raise Refused(f"There is nothing to {plan.action}", guard="nothing-to-do")
    policy = survey.policy

    def work(effort: Effort, on_result: OnResult) -> None:
        def both(result: ItemResult) -> None:
            on_result(result)
            told(result)

        pair = shop.core.find_pair(shop.host.fs, shop.primary, shop.mirror)
        _raise_for(shop.core.apply(shop.host, pair, policy, plan, effort, both, confirmed_count))

    return Order(
        action=plan.action,
        title=job_title(plan),
        command=plan_line(plan, shop.primary, shop.mirror),
        lane=lane_of(survey, _changed_side(plan)),
        work=work,
        total_size=sum(map(_bytes_of, plan.acting)),
        bytes_of=_bytes_of,
        items=len(plan.acting),
        passes=_passes(plan, policy),
        bytes_per_second=policy.rate,
        if_we_quit=IF_WE_QUIT.get(plan.action, ""),
    )


def verify_orders(shop: Workshop, survey: Survey, names: Sequence[str], told: OnResult) -> list[Order]:
    """One job per side that has something to hash, newest checkpoint first: each disk at its own pace.

    Raises UsageError when nothing that was asked for is recorded anywhere.
    """
    orders = []
    for side in survey.sides:
        wanted = [c for c in side.checkpoints if _recorded(c) and (not names or c.name in names)]
        if wanted and side.inventory.condition.readable:
            orders.append(verify_order(shop, survey, side, wanted, told))
    if not orders:
        raise UsageError(
            "There is nothing to verify" + (f" in {', '.join(map(visible, names))}" if names else ""),
            why="Only checkpoints with a record can be compared with anything",
            next_step="Adopt what has no record; it is hashed in the act",
        )
    return orders


def verify_order(
    shop: Workshop,
    survey: Survey,
    side: Side,
    wanted: Sequence[Checkpoint],
    told: OnResult,
    title: str | None = None,
) -> Order:
    """Hashes `wanted` in the order given. One that fails does not keep the rest from being hashed."""

    def work(effort: Effort, on_result: OnResult) -> None:
        found = shop.core.find_set(shop.host.fs, side.inventory.root, side.role)
        results = []
        for checkpoint in wanted:
            effort.check()
            result = _verify(shop, found, checkpoint, effort)
            results.append(result)
            on_result(result)
            told(result)
        _raise_for_failures(results)

    names = [checkpoint.name for checkpoint in wanted]
    return Order(
        action="verify",
        title=title or f"{title_for('verify', names)} on {side.role}",
        command=action_line("verify", shop.primary, shop.mirror, names if len(names) == 1 else ()),
        lane=lane_of(survey, side.role),
        work=work,
        total_size=sum(checkpoint.size for checkpoint in wanted),
        items=len(wanted),
        bytes_per_second=survey.policy.rate,
        if_we_quit=IF_WE_QUIT["verify"],
    )


def lane_of(survey: Survey, role: Role) -> str:
    """Jobs that keep the same device busy share a lane, also when both sides lie on it."""
    side = survey.side(role)
    if side is None or side.inventory.volume is None:
        return str(role)
    return f"device {side.inventory.volume.device}"


def _verify(shop: Workshop, found: CheckpointSet, checkpoint: Checkpoint, effort: Effort) -> ItemResult:
    side = found.role
    item = PlanItem(checkpoint.name, side, Act.KEEP, "hashed", checkpoint.size, checkpoint.step)
    try:
        seen = shop.core.verify_one(shop.host, found, checkpoint.name, effort)
    except (Cancelled, VolumeSuspect):
        raise
    except CkptdeckError as error:
        return ItemResult(item, Outcome.FAILED, str(error), error.exit_code, error.code)
    return ItemResult(
        item,
        Outcome.DONE,
        f"{seen.state}: {seen.reason}",
        finding=seen.state in FINDINGS,
    )


def _recorded(checkpoint: Checkpoint) -> bool:
    return checkpoint.sighting.record is not None and checkpoint.sighting.identity is not None


def _bytes_of(item: PlanItem) -> int:
    return item.size if item.act in _BYTES_GO_BY else 0


def _passes(plan: Plan, policy: Policy) -> dict[str, int]:
    """How often the bytes of each checkpoint go by: a copy is read back, twins are hashed on both sides."""
    passes = Counter(item.name for item in plan.acting)
    passes.update(item.name for item in plan.acting if item.act in COPYING and policy.readback)
    return dict(passes)


def _changed_side(plan: Plan) -> Role:
    """The side most bytes go to."""
    bytes_on = {role: sum(item.size for item in plan.acting if item.side is role) for role in Role}
    return max(Role, key=lambda role: (bytes_on[role], role is Role.PRIMARY))


def _raise_for(result: PlanResult) -> None:
    """Turns what `apply` returned into the job's end: Cancelled, PartlyDone, or nothing."""
    if any(item.outcome is Outcome.CANCELLED for item in result.results):
        raise Cancelled("Cancelled")
    if result.exit_code:
        _raise_for_failures(result.results)


def _raise_for_failures(results: Sequence[ItemResult]) -> None:
    failed = [item for item in results if item.outcome is Outcome.FAILED]
    if failed:
        raise PartlyDone(f"{len(failed)} of {len(results)} could not be done. The first: {failed[0].text}")
    if results and all(item.outcome is Outcome.SKIPPED for item in results):
        raise PartlyDone(f"Nothing was done. The first reason: {results[0].text}")
