"""What a crash left of a publish or a copy: parts and next records, and what becomes of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckptdeck.core.amounts import size_text
from ckptdeck.core.guards import (
    any_not_quiet,
    condition,
    foreign,
    live_writer,
    not_quiet,
    symlink,
    uninitialised,
    unreadable,
)
from ckptdeck.core.plans.items import does, inode_of, part_stamps, stamps_of, stopped
from ckptdeck.core.plans.mirror import Wish, copy_items
from ckptdeck.core.plans.plan import Act, PlanItem, Refusal
from ckptdeck.core.plans.repair import repair_row
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sides import Side, Survey
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.states import FlightState, Origin, Role


def interrupted_items(side: Side, survey: Survey) -> Iterator[PlanItem]:
    """An item for each part and each next record of an initialised side."""
    for flight in side.inventory.in_flight:
        yield _part_item(flight, side, survey)
    for removal in side.inventory.removing:
        reason = "a deletion that was interrupted; it is finished, or its record comes back where the name still stands"
        details = {"mode": "removal", "id": removal.id}
        yield PlanItem(removal.name, side.role, Act.FINISH, reason, details=details)
    staged = {flight.target for flight in side.inventory.in_flight}
    known = set()
    for checkpoint in side.checkpoints:
        if checkpoint.sighting.next_record is not None:
            known.add(checkpoint.name)
            if checkpoint.name not in staged:
                yield _next_record_item(checkpoint, side, survey)
    for name in side.inventory.orphan_next:
        if name not in staged | known:
            yield _orphan_item(name, side, survey)


def no_deletion(survey: Survey) -> Refusal | None:
    """Invariant 5: a side that cannot be believed stops deletions on both."""
    for side in survey.sides:
        if uninitialised(survey, side.role) is None:
            refusal = condition(side)
            if refusal is not None:
                return refusal
    return None


# --- parts


def _part_item(flight: InFlight, side: Side, survey: Survey) -> PlanItem:
    shown = visible(flight.name)
    if flight.final_name:
        return _part(Act.KEEP, flight, side, "is written directly under its final name; it is judged once it is quiet")
    if flight.state is FlightState.LIVE:
        return _part(Act.KEEP, flight, side, f"{shown} is being written: {visible(flight.reason)}")
    if flight.state is FlightState.UNKNOWN:
        return _part(Act.KEEP, flight, side, f"{shown} may still be being written: {visible(flight.reason)}")
    if flight.staged:
        return _staged_item(flight, side, survey)
    final = side.find(flight.target)
    if final is not None and _same_file(flight, final):
        reason = f"published already; {shown} is only a second name of it"
        item = does(Act.FINISH, side.role, final, reason, {"mode": "linked-part", "part": flight.name})
        refusal = live_writer(final)
        return item if refusal is None else stopped(final, side.role, refusal)
    if flight.state is FlightState.READY and flight.ours:
        return _roll_forward(flight, final, side)
    return _leftover(flight, side, survey)


def _staged_item(flight: InFlight, side: Side, survey: Survey) -> PlanItem:
    """A directory or a group that nobody writes any more.

    Announced, it was complete: it gets its name, or had it already and what is staged is the one it replaced.
    """
    if flight.announced:
        size = size_text(flight.size)
        reason = f"announced as complete, {size} are staged; it gets its name if it holds what was announced"
        return _part(Act.FINISH, flight, side, reason, {"mode": "tree"})
    return _leftover(flight, side, survey)


def _same_file(flight: InFlight, final: Checkpoint) -> bool:
    return flight.inode != 0 and inode_of(final) == flight.inode and final.size == flight.size


def _roll_forward(flight: InFlight, final: Checkpoint | None, side: Side) -> PlanItem:
    """A complete part gets its name; over an older final only where the interrupted publish was meant to replace it.

    The owner's own publish is bound by invariant 1 alone, and so is its completion. A part of our own repair or
    replacing copy is left to that command, which brings the old final to quarantine first.
    """
    details = {"mode": "roll-forward"}
    if final is None or final.sighting.identity is None:
        return _part(Act.FINISH, flight, side, "complete, and only its name is missing", details)
    following = final.sighting.next_record
    name = shell_word(flight.target)
    if following is not None and following.origin is not Origin.PUBLISHED:
        command = "repair" if following.origin is Origin.RESTORED or side.role is Role.PRIMARY else "repair` or `mirror"
        reason = f"complete beside an older file of its name; `ckptdeck {command}` {name} goes on with it"
        return _part(Act.KEEP, flight, side, reason)
    if following is None or following.replaces is None or final.digest not in (None, following.replaces):
        reason = (
            f"complete, but {visible(flight.target)} is not the file it was to replace; both stay for you to compare"
        )
        return _part(Act.KEEP, flight, side, reason)
    refusal = foreign(final) or symlink(final) or unreadable(final) or live_writer(final)
    if refusal is not None:
        return stopped(final, side.role, refusal)
    return _part(Act.FINISH, flight, side, "complete, and replaces the older file of its name", details, final)


def _leftover(flight: InFlight, side: Side, survey: Survey) -> PlanItem:
    """A quiet part that nobody writes."""
    size = size_text(flight.size)
    if flight.expected_size is not None:
        size += f" of {size_text(flight.expected_size)}"
    if not flight.ours:
        reason = f"{visible(flight.name)} ({size}) was left by another program; it is not ours to remove"
        return _part(Act.KEEP, flight, side, reason)
    command = _continued_by(flight, side, survey)
    if command is not None:
        return _part(Act.KEEP, flight, side, f"an interrupted copy, {size} are there; `{command}` goes on with it")
    refusal = no_deletion(survey) or not_quiet(flight.mtime_ns, survey.taken_at, survey.policy.min_age)
    if refusal is not None:
        return _part(Act.SKIP, flight, side, f"a leftover of {size}: {refusal.text}", guard=str(refusal.guard))
    reason = f"{size} of an interrupted publish: {visible(flight.reason)}"
    return _part(Act.DISCARD, flight, side, reason, {"mode": "tree" if flight.staged else "part"})


def _continued_by(flight: InFlight, side: Side, survey: Survey) -> str | None:
    """The command that would go on with a leftover copy, asked from the planners themselves."""
    rows = [row for row in survey.steps if row.name == flight.target]
    for row in rows:
        for action, items in (
            ("mirror", copy_items(survey, [row], Wish(all_steps=True))),
            ("repair", tuple(repair_row(row, survey))),
        ):
            for item in items:
                if item.side is side.role and item.details.get("part") == flight.name:
                    return f"ckptdeck {action} {shell_word(item.name)}"
    return None


def _part(
    act: Act,
    flight: InFlight,
    side: Side,
    reason: str,
    details: Mapping[str, str] | None = None,
    final: Checkpoint | None = None,
    guard: str | None = None,
) -> PlanItem:
    acts = details is not None
    return PlanItem(
        flight.target or flight.name,
        side.role,
        act,
        reason,
        size=flight.size,
        step=flight.step,
        guard=guard,
        stamps=part_stamps(flight) if acts and not flight.staged else (),
        inode=flight.inode if acts else None,
        kind=flight.kind,
        target=() if final is None else stamps_of(final),
        target_inode=None if final is None else inode_of(final),
        details={} if details is None else {**details, "part": flight.name},
        frees=flight.size if act is Act.DISCARD else 0,
    )


# --- next records without a part


def _next_record_item(checkpoint: Checkpoint, side: Side, survey: Survey) -> PlanItem:
    """The final is there: is it what the next record announces?"""
    sighting, now, min_age = checkpoint.sighting, survey.taken_at, survey.policy.min_age
    following = sighting.next_record
    if following is None or sighting.identity is None:
        return _orphan_item(checkpoint.name, side, survey)
    refusal = foreign(checkpoint) or symlink(checkpoint) or unreadable(checkpoint) or live_writer(checkpoint)
    if refusal is not None:
        return stopped(checkpoint, side.role, refusal)
    if following.size == checkpoint.size:
        reason = "published, and only its record is not finished"
        return does(Act.FINISH, side.role, checkpoint, reason, {"mode": "finish-record"})
    refusal = (
        no_deletion(survey) or any_not_quiet(sighting.identity, side, now, min_age) or _young_record(checkpoint, survey)
    )
    if refusal is not None:
        return stopped(checkpoint, side.role, refusal)
    reason = "announced by an interrupted publish whose data is gone; the file of its name stays as it is"
    return does(Act.DISCARD, side.role, checkpoint, reason, {"mode": "next-record"})


def _orphan_item(name: str, side: Side, survey: Survey) -> PlanItem:
    """Neither part nor final."""
    checkpoint = side.find(name)
    step = None if checkpoint is None else checkpoint.step
    refusal = no_deletion(survey) or (None if checkpoint is None else _young_record(checkpoint, survey))
    if refusal is not None:
        return PlanItem(name, side.role, Act.SKIP, refusal.text, step=step, guard=str(refusal.guard))
    reason = "announced by an interrupted publish that left no data"
    return PlanItem(name, side.role, Act.DISCARD, reason, step=step, details={"mode": "next-record"})


def _young_record(checkpoint: Checkpoint, survey: Survey) -> Refusal | None:
    """A publish that started while the scan ran: its next record is as young as itself."""
    following = checkpoint.sighting.next_record
    if following is None:
        return None
    return not_quiet(int(following.recorded_at * 10**9), survey.taken_at, survey.policy.min_age)
