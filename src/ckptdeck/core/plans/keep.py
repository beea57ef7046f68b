"""What the retention keeps: one set over both sides together, with a reason for every member."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection

from ckptdeck.core.guards import protects
from ckptdeck.core.policy import KeepBest, Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, NOT_THERE, Role, State, Verdict

_GONE_FOR_GOOD = frozenset({State.REMOVED, State.ABSENT})
_COUNTS_BESIDE_VERIFIED = _GONE_FOR_GOOD | {State.VERIFIED}


def keep_set(survey: Survey, expecting: Collection[str] = ()) -> dict[str, str]:
    """Row name -> why the retention keeps it: the union of last N, every K, best M and pins.

    Only steps that count (invariant 3) use up a place among the last N; a step that does not count is kept as long
    as fewer than N newer ones do, so that a broken one never displaces a whole one and is never the reason to delete
    one. `expecting` names rows that the plan at hand is about to make whole on both sides: they count as if they were.
    """
    policy = survey.policy
    present = [row for row in survey.steps if not _nowhere(row)]
    counting = _counting_steps(survey, present, expecting)
    best = _best_steps(present, frozenset(counting), policy.keep_best)
    kept: dict[str, str] = {}
    for row in present:
        reasons = [] if _retired(row) else _retention_reasons(row, policy, counting, best)
        pin = _pin(row)
        if pin is not None:
            reasons.append(f"pinned: {visible(pin)}" if pin else "pinned")
        if reasons:
            kept[row.name] = "; ".join(reasons)
    return kept


def _retention_reasons(row: Step, policy: Policy, counting: list[int], best: dict[int, str]) -> list[str]:
    """`counting` is sorted, oldest step first."""
    if row.step is None:
        return ["a rolling name is kept and never counted"]
    reasons = []
    place = bisect_right(counting, row.step)
    newer = len(counting) - place
    counts = place > 0 and counting[place - 1] == row.step
    if newer < policy.keep_last:
        reasons.append(
            f"number {newer + 1} of the last {policy.keep_last} whole steps"
            if counts
            else f"only {newer} of {policy.keep_last} newer steps are whole"
        )
    if policy.keep_every is not None and row.step % policy.keep_every == 0 and not _only_bad(row):
        reasons.append(f"one is kept every {policy.keep_every} steps")
    if row.step in best:
        reasons.append(best[row.step])
    return reasons


def _counting_steps(survey: Survey, present: list[Step], expecting: Collection[str]) -> list[int]:
    """Steps that count, oldest first. Where several rows have one step, all of them must."""
    verdicts: dict[int, bool] = {}
    for row in present:
        if row.step is not None:
            counts = row_counts(row, survey) or (row.name in expecting and not _retired(row))
            verdicts[row.step] = verdicts.get(row.step, True) and counts
    return sorted(step for step, counts in verdicts.items() if counts)


def row_counts(row: Step, survey: Survey) -> bool:
    """Invariant 3: verified on one side and verified, removed or absent on the other, which must be readable."""
    if row.verdict is Verdict.DIVERGED or _retired(row):
        return False
    if any(not side.inventory.condition.readable for side in survey.sides):
        return False
    states = {State.ABSENT if copy is None else copy.state for copy in (row.primary, row.mirror)}
    return State.VERIFIED in states and states <= _COUNTS_BESIDE_VERIFIED


def _best_steps(present: list[Step], counting: frozenset[int], rule: KeepBest | None) -> dict[int, str]:
    """Step -> reason for the best `rule.count` counting steps; equal ones: the newer is better."""
    if rule is None:
        return {}
    values: dict[int, float] = {}
    for row in present:
        value = _metric(row, rule.metric)
        if row.step is not None and row.step in counting and value is not None:
            values[row.step] = value
    sign = -1.0 if rule.highest else 1.0
    ranked = sorted(values, key=lambda step: (sign * values[step], -step))[: rule.count]
    return {
        step: f"number {place} of the best {rule.count} by {visible(rule.metric)} ({values[step]:g})"
        for place, step in enumerate(ranked, start=1)
    }


def _metric(row: Step, metric: str) -> float | None:
    for copy in (row.primary, row.mirror):
        record = None if copy is None else copy.sighting.record
        value = None if record is None else record.metrics.get(metric)
        if value is not None and math.isfinite(value):
            return value
    return None


def would_free(survey: Survey, role: Role) -> int:
    """Bytes that pruning by the policy could free on one side now: verified copies with N newer verified ones there."""
    if role not in survey.policy.prune_sides:
        return 0
    kept = keep_set(survey)
    roles = {side.role for side in survey.sides} & {role, Role.MIRROR}
    oldest_needed = [_nth_newest_verified(survey, each) for each in roles]
    freed = 0
    for row in survey.steps:
        copy = row.on(role)
        if row.name in kept or copy is None or copy.state is not State.VERIFIED or not row_counts(row, survey):
            continue
        enough = all(step is not None and row.step is not None and row.step < step for step in oldest_needed)
        if enough and protects(copy, role, survey, survey.taken_at) is None:
            freed += copy.size
    return freed


def _nth_newest_verified(survey: Survey, role: Role) -> int | None:
    """The oldest of the last N steps that are verified on a side; None when there are fewer."""
    steps = {row.step for row in survey.steps if row.step is not None and _state(row.on(role)) is State.VERIFIED}
    newest = sorted(steps, reverse=True)[: survey.policy.keep_last]
    return newest[-1] if len(newest) == survey.policy.keep_last else None


def _state(copy: Checkpoint | None) -> State:
    return State.ABSENT if copy is None else copy.state


def _nowhere(row: Step) -> bool:
    return {_state(row.primary), _state(row.mirror)} <= _GONE_FOR_GOOD


def _retired(row: Step) -> bool:
    return row.verdict is Verdict.RETIRED


def _only_bad(row: Step) -> bool:
    """Nothing on either side could ever serve."""
    return {_state(row.primary), _state(row.mirror)} <= BAD | NOT_THERE


def _pin(row: Step) -> str | None:
    for copy in (row.primary, row.mirror):
        if copy is not None and copy.sighting.pinned is not None:
            return copy.sighting.pinned
    return None
