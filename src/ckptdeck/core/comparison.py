"""How what is there differs from what was recorded, file by file, with the arithmetic. Pure.

Content counts where both sides know a digest; a look that read nothing compares sizes.
"""

from __future__ import annotations

from collections.abc import Iterable

from ckptdeck.core.amounts import size_text
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Record, RecordMember
from ckptdeck.core.states import MemberKind, State
from ckptdeck.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that is not what its record says."""

    state: State
    """TRUNCATED, CORRUPT, INCOMPLETE (it is not there) or SUSPECT (no record knows it)."""
    text: str


_WORST_FIRST = (State.TRUNCATED, State.CORRUPT, State.INCOMPLETE, State.SUSPECT)


def compare_members(recorded: Iterable[RecordMember], found: Iterable[RecordMember]) -> tuple[Difference, ...]:
    """Worst first; empty when they are the same. A digest of "" was not read and is not compared."""
    there = {member.path: member for member in found}
    differences = []
    for member in recorded:
        now = there.pop(member.path, None)
        difference = _difference(member, now)
        if difference is not None:
            differences.append(difference)
    for path, member in there.items():
        text = f"{visible(path)} ({size_text(member.size)}) is in no record"
        differences.append(Difference(State.SUSPECT, text))
    return tuple(sorted(differences, key=lambda one: _WORST_FIRST.index(one.state)))


def compare_unread(record: Record, identity: Identity) -> tuple[Difference, ...]:
    """The record against a look that read nothing."""
    if len(record.members) == len(identity.members) == 1:  # most are one file that is as it was recorded
        member, there = record.members[0], identity.members[0]
        if there.path == member.path and there.size == member.size and there.kind is member.kind is MemberKind.FILE:
            return ()
    return compare_members(record.members, unread(identity))


def written_since(mtime_ns: int, recorded_ns: int, differences: Iterable[Difference], tolerance_ns: int = 0) -> bool:
    """Whether its owner may have written it again after it was recorded, by the times of its newest file.

    An older time tells that only while every file is there: the newest may be what is missing.
    """
    if abs(mtime_ns - recorded_ns) <= tolerance_ns:
        return False
    return mtime_ns > recorded_ns or all(one.state is not State.INCOMPLETE for one in differences)


def unread(identity: Identity) -> list[RecordMember]:
    """The members of a look that read nothing."""
    return [RecordMember(member.path, member.size, "", member.kind, member.target) for member in identity.members]


def _difference(member: RecordMember, now: RecordMember | None) -> Difference | None:
    of_it = f"{visible(member.path)}: " if member.path else ""
    if now is None:
        return Difference(State.INCOMPLETE, f"{visible(member.path)} ({size_text(member.size)}) is not there")
    if now.kind is not member.kind:
        return Difference(State.CORRUPT, f"{of_it}it is a {now.kind}, a {member.kind} was recorded")
    if now.target != member.target:
        text = f"{of_it}it leads to {visible(now.target)}, to {visible(member.target)} when it was recorded"
        return Difference(State.CORRUPT, text)
    short = member.size - now.size
    if short > 0:
        return Difference(State.TRUNCATED, f"{of_it}{now.size} of {member.size} bytes, {short} are missing")
    if short < 0:
        return Difference(State.CORRUPT, f"{of_it}{-short} bytes more than the {member.size} recorded")
    if now.digest and now.digest != member.digest and member.kind is MemberKind.FILE:
        text = f"{of_it}the size fits and the content does not: {now.digest} for {member.digest}"
        return Difference(State.CORRUPT, text)
    return None
