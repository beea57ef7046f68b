"""Plans and what came of them, as people read them on stdout."""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.cli.text import Paint, paint_plain, table
from ckptdeck.core.amounts import counted, size_text, span_text
from ckptdeck.core.guards import WAITING
from ckptdeck.core.plans.plan import ItemResult, Outcome, Plan, PlanItem, PlanResult, outcomes_text
from ckptdeck.core.safe_text import visible


def plan_lines(plan: Plan, paint: Paint = paint_plain) -> Iterator[str]:
    """Reason by reason what would be done, then what stays and why, then what it needs."""
    if plan.answer:
        yield paint(plan.answer, "strong")
        yield ""
    if plan.refused is not None:
        yield paint("REFUSED ", "bad") + f"{plan.refused.text} ({plan.refused.guard})"
    acting = plan.acting
    yield from table([_item_cells(item) for item in acting], indent="  ")
    rest = [item for item in plan.items if not item.acts]
    if rest:
        yield ("" if not acting else "\n") + f"left alone: {len(rest)}"
        yield from table([_item_cells(item) for item in rest], indent="  ")
    if acting:
        amounts = [f"{counted(len(acting), 'item')}"]
        if plan.needs:
            amounts.append(f"needs {size_text(plan.needs)}")
        if plan.frees:
            amounts.append(f"frees {'up to ' if plan.at_most else ''}{size_text(plan.frees)}")
        yield paint(f"{plan.action}: {', '.join(amounts)}  plan {plan.digest}", "strong")
    elif plan.refused is None:
        yield f"{plan.action}: nothing to do"


def waiting_lines(plan: Plan, min_age: float) -> Iterator[str]:
    """When to come back, where all that there was to do only has to become quiet. `min_age`: the age guard, seconds."""
    waiting = [item for item in plan.items if item.guard in WAITING]
    if waiting and not plan.acting and plan.refused is None:
        guards = ", ".join(dict.fromkeys(str(item.guard) for item in waiting))
        yield (
            f"{plan.action}: {counted(len(waiting), 'item')} held back for now ({guards}). "
            f"Come back when nothing has written there for {span_text(min_age)}"
        )


def held_back_lines(plan: Plan) -> Iterator[str]:
    """What a guard keeps from a plan, each with its reason: deletions that do not happen are never silent."""
    held = [item for item in plan.items if item.guard is not None]
    if held:
        yield f"left alone: {len(held)}"
        yield from table([_item_cells(item) for item in held], indent="  ")


def _item_cells(item: PlanItem) -> list[str]:
    size = size_text(item.size) if item.size else ""
    reason = item.reason if item.guard is None else f"{item.reason} ({item.guard})"
    return [item.act.value, visible(item.name), f"on {item.side.value}", size, reason]


_OUTCOMES = {
    Outcome.DONE: ("+", "good"),
    Outcome.SKIPPED: ("-", "warn"),
    Outcome.FAILED: ("x", "bad"),
    Outcome.CANCELLED: ("-", "warn"),
}


def result_line(result: ItemResult, paint: Paint = paint_plain) -> str:
    glyph, ink = _OUTCOMES[result.outcome]
    item = result.item
    head = f"{glyph} {item.act.value} {visible(item.name)} on {item.side.value}"
    word = "" if result.outcome is Outcome.DONE else f" {result.outcome.value.upper()}"
    return paint(head + word, ink) + (f"  {result.text}" if result.text else "")


def summary_line(result: PlanResult) -> str:
    """`mirror: 3 done, 1 failed`."""
    return f"{result.plan.action}: {outcomes_text(result.results) or 'nothing done'}"
