"""Every reason not to touch something, each a named function: a `Refusal` with a stable name, or None for "go on".

Planners ask them over a survey; `apply` asks them again over a fresh look, in the moment of acting (invariant 4).
All are pure: the time is passed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum

from ckptdeck.core.amounts import span_text
from ckptdeck.core.plans.plan import Refusal
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.sighting import Checkpoint, Identity, InFlight
from ckptdeck.core.states import CANDIDATES, NOT_THERE, Condition, FlightState, Origin, Role, State
from ckptdeck.core.times import all_alike, doubt_about


class Guard(StrEnum):
    """The stable names, as JSON, logs and exit codes use them."""

    AGE = "age-guard"
    UNKNOWN_TIME = "unknown-time"
    FUTURE_TIME = "future-time"
    LIVE_WRITER = "live-writer"
    IN_FLIGHT = "in-flight"
    UNREADABLE = "unreadable"
    FOREIGN = "foreign"
    SYMLINK = "symlink"
    PINNED = "pinned"
    POINTER_TARGET = "pointer-target"
    LAST_GOOD_COPY = "last-good-copy"
    NOT_MOUNTED = "not-mounted"
    WRONG_SET = "wrong-set"
    TWO_CONTROLS = "two-controls"
    UNINITIALISED = "uninitialised"
    NO_MIRROR = "no-mirror"
    NO_SPACE = "no-space"
    BAD = "bad"
    """The copy is proven bad, so it is neither recorded nor a source."""
    SUSPECT = "suspect"
    CHANGED = "changed"
    TWINS_DIFFER = "twins-differ"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"
    """An unfinished publish of the same name: `recover` first."""
    NEEDS_ADOPT = "needs-adopt"
    NEEDS_REPAIR = "needs-repair"
    TOO_FEW = "too-few-newer"
    """Fewer than N newer steps are verified where it counts (invariant 3)."""
    OUT_OF_ORDER = "out-of-order"
    NAME_CLASH = "name-clash"
    """The side it would go to takes it, and something else, for one."""
    POLICY = "policy"
    EXISTS = "exists"
    VANISHED = "everything-vanished"
    NO_GOOD_COPY = "no-good-copy"
    """The other side has no verified copy to repair from."""


WAITING = frozenset({Guard.AGE, Guard.LIVE_WRITER, Guard.IN_FLIGHT})
"""Guards that give way by themselves, once nothing is written there any more."""


# --- time (R18; R19: age = now - mtime)


def unknown_time(mtime_ns: int) -> Refusal | None:
    """An mtime of 0, negative or before 1990 says "I don't know", never "old"."""
    doubt = doubt_about(mtime_ns, math.inf)
    return Refusal(Guard.UNKNOWN_TIME, f"{doubt}; what may be new is not touched") if doubt else None


def future_time(mtime_ns: int, now: float) -> Refusal | None:
    """More than five minutes ahead of this machine's clock."""
    if unknown_time(mtime_ns) is not None:
        return None
    doubt = doubt_about(mtime_ns, now)
    return Refusal(Guard.FUTURE_TIME, doubt) if doubt else None


def age_guard(mtime_ns: int, now: float, min_age: float) -> Refusal | None:
    """Younger than `min_age` seconds: it may still be being written."""
    age = now - mtime_ns / 1e9
    if age < min_age:
        text = (
            f"changed {span_text(age)} ago, younger than the age guard of {span_text(min_age)}: it may not be finished"
        )
        return Refusal(Guard.AGE, text)
    return None


def not_quiet(mtime_ns: int, now: float, min_age: float) -> Refusal | None:
    """The three guards over one time stamp."""
    return unknown_time(mtime_ns) or future_time(mtime_ns, now) or age_guard(mtime_ns, now, min_age)


def times_alike(side: Side) -> Refusal | None:
    """Every file of a server has one and the same time: the mount's, not the files'."""
    if all_alike(side.inventory.sightings, side.inventory.volume):
        return Refusal(Guard.UNKNOWN_TIME, f"every file on the {side.role} has the same time, so none is believed")
    return None


def any_not_quiet(identity: Identity | None, side: Side, now: float, min_age: float) -> Refusal | None:
    """The same over every file of a checkpoint: one young shard is enough. None where nothing is on disk.

    A link is as young as its copy; of what holds no file the directory itself counts.
    """
    if identity is None:
        return None
    times = [member.mtime_ns for member in identity.files] or [identity.mtime_ns]
    return times_alike(side) or _first(not_quiet(time, now, min_age) for time in times)


