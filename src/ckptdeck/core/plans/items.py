"""How planners pick rows by name and write their items down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ckptdeck.core.errors import UsageError
from ckptdeck.core.freed import freed_by
from ckptdeck.core.guards import Guard, foreign
from ckptdeck.core.plans.plan import Act, PlanItem, Refusal
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.sighting import Checkpoint, Identity, InFlight, Stamp
from ckptdeck.core.states import FlightState, Role

OWN_LEFTOVER = "a leftover of our own; `ckptdeck recover` finishes or removes it"


def choose_rows(survey: Survey, names: Sequence[str]) -> tuple[tuple[Step, ...], tuple[PlanItem, ...]]:
    """The rows that were asked for (all without names), and an item for each foreign name or mere part among them.

    Raises UsageError for a name that is nowhere.
    """
    if not names:
        return survey.steps, ()
    rows = tuple(row for row in survey.steps if names_of(row) & set(names))
    found = frozenset().union(*(names_of(row) for row in rows))
    return rows, tuple(_stranger(survey, name) for name in dict.fromkeys(names) if name not in found)


def in_order(items: Iterable[PlanItem]) -> tuple[PlanItem, ...]:
    """Interrupted copies first, then what else is done, then what stays; each in the order given (newest first)."""
    return tuple(sorted(items, key=lambda item: (not item.acts, item.acts and "part" not in item.details)))


def names_of(row: Step) -> frozenset[str]:
    """What the row is called on either side."""
    return frozenset({row.name, *(copy.name for copy in (row.primary, row.mirror) if copy is not None)})


def _stranger(survey: Survey, name: str) -> PlanItem:
    for side in survey.sides:
        checkpoint = side.find(name)
        if checkpoint is not None:
            refusal = foreign(checkpoint) or Refusal(Guard.FOREIGN, "it is not a checkpoint of this set")
            return stopped(checkpoint, side.role, refusal)
    for side in survey.sides:
        for flight in side.inventory.in_flight:
            if name in (flight.name, flight.target):
                return _unfinished(flight, side.role)
    raise UsageError(
        f"There is no checkpoint called {visible(name)} on either side",
        why="A name is written as it stands in its directory, with its extension",
        next_step="`ckptdeck status` lists the names",
    )


def _unfinished(flight: InFlight, side: Role) -> PlanItem:
    """A mere part: no checkpoint yet, and what clears it."""
    if flight.state not in (FlightState.STALE, FlightState.READY):
        reason = f"only an unfinished part, {flight.state}: {visible(flight.reason)}"
    elif flight.ours or flight.staged:
        reason = f"only an unfinished part: {OWN_LEFTOVER}"
    else:
        aside = f"`ckptdeck quarantine {shell_word(flight.name)}` sets it aside"
        reason = f"only an unfinished part, {flight.state}, left by another program; {aside}"
    return PlanItem(
        flight.name,
        side,
        Act.SKIP,
        reason,
        size=flight.size,
        step=flight.step,
        guard=str(Guard.IN_FLIGHT),
        kind=flight.kind,
    )


def stays(checkpoint: Checkpoint, side: Role, reason: str) -> PlanItem:
    """Nothing to do here, and why."""
    return PlanItem(checkpoint.name, side, Act.KEEP, reason, size=checkpoint.size, step=checkpoint.step)


def stopped(checkpoint: Checkpoint, side: Role, refusal: Refusal) -> PlanItem:
    """A guard said no."""
    return PlanItem(
        checkpoint.name,
        side,
        Act.SKIP,
        refusal.text,
        size=checkpoint.size,
        step=checkpoint.step,
        guard=str(refusal.guard),
    )


def does(
    act: Act,
    side: Role,
    source: Checkpoint,
    reason: str,
    details: Mapping[str, str],
    replaced: Checkpoint | None = None,
) -> PlanItem:
    """`act` changes `side`, reads `source` and, where given, moves `replaced` out of the way."""
    return PlanItem(
        source.name,
        side,
        act,
        reason,
        size=source.size,
        step=source.step,
        stamps=stamps_of(source),
        inode=inode_of(source),
        target=() if replaced is None else stamps_of(replaced),
        target_inode=None if replaced is None else inode_of(replaced),
        details=details,
        kind=source.sighting.kind,
    )


def with_what_comes_free(survey: Survey, victims: Iterable[PlanItem]) -> list[PlanItem]:
    """The items, which delete checkpoints in this order, each with the bytes that its side gets back."""
    items = list(victims)
    sides = [survey.side(item.side) for item in items]
    copies = [None if side is None else side.find(item.name) for side, item in zip(sides, items, strict=True)]
    identities = [Identity(()) if c is None or c.sighting.identity is None else c.sighting.identity for c in copies]
    frees = freed_by(identities, [None if side is None else side.inventory.volume for side in sides])
    return [replace(item, frees=each) for item, each in zip(items, frees, strict=True)]


def may_share_blocks(survey: Survey, items: Iterable[PlanItem]) -> bool:
    """Whether what is freed is an upper limit only: reflinks and snapshots show in no stat."""
    sharing = {
        side.role for side in survey.sides if side.inventory.volume is not None and side.inventory.volume.shares_blocks
    }
    return any(item.frees and item.side in sharing for item in items)


def stamps_of(checkpoint: Checkpoint) -> tuple[Stamp, ...]:
    identity = checkpoint.sighting.identity
    return () if identity is None else identity.stamps


def inode_of(checkpoint: Checkpoint) -> int | None:
    """The inode of the file or the directory; a group has none of its own."""
    identity = checkpoint.sighting.identity
    return None if identity is None or identity.node is None else identity.node[1]


def part_stamps(flight: InFlight) -> tuple[Stamp, ...]:
    """A part's identity as far as a scan knows it: ctime 0 stands for "not looked at"."""
    return (Stamp(flight.name, flight.size, flight.mtime_ns, 0),)


def leftover_part(side: Side, name: str) -> InFlight | None:
    """A part of our own that a copy of `name` may continue."""
    for flight in side.inventory.in_flight:
        if flight.target == name and flight.ours and flight.state in (FlightState.STALE, FlightState.READY):
            return flight
    return None


def part_details(flight: InFlight | None) -> dict[str, str]:
    """What the executor needs to continue a leftover part."""
    if flight is None:
        return {}
    return {"part": flight.name, "part_size": str(flight.size), "part_inode": str(flight.inode)}
