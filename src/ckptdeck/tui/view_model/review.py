"""A plan as a person reads it before saying yes, and what a quit would leave behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.plans.prune import wish_of
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.snapshot import Job
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import JOBS
from ckptdeck.tui.view_model.item_lines import ItemLines, Together
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, line, spread, wrap

TITLES = {
    "start": "Record and mirror everything",
    "adopt": "Adopt: write records for what has none",
    "mirror": "Mirror",
    "repair": "Repair the bad side from the whole one",
    "recover": "Recover after an interruption",
    "mend": "Recover: finish what was cut short, then repair and copy",
    "restore": "Restore from the mirror",
    "prune": "Prune: delete what the retention does not keep",
    "quarantine": "Quarantine: set bad copies aside",
    "purge": "Purge: delete from quarantine for good",
    "mark-bad": "Mark bad: whatever its hash says",
    "unmark-bad": "Not bad: take the mark back",
}


def title_of(plan: Plan) -> str:
    if plan.action == "rollback":
        return f"Roll back to step {visible(plan.options.get('step', ''))}"
    if plan.action == "restore" and "from-quarantine" in plan.options:
        return "Put back from quarantine"
    return TITLES.get(plan.action, plan.action.capitalize())


def title_line(plan: Plan, digest: str, width: int) -> Line:
    """The kind of plan, and the fingerprint of exactly what it would do."""
    return spread(line(Piece(title_of(plan), Ink.STRONG)), line(Piece(f"plan {digest}", Ink.MUTED)), width)


def choices_line(can_run: bool, below: int, width: int, keys: KeyMap, *, armed: bool = True) -> Line:
    """The keys of the dialog, printed in it. `armed`: the one that confirms works now."""
    pieces = [Piece(" ")]
    confirm, copy = (f"  {key_word(keys, Place.REVIEW, action)} " for action in ("confirm", "copy"))
    if can_run:
        key, word = (Ink.KEY, Ink.PLAIN) if armed else (Ink.OFF, Ink.OFF)
        pieces += [Piece(confirm, key, "screen.confirm"), Piece("Do it ", word, "screen.confirm")]
    pieces += [Piece(copy, Ink.KEY, "screen.copy"), Piece("Copy command ", Ink.PLAIN, "screen.copy")]
    more = line(Piece(f"{below} more below", Ink.WARN)) if below else ()
    return spread(tuple(pieces), more, width)


def summary_line(plan: Plan, survey: Survey | None) -> Line:
    """`3 to do, 1 stopped, 9 stay  7.41G of 17.0G free on mirror`."""
    acting = plan.acting
    kept = sum(item.act is Act.KEEP for item in plan.items)
    stopped = sum(item.act is Act.SKIP for item in plan.items)
    parts = [f"{len(acting):,} to do"]
    parts += [f"{stopped:,} stopped"] if stopped else []
    parts += [f"{kept:,} stay"] if kept else []
    pieces = [Piece(", ".join(parts), Ink.STRONG)]
    if plan.needs:
        side = _changed_side(acting)
        free = _free(survey, side)
        need = f"  needs {measures.size(plan.needs)}"
        if free is None:
            pieces.append(Piece(need))
        else:
            ink = Ink.BAD if free < plan.needs else Ink.PLAIN
            pieces.append(Piece(f"{need} of {measures.size(free)} free on {side}", ink))
    if plan.frees:
        pieces.append(Piece(f"  frees {'up to ' if plan.at_most else ''}{measures.size(plan.frees)}"))
    return tuple(pieces)


def _changed_side(acting: tuple[PlanItem, ...]) -> Role | None:
    sides = {item.side for item in acting if item.act in (Act.COPY, Act.REPAIR)}
    return sides.pop() if len(sides) == 1 else None


def _free(survey: Survey | None, side: Role | None) -> int | None:
    looked_at = survey.side(side) if survey is not None and side is not None else None
    return looked_at.inventory.volume.free if looked_at is not None and looked_at.inventory.volume else None


def plan_lines(plan: Plan, survey: Survey | None, width: int) -> Sequence[Line]:
    """What is done and why, what a guard stopped, what stays and why."""
    lead: list[Line] = []
    if plan.refused is not None:
        lead += wrap(line(Piece("REFUSED  ", Ink.BAD), plan.refused.text), width, indent="  ")
        lead += [BLANK] if plan.answer else []
    if plan.answer:
        lead += wrap(line(Piece(plan.answer, Ink.STRONG)), width, indent="  ")
    if plan.action == "prune" and survey is not None:
        lead += wrap(line(Piece(_rule(plan, survey), Ink.MUTED)), width, indent="  ")
    parts: list[Sequence[Line]] = []
    stopped = [item for item in plan.items if item.act is Act.SKIP]
    kept = [item for item in plan.items if item.act is Act.KEEP]
    for heading, items in (("to do", plan.acting), ("stopped by a guard", stopped), ("stays as it is", kept)):
        if items:
            sides = {item.side for item in items}
            where = f" on {sides.pop()}" if len(sides) == 1 else ""
            head = line(Piece(heading + where, Ink.MUTED))
            parts += [(BLANK, head) if parts or lead else (head,), ItemLines(items, width, sided=not where)]
    return Together(lead, *parts) if lead or parts else (line("There is nothing to do."),)


def _rule(plan: Plan, survey: Survey) -> str:
    """The retention that chose, and how far it reaches: `kept: the last 12 whole steps, and pins; goes: steps ...`."""
    policy = wish_of(plan.options).over(survey.policy)
    rules = [f"the last {policy.keep_last} whole steps"]
    rules += [f"every step that {policy.keep_every} divides"] if policy.keep_every is not None else []
    if policy.keep_best is not None:
        rules.append(f"the best {policy.keep_best.count} by {visible(policy.keep_best.metric, 20)}")
    steps = [item.step for item in plan.acting if item.act is Act.DELETE and item.step is not None]
    going = f"; goes: steps {min(steps)} to {max(steps)}" if steps else ""
    return f"kept: {', '.join(rules)}, and pins{going}"


def quit_lines(jobs: Iterable[Job], width: int) -> tuple[Line, ...]:
    """Each unfinished job, and what becomes of it."""
    lines: list[Line] = []
    for job in jobs:
        mark = JOBS[job.state]
        done = measures.percent(job.total_done, job.total_size)
        lines.append(
            line(Piece(f"{mark.glyph} ", mark.ink), Piece(job.title, Ink.STRONG), f"  {mark.word} {done}".rstrip())
        )
        lines += wrap(line(Piece(f"  {job.if_we_quit or 'stops at a safe point'}", Ink.MUTED)), width, indent="  ")
    return tuple(lines)
