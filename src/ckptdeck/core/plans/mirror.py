"""What is copied to the mirror: what the retention keeps and is not whole there, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.guards import Guard, blocks_reading, in_flight, live_writer, other_kind, protects, side_not_usable
from ckptdeck.core.guards import foreign as is_foreign
from ckptdeck.core.guards import symlink as is_symlink
from ckptdeck.core.guards import unreadable as cannot_be_read
from ckptdeck.core.plans.clashes import Clashes
from ckptdeck.core.plans.items import (
    choose_rows,
    does,
    in_order,
    leftover_part,
    names_of,
    part_details,
    stays,
    stopped,
)
from ckptdeck.core.plans.keep import keep_set
from ckptdeck.core.plans.plan import Act, Plan, PlanItem, Refusal
from ckptdeck.core.plans.pointers import pointer_items
from ckptdeck.core.plans.room import fit, nothing_fits, total_need
from ckptdeck.core.safe_text import shell_word
from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import BAD, NOT_THERE, FlightState, Role, State, Verdict
from ckptdeck.core.values import dataclass
from ckptdeck.core.verdict import rolled_on


def plan_mirror(survey: Survey, names: Sequence[str] = (), *, all_steps: bool = False, replace: bool = False) -> Plan:
    """Copies to the mirror. Without names and `all_steps` only what the retention would keep afterwards.

    `replace` lets named checkpoints that diverged be copied again; the old copy goes to quarantine once the new one
    is proven. Raises UsageError for a name that is nowhere.
    """
    options = {key: "true" for key, given in (("all", all_steps), ("replace", replace)) if given}
    refused = side_not_usable(survey, Role.PRIMARY) or side_not_usable(survey, Role.MIRROR)
    if refused is not None:
        return Plan("mirror", (), refused, options=options, names=tuple(names))
    rows, strangers = choose_rows(survey, names)
    wanted = copy_items(survey, rows, Wish(frozenset(names), all_steps, replace))
    fitted = fit(wanted, survey)
    refused = nothing_fits(wanted, fitted, survey)
    acting = tuple(item for item in fitted if item.acts)
    pointers = tuple(pointer_items(survey, Role.MIRROR, frozenset(item.name for item in acting)))
    return Plan(
        "mirror",
        in_order(fitted) + pointers + strangers,
        refused,
        needs=total_need(wanted if refused is not None else fitted),
        answer=_answer(acting),
        options=options,
        names=tuple(names),
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asked for."""

    names: frozenset[str] = frozenset()
    all_steps: bool = False
    replace: bool = False

    def covers(self, row: Step) -> bool:
        """Asked for by name or by `--all`, whatever the retention says."""
        return self.all_steps or bool(self.names & names_of(row))

    def may_replace(self, row: Step) -> bool:
        return self.replace and bool(self.names & names_of(row))


def copy_items(survey: Survey, rows: Sequence[Step], wish: Wish) -> tuple[PlanItem, ...]:
    """One item per row: interrupted copies first, then copies newest first, then what stays. Room is not looked at."""
    mirror = survey.mirror
    if mirror is None:
        return ()
    clashes = Clashes(survey, Role.MIRROR)
    items = [(row, _judge(row, survey, mirror, wish, clashes)) for row in rows]
    expecting = frozenset(row.name for row, item in items if item.acts)
    kept = keep_set(survey, expecting)
    chosen = [_by_retention(row, item, wish, kept) for row, item in items]
    return in_order(chosen)


def _by_retention(row: Step, item: PlanItem, wish: Wish, kept: dict[str, str]) -> PlanItem:
    if not item.acts or wish.covers(row):
        return item
    if row.name in kept:
        return replace(item, reason=f"{item.reason}; {kept[row.name]}")
    reason = "the retention would not keep it on the mirror; its name or `--all` copies it all the same"
    return PlanItem(item.name, item.side, Act.KEEP, reason, size=item.size, step=item.step)


def _judge(row: Step, survey: Survey, mirror: Side, wish: Wish, clashes: Clashes) -> PlanItem:
    """Whether a row needs and can have a copy, the retention left aside."""
    source, copy = row.primary, row.mirror
    either = source or copy
    assert either is not None  # a row has at least one side
    if row.verdict is Verdict.SAFE:
        return stays(either, Role.MIRROR, "whole on both sides")
    if row.verdict is Verdict.RETIRED:
        return stays(either, Role.MIRROR, "retired: no longer mirrored")
    if source is None or source.state in NOT_THERE:
        return stays(either, Role.MIRROR, _no_source(row, copy))
    refusal = _source_refusal(source, copy, survey)
    if refusal is not None:
        return stopped(source, Role.MIRROR, refusal)
    if copy is None or copy.state in NOT_THERE:
        return _fresh_copy(row, source, copy, mirror, wish, clashes)
    return _beside(row, source, copy, survey, wish)


def _no_source(row: Step, copy: Checkpoint | None) -> str:
    if row.verdict is Verdict.IN_FLIGHT:
        return f"still being written: {row.reason}"
    if copy is None or copy.state in NOT_THERE:
        return "on neither side"
    return f"only on the mirror ({copy.state})"


