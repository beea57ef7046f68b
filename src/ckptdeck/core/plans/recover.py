"""After a reboot or a crash: where to resume, what is finished, what is dropped, what stays and why.

Names are the journal: everything is decided from what is on disk, so a second run finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptdeck.core.amounts import span_text
from ckptdeck.core.guards import condition, side_not_usable
from ckptdeck.core.plans.interrupted import interrupted_items
from ckptdeck.core.plans.items import may_share_blocks, stays
from ckptdeck.core.plans.keep import keep_set
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sides import Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, Condition, Role, State, Verdict

_MAY_BE_SAVED = CANDIDATES | {State.CHANGED, State.SUSPECT, State.UNSAFE_WRITE, State.UNREADABLE}

_NO_LOSS = frozenset({Verdict.RETIRED, Verdict.IN_FLIGHT})


def plan_recover(survey: Survey) -> Plan:
    """`answer` says where to resume and what was lost; refused only when no side can be worked on.

    A side that is not ready gets no items; while it cannot be believed nothing is discarded on the other either.
    """
    ready = [side for side in survey.sides if side.inventory.condition is Condition.OK]
    if not ready:
        where, rest = _resume(survey), _consequence(survey, ())
        return Plan("recover", (), side_not_usable(survey, Role.PRIMARY), answer=f"{where}; {rest}", consequence=rest)
    items = [item for side in ready for item in interrupted_items(side, survey)]
    taken = {(item.side, item.name) for item in items}
    items += [item for item in _findings(survey) if (item.side, item.name) not in taken]
    ordered = tuple(sorted(items, key=lambda item: (not item.acts, item.step is None, -(item.step or 0))))
    rest = _consequence(survey, ordered)
    at_most = may_share_blocks(survey, ordered)
    return Plan("recover", ordered, at_most=at_most, answer=f"{_resume(survey)}; {rest}", consequence=rest)


# --- what is not as it should be, and which command sees to it


def _findings(survey: Survey) -> Iterator[PlanItem]:
    kept = keep_set(survey)
    for row in survey.steps:
        for side in survey.sides:
            copy = row.on(side.role)
            advice = None if copy is None else _advice(row, side.role, copy)
            if copy is not None and advice is not None:
                wanted = f"; the retention keeps it ({kept[row.name]})" if row.name in kept else ""
                yield stays(copy, side.role, advice + (wanted if copy.state in BAD | NOT_THERE else ""))
        if row.verdict is Verdict.MIRROR_ME and row.name in kept and row.primary is not None:
            name = shell_word(row.name)
            yield stays(row.primary, Role.MIRROR, f"not on the mirror yet; `ckptdeck mirror {name}` copies it")


def _advice(row: Step, role: Role, copy: Checkpoint) -> str | None:
    """None for what needs no hand."""
    name = shell_word(copy.name)
    other = row.on(role.other)
    whole = other is not None and other.state is State.VERIFIED
    if copy.state in BAD or copy.state is State.SUSPECT:
        remedy = (
            f"`ckptdeck repair {name}` takes the {role.other}'s"
            if whole
            else "there is no verified copy to repair it from"
        )
        return f"{copy.state}: {copy.reason}; {remedy}"
    if copy.state is State.CHANGED:
        return f"written again after it was recorded; `ckptdeck adopt {name} --replace` records what is there now"
    if copy.state is State.MISSING:
        return f"recorded and gone from the {role}; " + (
            f"whole on the {role.other}" if whole else "no whole copy is left"
        )
    if copy.state in CANDIDATES and copy.sighting.record is None:
        return f"{copy.state}, without a record; `ckptdeck adopt {name}` proves and records it"
    if copy.state in (State.UNREADABLE, State.UNSAFE_WRITE):
        return f"{copy.state}: {copy.reason}"
    return None


# --- the answer


def _consequence(survey: Survey, items: Sequence[PlanItem]) -> str:
    parts = [*_finishing(survey, items), *_losses(survey, items)]
    for side in survey.sides:
        refusal = condition(side)
        if refusal is not None and not side.inventory.condition.readable:
            parts.append(f"the {side.role} could not be looked at: {refusal.text}")
    return "; ".join(parts)


def _resume(survey: Survey) -> str:
    point = survey.resume
    if point is not None:
        where = f"resume from {_label(point.step, point.name)} on the {point.side}"
        if not point.certain or point.verified_at is None:
            return f"{where} ({visible(point.name)}, {point.state}; `ckptdeck resume` proves it first)"
        return f"{where} ({visible(point.name)}, verified {span_text(survey.taken_at - point.verified_at)} ago)"
    for row in survey.steps:
        for role in Role:
            copy = row.on(role)
            if copy is not None and copy.state in CANDIDATES:
                command = "verify" if copy.sighting.record is not None else "adopt"
                best = f"{_label(row.step, row.name)} on the {role} ({copy.state})"
                proof = f"`ckptdeck {command} {shell_word(row.name)}` proves it"
                return f"nothing is whole; the best candidate is {best}, {proof}"
    if survey.steps:
        return "nothing is whole and there is no candidate"
    return "no checkpoint and no record: a fresh run"


def _finishing(survey: Survey, items: Sequence[PlanItem]) -> Iterator[str]:
    floor = _resume_step(survey)
    for item in items:
        if item.act is Act.FINISH and item.details.get("mode") == "roll-forward" and (item.step or 0) > floor:
            yield f"this plan finishes {_label(item.step, item.name)} on the {item.side}, then resume from it"
            return


def _losses(survey: Survey, items: Sequence[PlanItem]) -> Iterator[str]:
    """Steps newer than the resume point that are gone, and those that may still turn out whole."""
    floor = _resume_step(survey)
    finishing = {item.name for item in items if item.act is Act.FINISH}
    lost: dict[int, str] = {}
    unproven: dict[int, str] = {}
    for row in survey.steps:
        if row.step is None or row.step <= floor or row.name in finishing or row.verdict in _NO_LOSS:
            continue
        copies = [copy for copy in (row.primary, row.mirror) if copy is not None and copy.state is not State.ABSENT]
        words = ", ".join(dict.fromkeys(str(copy.state) for copy in copies))
        (unproven if any(copy.state in _MAY_BE_SAVED for copy in copies) else lost)[row.step] = words
    for item in items:
        if item.act is Act.DISCARD and item.step is not None and item.step > floor and item.step not in unproven:
            lost.setdefault(item.step, "never finished")
    if unproven:
        yield f"newer and not proven: {_listed(unproven)}"
    yield f"steps lost: {_listed(lost)}" if lost else "no step is lost"


def _listed(steps: dict[int, str]) -> str:
    return ", ".join(f"{step} ({words})" for step, words in sorted(steps.items(), reverse=True))


def _resume_step(survey: Survey) -> int:
    point = survey.resume
    return -1 if point is None or point.step is None else point.step


def _label(step: int | None, name: str) -> str:
    return visible(name) if step is None else f"step {step}"