# --- one checkpoint


def foreign(checkpoint: Checkpoint) -> Refusal | None:
    if checkpoint.state is State.FOREIGN:
        return Refusal(Guard.FOREIGN, "a name of no known family is never touched")
    return None


def other_kind(checkpoint: Checkpoint, twin: Checkpoint | None) -> Refusal | None:
    """A directory where the other side has a file of the same name, or the other way round."""
    if twin is None or twin.state in NOT_THERE or checkpoint.state in NOT_THERE:
        return None
    kind, there = checkpoint.sighting.kind, twin.sighting.kind
    if kind is there:
        return None
    return Refusal(Guard.FOREIGN, f"it is a {kind} here and a {there} on the other side; move one of them away")


def symlink(checkpoint: Checkpoint) -> Refusal | None:
    """R25: links are shown, never followed."""
    link = checkpoint.sighting.link
    if link is not None:
        return Refusal(Guard.SYMLINK, f"a symbolic link to {visible(link)}; links are never followed")
    return None


def unreadable(checkpoint: Checkpoint) -> Refusal | None:
    if checkpoint.state is State.UNREADABLE or checkpoint.sighting.error is not None:
        why = checkpoint.sighting.error or checkpoint.reason
        return Refusal(Guard.UNREADABLE, f"it cannot be read: {visible(why)}")
    return None


def live_writer(checkpoint: Checkpoint) -> Refusal | None:
    """Held open for writing, or it changed between two looks."""
    sighting = checkpoint.sighting
    if sighting.writer is not None:
        return Refusal(Guard.LIVE_WRITER, f"{sighting.writer.shown()} has it open for writing")
    if sighting.held:
        return Refusal(Guard.LIVE_WRITER, "a process has it open for writing")
    if sighting.moved or checkpoint.state is State.UNSAFE_WRITE:
        return Refusal(Guard.LIVE_WRITER, "it changed between two looks: somebody is writing under its final name")
    return None


def pinned(checkpoint: Checkpoint, twin: Checkpoint | None = None) -> Refusal | None:
    """A pin on either side protects both."""
    for copy in (checkpoint, twin):
        if copy is not None and copy.sighting.pinned is not None:
            why = f" ({visible(copy.sighting.pinned)})" if copy.sighting.pinned else ""
            command = f"`ckptdeck unpin {shell_word(checkpoint.name)}`"
            return Refusal(Guard.PINNED, f"it is pinned{why}; {command} takes the pin away")
    return None


def pointer_target(checkpoint: Checkpoint) -> Refusal | None:
    pointer = checkpoint.sighting.pointed_at_by
    if pointer is not None:
        return Refusal(Guard.POINTER_TARGET, f"{visible(pointer)} points to it; move the pointer first")
    return None


# --- a checkpoint within its survey


def in_flight(name: str, side: Side) -> Refusal | None:
    """A write of the same name under way, or complete and not yet named; no leftover that a copy goes on with."""
    for flight in side.inventory.in_flight:
        if flight.target == name and flight.state is not FlightState.STALE and not _interrupted_copy(flight, side):
            return _in_flight_text(flight)
    return None


def _interrupted_copy(flight: InFlight, side: Side) -> bool:
    """Complete, and made by a repair or a replacing mirror beside the old final: the same command goes on with it."""
    final = side.find(flight.target)
    following = None if final is None else final.sighting.next_record
    ready = flight.ours and flight.state is FlightState.READY
    return ready and following is not None and following.origin in (Origin.MIRRORED, Origin.RESTORED)


def _in_flight_text(flight: InFlight) -> Refusal:
    shown = visible(flight.name)
    if flight.state is FlightState.READY:
        text = f"{shown} is complete and only lacks its name; `ckptdeck recover` decides about it first"
    elif flight.state is FlightState.LIVE:
        text = f"{shown} is being written now"
    else:
        text = f"nobody can tell whether {shown} is still being written: {visible(flight.reason)}"
    return Refusal(Guard.IN_FLIGHT, text)