def _source_refusal(source: Checkpoint, copy: Checkpoint | None, survey: Survey) -> Refusal | None:
    """Why the primary's copy may not be read as the good one."""
    refusal = is_symlink(source)
    if refusal is not None:
        return refusal
    name = shell_word(source.name)
    if source.state in BAD:
        remedy = f"; `ckptdeck repair {name}` takes the mirror's" if copy and copy.state is State.VERIFIED else ""
        return Refusal(Guard.BAD, f"{source.state} on the primary: {source.reason}{remedy}")
    if source.state is State.SUSPECT:
        remedy = f"`ckptdeck adopt {name} --side primary` vouches for it"
        return Refusal(Guard.SUSPECT, f"suspect on the primary: {source.reason}; {remedy}")
    if source.state is State.CHANGED:
        remedy = f"`ckptdeck adopt {name} --replace` records what is there now"
        return Refusal(Guard.CHANGED, f"written again after it was recorded; {remedy}")
    if source.sighting.record is None and source.sighting.next_record is not None:
        return Refusal(Guard.INTERRUPTED, "its publish was interrupted; `ckptdeck recover` finishes it")
    refusal = blocks_reading(source, survey.primary, survey.taken_at, survey.policy.min_age)
    return refusal or in_flight(source.name, survey.primary)


def _fresh_copy(
    row: Step, source: Checkpoint, copy: Checkpoint | None, mirror: Side, wish: Wish, clashes: Clashes
) -> PlanItem:
    """The name is free on the mirror."""
    if copy is not None and copy.state is State.REMOVED and not wish.covers(row):
        return stays(copy, Role.MIRROR, "was removed from the mirror on purpose; its name or `--all` copies it again")
    part = leftover_part(mirror, source.name)
    refusal = clashes.refusal(source) or (in_flight(source.name, mirror) if part is None else None)
    if refusal is not None:
        return stopped(source, Role.MIRROR, refusal)
    details = {"from": str(Role.PRIMARY), "source": _source_word(source), **part_details(part)}
    if part is None:
        reason = f"{source.state} on the primary, not on the mirror"
    else:
        reason = f"an interrupted copy goes on: {size_text(part.size)} of {size_text(source.size)} are there"
        if part.state is FlightState.READY:
            reason = "an interrupted copy is complete and only lacks its name"
    return does(Act.COPY, Role.MIRROR, source, reason, details)


def _beside(row: Step, source: Checkpoint, copy: Checkpoint, survey: Survey, wish: Wish) -> PlanItem:
    """Something has the name on the mirror already."""
    name = shell_word(copy.name)
    refusal = is_symlink(copy) or is_foreign(copy) or other_kind(copy, source)
    refusal = refusal or cannot_be_read(copy) or live_writer(copy)
    if refusal is not None:
        return stopped(copy, Role.MIRROR, refusal)
    if row.verdict is Verdict.DIVERGED or copy.state is State.RETIRED or rolled_on(source, copy):
        return _replacement(row, source, copy, survey, wish)
    if copy.state in BAD or copy.state in (State.SUSPECT, State.CHANGED):
        first = "" if source.state is State.VERIFIED else f"prove the primary's with `ckptdeck verify {name}`, then "
        if source.sighting.record is None:
            first = f"record the primary's with `ckptdeck adopt {name}`, then "
        text = f"{copy.state} on the mirror: {copy.reason}; {first}`ckptdeck repair {name}` replaces it"
        return stopped(copy, Role.MIRROR, Refusal(Guard.NEEDS_REPAIR, text))
    if copy.sighting.record is None or source.sighting.record is None:
        text = f"on both sides, not recorded on both; `ckptdeck adopt {name}` compares and records them"
        return stopped(copy, Role.MIRROR, Refusal(Guard.NEEDS_ADOPT, text))
    unproven = [str(role) for role in Role if (each := row.on(role)) and each.state is State.SIZE_ONLY]
    sides = " and the ".join(unproven) or "mirror"
    return stays(copy, Role.MIRROR, f"on both sides; the {sides} is not proven, `ckptdeck verify {name}` does it")


def _replacement(row: Step, source: Checkpoint, copy: Checkpoint, survey: Survey, wish: Wish) -> PlanItem:
    follows = rolled_on(source, copy)
    if not wish.may_replace(row) and copy.state is not State.RETIRED and not follows:
        text = (
            "both sides are whole and differ; "
            f"`ckptdeck mirror {shell_word(row.name)} --replace` takes the primary's and quarantines the mirror's"
        )
        return stopped(copy, Role.MIRROR, Refusal(Guard.DIVERGED, text))
    refusal = protects(copy, Role.MIRROR, survey, survey.taken_at)
    if refusal is not None:
        return stopped(copy, Role.MIRROR, refusal)
    mirror = survey.mirror
    part = None if mirror is None else leftover_part(mirror, source.name)
    details = {"from": str(Role.PRIMARY), "source": "recorded", "replace": "true", **part_details(part)}
    if follows:
        reason = "a rolling name that was saved again: takes the place of the mirror's once it is proven"
        return does(Act.COPY, Role.MIRROR, source, reason, {**details, "rolling": "true"}, replaced=copy)
    which = "is of before the rollback" if copy.state is State.RETIRED else "differs"
    reason = f"replaces the mirror's, which {which} and goes to quarantine once the new copy is proven"
    return does(Act.COPY, Role.MIRROR, source, reason, details, replaced=copy)


def _source_word(source: Checkpoint) -> str:
    return "candidate" if source.sighting.record is None else "recorded"


def _answer(acting: Sequence[PlanItem]) -> str:
    if not acting:
        return "nothing to copy"
    return f"copy {counted(len(acting), 'checkpoint')} to the mirror: {size_text(total_need(acting))}, newest first"
