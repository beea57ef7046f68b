"""The one way a plan becomes action: every item is looked at again, done, or skipped with a reason. Never one more."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ckptdeck.core.adoption import adopt, adopt_twins
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair, from_condition
from ckptdeck.core.errors import (
    Cancelled,
    CkptdeckError,
    ContentMismatch,
    LockHeld,
    NoSpace,
    Refused,
    RottenSource,
    UsageError,
    VolumeSuspect,
    from_os_error,
)
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.lock import set_lock
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan, PlanItem, PlanResult, Refusal
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.recheck import require_free, require_no_writer, require_same, target_of
from ckptdeck.core.recovery import discard, finish, sweep_temporaries
from ckptdeck.core.removal import quarantine
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.transfer import Staged, staged_copy

OnResult = Callable[[ItemResult], None]
_TRANSIENT = frozenset({errno.EBUSY, errno.ETXTBSY, errno.EAGAIN, errno.ESTALE, errno.EINTR})
_PAUSES = (0.5, 2.0)
"""Seconds before each retry of what may go away by itself."""
_VOLUME_GUARDS = frozenset({"not-mounted", "wrong-set", "two-controls", "unreadable"})


def apply(
    host: Host,
    pair: Pair,
    policy: Policy,
    plan: Plan,
    effort: Effort = UNHURRIED,
    on_result: OnResult | None = None,
) -> PlanResult:
    """Does the acting items of `plan` in order and tells `on_result` of each.

    A failing volume or a full disk stops what else that side would get; other items go on. Raises the error of
    `plan.refused`, and UsageError or VolumeSuspect when a side is not what it was; nothing is done then.
    """
    if plan.refused is not None:
        raise error_of_refusal(plan.refused)
    if plan.action == "start":
        pair = _initialise(host, pair)
    pair = find_pair(host.fs, pair.primary.root, pair.mirror.root if pair.mirror is not None else None)
    _require_sides(pair, plan)
    if plan.action == "recover":
        _sweep(host, pair, policy)
    results: list[ItemResult] = []
    stopped: dict[Role, CkptdeckError] = {}
    for group in _groups(plan):
        for result in _run_group(host, pair, policy, group, effort, stopped):
            results.append(result)
            if on_result is not None:
                on_result(result)
    return PlanResult(plan, tuple(results))


def error_of_refusal(refusal: Refusal) -> CkptdeckError:
    """The error, with its exit code, that a refused plan means."""
    if refusal.guard == "no-space":
        return NoSpace(refusal.text)
    if refusal.guard in _VOLUME_GUARDS:
        return VolumeSuspect(refusal.text)
    if refusal.guard == "no-mirror":
        return UsageError(refusal.text)
    return Refused(refusal.text, guard=refusal.guard)


def _initialise(host: Host, pair: Pair) -> Pair:
    """Day one: both bare directories become sets before anything is recorded in them."""
    mirror = pair.mirror.root if pair.mirror is not None else None
    return initialise(host, pair.primary.root, mirror).pair


def _require_sides(pair: Pair, plan: Plan) -> None:
    """A side that is not there, or not the one meant, gets nothing; a copy needs both (invariant 5)."""
    needed = {item.side for item in plan.acting}
    needed |= {item.side.other for item in plan.acting if item.act in (Act.COPY, Act.REPAIR)}
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
    host: Host,
    pair: Pair,
    policy: Policy,
    group: tuple[PlanItem, ...],
    effort: Effort,
    stopped: dict[Role, CkptdeckError],
) -> list[ItemResult]:
    earlier = next((stopped[item.side] for item in group if item.side in stopped), None)
    if earlier is not None:
        outcome = Outcome.CANCELLED if isinstance(earlier, Cancelled) else Outcome.SKIPPED
        text = f"not tried: {earlier.what}"
        return [ItemResult(item, outcome, text, earlier.exit_code, earlier.code) for item in group]
    try:
        text = _with_retries(host, pair, policy, group, effort)
    except CkptdeckError as error:
        if isinstance(error, VolumeSuspect | NoSpace):
            stopped[group[0].side] = error
        elif isinstance(error, Cancelled):
            stopped.update(dict.fromkeys(Role, error))
        return [_failed(item, error) for item in group]
    return [ItemResult(item, Outcome.DONE, text) for item in group]


def _failed(item: PlanItem, error: CkptdeckError) -> ItemResult:
    if isinstance(error, Cancelled):
        outcome = Outcome.CANCELLED
    elif isinstance(error, Refused | LockHeld):
        outcome = Outcome.SKIPPED
    else:
        outcome = Outcome.FAILED
    return ItemResult(item, outcome, str(error), error.exit_code, error.code, isinstance(error, RottenSource))


def _with_retries(host: Host, pair: Pair, policy: Policy, group: tuple[PlanItem, ...], effort: Effort) -> str:
    """Each try stages a new inode. A device that returned other bytes is asked once more; servers twice."""
    pauses = iter(_PAUSES)
    mismatched = False
    while True:
        try:
            return _do(host, pair, policy, group, effort)
        except ContentMismatch:
            if mismatched:
                raise
            mismatched = True
        except OSError as error:
            doing = f"{group[0].act.capitalize()} of {visible(group[0].name)} on the {group[0].side}"
            if error.errno not in _TRANSIENT:
                raise from_os_error(error, doing) from error
            failure = from_os_error(error, doing)
            pause = next(pauses, None)
            if pause is None:
                raise failure from error
            host.clock.sleep(pause)


def _do(host: Host, pair: Pair, policy: Policy, group: tuple[PlanItem, ...], effort: Effort) -> str:
    effort.check()
    item = group[0]
    target = pair.on(item.side)
    match item.act:
        case Act.RECORD if len(group) == 2:
            return adopt_twins(host, pair, group[0], group[1], effort)
        case Act.RECORD:
            return adopt(host, pair, item, effort)
        case Act.COPY | Act.REPAIR:
            return _copy(host, pair, policy, item, effort)
        case Act.FINISH:
            with _locked(host, pair):
                return finish(host, target, item, policy, effort)
        case Act.DISCARD:
            with _locked(host, pair):
                return discard(host, target, item, policy)
    raise UsageError(f"This program cannot carry out {item.act!r}", next_step="Plan anew with this version")


def _copy(host: Host, pair: Pair, policy: Policy, item: PlanItem, effort: Effort) -> str:
    """Stage and prove, then name. What stands in the way goes to quarantine only once its successor is proven."""
    source, target = pair.on(item.side.other), pair.on(item.side)
    replacing = bool(item.target)
    if not replacing:
        require_free(host, target.path_of(item.name))
    with staged_copy(host, source, target, item, policy, effort) as staged:
        if not replacing:
            published = staged.give_name(host)
        else:
            with _locked(host, pair):
                _set_aside(host, pair, target, item, staged)
                published = staged.give_name(host)
    evidence = published.receipt.evidence.value if published.receipt is not None else "stream"
    return f"{'replaced' if replacing else 'copied'} and proven, {evidence} evidence"


def _set_aside(host: Host, pair: Pair, target: CheckpointSet, item: PlanItem, staged: Staged) -> None:
    unit = target_of(target, item)
    found = require_same(host, unit, item.target, item.target_inode)
    require_no_writer(host, unit, found)
    _require_unpinned(host, pair, item)
    inode = found.node[1] if found.node is not None else None
    quarantine(host, target, staged.volume, unit, inode=inode, reason=item.reason)


def _require_unpinned(host: Host, pair: Pair, item: PlanItem) -> None:
    """A pin on either side protects both, also one set since the plan was made."""
    for checkpoint_set in pair.sets:
        if Manifest(host.fs, checkpoint_set).pin(item.name) is not None:
            raise Refused(
                f"{visible(item.name)} is pinned", guard="pinned", next_step=f"`ckptdeck unpin {visible(item.name)}`"
            )


@contextmanager
def _locked(host: Host, pair: Pair) -> Iterator[None]:
    with set_lock(host, *_usable(pair)):
        yield