def last_good_copy(name: str, role: Role, survey: Survey) -> Refusal | None:
    """The only good copy of the newest good step. Good is verified; while nothing is, a candidate counts."""
    newest = newest_good(survey)
    if newest is None:
        return None
    row, good = newest
    copies = [side for side in Role if (copy := row.on(side)) is not None and copy.state in good]
    here = row.on(role)
    if copies == [role] and here is not None and here.name == name:
        return Refusal(Guard.LAST_GOOD_COPY, "it is the last good copy of the newest good step")
    return None


def newest_good(survey: Survey) -> tuple[Step, frozenset[State]] | None:
    """The row the run would go on from, and the states that made it good."""
    for good in (frozenset({State.VERIFIED}), CANDIDATES):
        for row in survey.steps:
            if any(copy is not None and copy.state in good for copy in (row.primary, row.mirror)):
                return row, good
    return None


# --- a whole side


def condition(side: Side) -> Refusal | None:
    """Why nothing may be changed on a side as a whole (invariant 5)."""
    inventory = side.inventory
    if inventory.condition is Condition.OK:
        return None
    why = visible(inventory.why) or f"the {side.role} {visible(inventory.root)} is {inventory.condition}"
    return Refusal(Guard(inventory.condition), why)


def everything_vanished(side: Side) -> Refusal | None:
    """Records, and none of what they name is there: a lost mount or a wiped disk, no retention (R23)."""
    recorded = [c for c in side.checkpoints if c.sighting.record is not None and not c.sighting.record.retired]
    if not recorded or any(copy.state not in NOT_THERE for copy in recorded):
        return None
    text = (
        f"nothing of the {len(recorded)} recorded checkpoints is left on the {side.role} "
        f"{visible(side.inventory.root)}: its volume may not be mounted, so nothing is deleted anywhere"
    )
    return Refusal(Guard.VANISHED, text)


def uninitialised(survey: Survey, role: Role) -> Refusal | None:
    """The side is there, and nothing could be recorded on it."""
    side = survey.side(role)
    if side is None or side.inventory.condition is not Condition.UNINITIALISED:
        return None
    words = ["ckptdeck", "init", *(shell_word(each.inventory.root) for each in survey.sides)]
    text = f"the {role} {visible(side.inventory.root)} has no control directory; `{' '.join(words)}` makes one"
    return Refusal(Guard.UNINITIALISED, text)


def side_not_usable(survey: Survey, role: Role) -> Refusal | None:
    """The two above for a side that must be there."""
    side = survey.side(role)
    if side is None:
        text = "there is no mirror: name its directory after the primary's, or pair the two with `ckptdeck init`"
        return Refusal(Guard.NO_MIRROR, text)
    return uninitialised(survey, role) or condition(side)


# --- the lists of the invariants


def protects(checkpoint: Checkpoint, role: Role, survey: Survey, now: float) -> Refusal | None:
    """Invariant 2: why this copy may not be deleted, quarantined or replaced now.

    `checkpoint` may be a fresher look than the one in `survey`; its neighbours are taken from `survey`.
    """
    side = survey.side(role)
    other = survey.side(role.other)
    return (
        foreign(checkpoint)
        or symlink(checkpoint)
        or unreadable(checkpoint)
        or live_writer(checkpoint)
        or (in_flight(checkpoint.name, side) if side is not None else None)
        or (any_not_quiet(checkpoint.sighting.identity, side, now, survey.policy.min_age) if side is not None else None)
        or pinned(checkpoint, other.find(checkpoint.name) if other is not None else None)
        or pointer_target(checkpoint)
        or last_good_copy(checkpoint.name, role, survey)
    )


def blocks_reading(checkpoint: Checkpoint, side: Side, now: float, min_age: float) -> Refusal | None:
    """Why this copy may not be recorded or be the source of a copy now, its state left aside.

    Without a record it must be quiet for the age guard; with one it only needs to have no writer.
    """
    refusal = foreign(checkpoint) or symlink(checkpoint) or unreadable(checkpoint) or live_writer(checkpoint)
    if refusal is not None or checkpoint.state in NOT_THERE:
        return refusal
    if checkpoint.sighting.record is None or checkpoint.state is State.CHANGED:
        return any_not_quiet(checkpoint.sighting.identity, side, now, min_age)
    return None


def _first(answers: Iterator[Refusal | None]) -> Refusal | None:
    return next((answer for answer in answers if answer is not None), None)
