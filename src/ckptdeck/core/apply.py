"""The one way a plan becomes action: every item is looked at again, done, or skipped with a reason. Never one more."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

from ckptdeck.core.acts import Acts
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair, from_condition
from ckptdeck.core.errors import (
    NO_SPACE_ERRNOS,
    Cancelled,
    CkptdeckError,
    ContentMismatch,
    LockHeld,
    NoSpace,
    Refused,
    RottenSource,
    VolumeSuspect,
    from_os_error,
)
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanItem, PlanResult
from ckptdeck.core.plans.refusals import error_of_refusal
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.recovery import sweep_temporaries
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Condition, Role

OnResult = Callable[[ItemResult], None]
_TRANSIENT = frozenset({errno.EBUSY, errno.ETXTBSY, errno.EAGAIN, errno.ESTALE, errno.EINTR})
_PAUSES = (0.5, 2.0)
"""Seconds before each retry of what may go away by itself."""
_NEEDS_BOTH = frozenset({Act.COPY, Act.REPAIR, Act.POINTER, Act.DELETE})


def apply(
    host: Host,
    pair: Pair,
    policy: Policy,
    plan: Plan,
    effort: Effort = UNHURRIED,
    on_result: OnResult | None = None,
    confirmed_count: int | None = None,
) -> PlanResult:
    """Does the acting items of `plan` in order and tells `on_result` of each.

    A plan with a `count` is refused unless `confirmed_count` is that number.

    A failing volume or a full disk stops what else that side would get; other items go on. Raises the error of
    `plan.refused`, and UsageError or VolumeSuspect when a side is not what it was; nothing is done then.
    """
    if plan.refused is not None:
        raise error_of_refusal(plan.refused)
    if plan.action == "start":
        pair = _initialise(host, pair)
    pair = find_pair(host.fs, pair.primary.root, pair.mirror.root if pair.mirror is not None else None)
    _require_sides(pair, plan)
    if plan.action in ("recover", "mend"):
        _sweep(host, pair, policy)
    if plan.count is not None and confirmed_count != plan.count:
        raise Refused(
            f"This plan deletes {plan.count} copies, more than half of what is on a side",
            guard="unconfirmed-count",
            why="So many are deleted only when their number was confirmed",
            next_step=f"Look at the plan again; if it is right, add --confirm-count {plan.count}",
        )
    results: list[ItemResult] = []
    stopped: dict[Role, CkptdeckError] = {}
    acts = Acts(host, pair, policy, plan)
    for group in _groups(plan):
        for result in _run_group(acts, group, effort, stopped):
            results.append(result)
            if on_result is not None:
                on_result(result)
    return PlanResult(plan, tuple(results))


def _initialise(host: Host, pair: Pair) -> Pair:
    """Day one: both bare directories become sets before anything is recorded in them."""
    from ckptdeck.core.initialise import initialise

    mirror = pair.mirror.root if pair.mirror is not None else None
    return initialise(host, pair.primary.root, mirror).pair


def _require_sides(pair: Pair, plan: Plan) -> None:
    """A side that is not there, or not the one meant, gets nothing; a copy needs both (invariant 5)."""
    needed = {item.side for item in plan.acting}
    needed |= {item.side.other for item in plan.acting if item.act in _NEEDS_BOTH}
    for checkpoint_set in pair.sets:
        if checkpoint_set.role not in needed or checkpoint_set.condition is Condition.OK:
            continue
        if checkpoint_set.condition is Condition.UNINITIALISED:
            raise Refused(
                f"The {checkpoint_set.role} {visible(checkpoint_set.root)} is not initialised",
                guard="uninitialised",
                next_step="Run `ckptdeck init PRIMARY [MIRROR]` first",
            )
        raise from_condition(checkpoint_set)


def _usable(pair: Pair) -> tuple[CheckpointSet, ...]:
    return tuple(s for s in pair.sets if s.condition is Condition.OK)


def _sweep(host: Host, pair: Pair, policy: Policy) -> None:
    for checkpoint_set in _usable(pair):
        try:
            sweep_temporaries(host, checkpoint_set, policy.min_age)
        except OSError as error:
            raise from_os_error(error, f"Tidying {visible(checkpoint_set.control_path())}") from error


def _groups(plan: Plan) -> Iterator[tuple[PlanItem, ...]]:
    """Single items, and the two of a checkpoint that both sides have without a record."""
    taken: set[int] = set()
    acting = plan.acting
    for index, item in enumerate(acting):
        if index in taken:
            continue
        twin = next(
            (
                other
                for other in range(index + 1, len(acting))
                if "twin" in item.details
                and acting[other].name == item.name
                and acting[other].act is Act.RECORD
                and acting[other].side is item.side.other
            ),
            None,
        )
        if item.act is Act.RECORD and twin is not None:
            taken.add(twin)
            yield item, acting[twin]
        else:
            yield (item,)


def _run_group(
    acts: Acts, group: tuple[PlanItem, ...], effort: Effort, stopped: dict[Role, CkptdeckError]
) -> list[ItemResult]:
    earlier = next((stopped[item.side] for item in group if item.side in stopped), None)
    if earlier is not None:
        outcome = Outcome.CANCELLED if isinstance(earlier, Cancelled) else Outcome.SKIPPED
        text = f"not tried: {earlier.what}"
        return [ItemResult(item, outcome, text, earlier.exit_code, earlier.code) for item in group]
    try:
        text = _with_retries(acts, group, effort)
    except CkptdeckError as error:
        if isinstance(error, Cancelled) or _stops_both(group[0], error):
            stopped.update(dict.fromkeys(Role, error))
        elif isinstance(error, VolumeSuspect | NoSpace):
            stopped[group[0].side] = error
        return [_failed(item, error) for item in group]
    return [ItemResult(item, Outcome.DONE, text) for item in group]


def _stops_both(item: PlanItem, error: CkptdeckError) -> bool:
    """What is pruned goes on both sides or on neither: a survivor that is not proven, or a failing disk, ends it."""
    if item.act is Act.VERIFY:
        return True
    return item.act is Act.DELETE and not isinstance(error, Refused | LockHeld)


def _failed(item: PlanItem, error: CkptdeckError) -> ItemResult:
    if isinstance(error, Cancelled):
        outcome = Outcome.CANCELLED
    elif isinstance(error, Refused | LockHeld):
        outcome = Outcome.SKIPPED
    else:
        outcome = Outcome.FAILED
    return ItemResult(item, outcome, str(error), error.exit_code, error.code, isinstance(error, RottenSource))


def _with_retries(acts: Acts, group: tuple[PlanItem, ...], effort: Effort) -> str:
    """Each try stages a new inode. A device that returned other bytes is asked once more; servers twice."""
    pauses = iter(_PAUSES)
    mismatched = False
    while True:
        try:
            return acts.do(group, effort)
        except ContentMismatch:
            if mismatched:
                raise
            mismatched = True
            acts.host.clock.sleep(_PAUSES[-1])
        except OSError as error:
            doing = f"{group[0].act.capitalize()} of {visible(group[0].name)} on the {group[0].side}"
            if error.errno in NO_SPACE_ERRNOS:
                raise from_os_error(error, doing + acts.free_figure(group[0].side)) from error
            if error.errno not in _TRANSIENT:
                raise from_os_error(error, doing) from error
            failure = from_os_error(error, doing)
            pause = next(pauses, None)
            if pause is None:
                raise failure from error
            acts.host.clock.sleep(pause)
