"""What is new on both sides between two pictures of them: what appeared, what is gone, what is trouble and since when.

Holds no opinion of its own about checkpoints: states and findings are the core's. Pure but for what it remembers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import NOT_THERE, Condition, Role, State
from ckptdeck.core.survey import Side, Survey
from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.monitor.trouble import Finding, Rank, find_findings
from ckptdeck.monitor.watch_event import Event, Happening, Trouble

Change = tuple[Role, str, Happening]
"""On which side which checkpoint appeared or is gone."""

DAY = 86_400.0
_RECURRING = frozenset({Rank.NO_ROOM, Rank.SPACE, Rank.DIRECT})
"""A volume that holds few more than are kept is short of room after each save, and a trainer that writes under final
names does so each time: once is enough."""


class News:
    """Remembers what was told. `mirroring`: what leaves the primary before it was copied is trouble."""

    def __init__(self, *, mirroring: bool) -> None:
        self._mirroring = mirroring
        self._known: dict[Role, dict[str, int | None]] = {}
        """Names on each side that was ever read → their steps."""
        self._sets: set[Role] = set()
        """Sides that had a control directory at some look."""
        self._expected: set[Change] = set()
        self._told: dict[tuple[str, ...], tuple[Trouble, float]] = {}
        """Trouble by key, with the last time it was seen."""
        self._surveyed: Survey | None = None
        self._found: tuple[Trouble, ...] = ()
        self._lost: tuple[Trouble, ...] = ()

    def expect(self, changes: Iterable[Change]) -> None:
        """We do this ourselves and say so; seeing it is no news."""
        self._expected.update(changes)

    def no_longer_expect(self, changes: Iterable[Change]) -> None:
        self._expected.difference_update(changes)

    def of(self, snapshot: Snapshot, now: float, ours: Sequence[Trouble]) -> list[Event]:
        """Everything new in this picture; `ours` is the trouble that our own work has."""
        events: list[Event] = []
        survey = snapshot.survey
        if survey is not None and survey is not self._surveyed:
            self._surveyed, self._lost = survey, ()
            before = {role: dict(names) for role, names in self._known.items()}
            self._found = tuple(map(_as_trouble, find_findings(survey)))
            for side in survey.sides:
                events += self._looked_at(side, before, now)
        error = (Trouble(("error",), snapshot.error),) if snapshot.error else ()
        return [*events, *self._trouble((*error, *self._found, *self._lost, *ours), now)]

    # --- what is there

    def _looked_at(self, side: Side, before: dict[Role, dict[str, int | None]], now: float) -> Iterator[Event]:
        known = self._known.get(side.role)
        condition = side.inventory.condition
        if condition is Condition.OK:
            self._sets.add(side.role)
        if condition is Condition.UNINITIALISED and side.role in self._sets:
            text = (
                f"{side.role} {visible(side.inventory.root)} has no control directory any more: "
                "its volume is probably not mounted"
            )
            self._lost += (Trouble(("side", side.role, condition), text, side.role),)
            return
        if not condition.readable:
            return
        there = {checkpoint.name: checkpoint for checkpoint in side.present}
        if known is None:
            self._known[side.role] = {name: one.step for name, one in there.items() if _at_rest(one)}
            yield Event(now, Happening.SIDE, _holdings(side), side.role)
            return
        for name in [name for name in known if name not in there]:
            step = known.pop(name)
            if not self._is_expected(side.role, name, Happening.GONE):
                yield self._gone(side, name, step, before, now)
        for name, one in there.items():
            if name not in known and _at_rest(one):
                known[name] = one.step
                if not self._is_expected(side.role, name, Happening.APPEARED):
                    text = f"{visible(name)} is there, {size_text(one.size)}, {one.state}"
                    yield Event(now, Happening.APPEARED, text, side.role, name)

    def _gone(
        self, side: Side, name: str, step: int | None, before: dict[Role, dict[str, int | None]], now: float
    ) -> Event:
        shown = visible(name)
        mirrored = before.get(Role.MIRROR, {})
        newest = max((number for number in mirrored.values() if number is not None), default=-1)
        too_early = step is not None and step > newest and name not in mirrored
        if self._mirroring and side.role is Role.PRIMARY and too_early:
            text = f"{shown} left the primary before it was copied to the mirror"
            self._lost += (Trouble(("unmirrored",), text, side.role, name, recurring=True),)
        return Event(now, Happening.GONE, f"{shown} is gone, removed by somebody else", side.role, name)

    def _is_expected(self, role: Role, name: str, what: Happening) -> bool:
        key = (role, name, what)
        if key not in self._expected:
            return False
        self._expected.remove(key)
        return True

    # --- what needs a person

    def _trouble(self, present: Sequence[Trouble], now: float) -> Iterator[Event]:
        for trouble in present:
            if trouble.key not in self._told:
                yield Event(now, Happening.TROUBLE, trouble.text, trouble.side, trouble.name, trouble.command)
            self._told[trouble.key] = trouble, now
        there = {trouble.key for trouble in present}
        for key in [key for key in self._told if key not in there]:
            trouble, seen = self._told[key]
            if (trouble.recurring and 0 <= now - seen < DAY) or (trouble.seen_on_disk and self._is_blind()):
                continue
            del self._told[key]
            yield Event(now, Happening.OVER, f"no longer so: {trouble.text}", trouble.side, trouble.name)

    def _is_blind(self) -> bool:
        sides = () if self._surveyed is None else self._surveyed.sides
        return not all(side.inventory.condition.readable for side in sides)


def _as_trouble(finding: Finding) -> Trouble:
    recurring = finding.rank in _RECURRING
    key = ("direct", str(finding.side)) if finding.rank is Rank.DIRECT else finding.key
    on_disk = finding.rank is not Rank.SIDE
    return Trouble(key, finding.text, finding.side, finding.name, recurring=recurring, seen_on_disk=on_disk)


def _at_rest(checkpoint: Checkpoint) -> bool:
    return checkpoint.state is not State.UNSAFE_WRITE and checkpoint.state not in NOT_THERE


def _holdings(side: Side) -> str:
    there = side.present
    size = sum(checkpoint.size for checkpoint in there)
    volume = side.inventory.volume
    free = "" if volume is None else f", {size_text(volume.free)} free"
    return f"{visible(side.inventory.root)}: {counted(len(there), 'checkpoint')}, {size_text(size)}{free}"
