"""What an operator knows and no hash can tell: that a recorded content is bad, or is not after all.

The mark belongs to the content, so a copy of it made again is bad too. Both sides' records carry it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptdeck.core.amounts import counted
from ckptdeck.core.errors import UsageError
from ckptdeck.core.guards import Guard, side_not_usable
from ckptdeck.core.plans.items import choose_rows, does, stays, stopped
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.safe_text import shell_word
from ckptdeck.core.sides import Step, Survey


def plan_mark_bad(survey: Survey, names: Sequence[str]) -> Plan:
    """Declares the recorded content of the named checkpoints bad. Raises UsageError without names, or for one that
    is nowhere."""
    return _plan("mark-bad", Act.MARK_BAD, survey, names)


def plan_unmark_bad(survey: Survey, names: Sequence[str]) -> Plan:
    """Takes the mark back; what is on disk is then judged by its hash alone. Raises as above."""
    return _plan("unmark-bad", Act.UNMARK_BAD, survey, names)


def _plan(action: str, act: Act, survey: Survey, names: Sequence[str]) -> Plan:
    if not names:
        raise UsageError("No checkpoint was named", next_step=f"Name those to {action}")
    refused = next((r for s in survey.sides if (r := side_not_usable(survey, s.role)) is not None), None)
    if refused is not None:
        return Plan(action, (), refused, names=tuple(names))
    rows, strangers = choose_rows(survey, names)
    items = [item for row in rows for item in _row_items(act, row, survey)]
    marked = len({item.name for item in items if item.acts})
    word = "bad" if act is Act.MARK_BAD else "not bad after all"
    answer = f"{counted(marked, 'checkpoint')} {word}" if marked else "no mark changes"
    ordered = tuple(sorted([*items, *strangers], key=lambda item: not item.acts))
    return Plan(action, ordered, answer=answer, names=tuple(names))


def _row_items(act: Act, row: Step, survey: Survey) -> Iterator[PlanItem]:
    for side in survey.sides:
        copy = row.on(side.role)
        if copy is None:
            continue
        record = copy.sighting.record
        if record is None:
            if copy.sighting.identity is not None:
                text = f"the mark belongs to a recorded content; `ckptdeck adopt {shell_word(copy.name)}` records it"
                yield stopped(copy, side.role, Refusal(Guard.NEEDS_ADOPT, text))
        elif (record.marked_bad is not None) is (act is Act.MARK_BAD):
            word = "marked bad already" if record.marked_bad is not None else "not marked"
            yield stays(copy, side.role, word)
        else:
            content = f"content {record.digest[:8]}"
            reason = (
                f"{content} is bad, and so is any copy of it"
                if act is Act.MARK_BAD
                else f"{content} is judged by its hash alone again"
            )
            yield does(act, side.role, copy, reason, {"digest": record.digest})
