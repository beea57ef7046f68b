"""Surveys that follow one another: of what changed between two looks only that is judged and aligned anew.

What comes out is what `compose` makes of the same inventories. Where more than the names themselves has a say, because
a mark, a name without a record or a side that cannot be read bears on others, everything is composed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from ckptdeck.core.health import judge_alone, judge_gone, newest_whole, place_of_checkpoint
from ckptdeck.core.named_look import same_place
from ckptdeck.core.policy import Policy
from ckptdeck.core.register import Changes
from ckptdeck.core.sides import Side, Step, Survey
from ckptdeck.core.sighting import Checkpoint, InFlight, Inventory, Sighting
from ckptdeck.core.states import Role, State
from ckptdeck.core.survey import compose, conclude, known_by_other, with_expected_sizes
from ckptdeck.core.times import is_quiet
from ckptdeck.core.verdict import flights_to_rows, place_of_row, row_of


class Composer:
    """Remembers the last survey it made. Not for several threads."""

    def __init__(self) -> None:
        self._survey: Survey | None = None
        self._sides: dict[Role, _Judged] = {}
        self._flights: dict[str, InFlight] = {}
        self._rows: dict[str, Step] = {}

    def compose(
        self,
        primary: Inventory,
        mirror: Inventory | None,
        policy: Policy,
        now: float,
        changes: Mapping[Role, Changes] | None,
    ) -> Survey:
        """The survey of both inventories.

        `changes` are, by side, all names that are seen otherwise than in the inventories of the call before; None:
        anything may be.
        """
        inventories = {one.role: one for one in (primary, mirror) if one is not None}
        before, self._survey = self._survey, None  # should this fail, the next one begins anew
        after = None
        if before is not None and changes is not None and self._follow_on(inventories, policy, now, before):
            after = self._follow(inventories, policy, now, changes, before)
        if after is None:
            after = compose(primary, mirror, policy, now, previous=before)
            self._begin(inventories, after)
        self._survey = after
        return after

    def _follow_on(self, inventories: Mapping[Role, Inventory], policy: Policy, now: float, before: Survey) -> bool:
        """Nothing that bears on every name changed."""
        if inventories.keys() != self._sides.keys() or policy != before.policy or now < before.taken_at:
            return False
        return all(
            judged.stands_alone and _is_same_side(judged.inventory, inventories[role])
            for role, judged in self._sides.items()
        )

    def _begin(self, inventories: Mapping[Role, Inventory], survey: Survey) -> None:
        self._sides = {side.role: _Judged(inventories[side.role], side, survey) for side in survey.sides}
        self._flights = flights_to_rows(survey.primary)
        self._rows = {row.name: row for row in survey.steps}

    def _follow(
        self,
        inventories: Mapping[Role, Inventory],
        policy: Policy,
        now: float,
        changes: Mapping[Role, Changes],
        before: Survey,
    ) -> Survey | None:
        """None where a name turns out to bear on others."""
        for role, judged in self._sides.items():
            judged.enter(inventories[role], changes.get(role, {}))
        unsteady = set[str]().union(*(judged.unsteady for judged in self._sides.values()), *changes.values())
        touched = set[str]()
        for role, judged in self._sides.items():
            other = next((one for key, one in self._sides.items() if key is not role), None)
            touched |= judged.judge(unsteady, other, policy, now)
        if not all(judged.stands_alone for judged in self._sides.values()):
            return None
        sides = with_expected_sizes(tuple(judged.as_side() for judged in self._sides.values()))
        flights = flights_to_rows(sides[0])
        steps = self._rows_again(before.steps, touched | flights.keys() | self._flights.keys(), sides, flights)
        self._flights = flights
        return conclude(sides, steps, policy, now)

    def _rows_again(
        self, before: tuple[Step, ...], names: Iterable[str], sides: tuple[Side, ...], flights: Mapping[str, InFlight]
    ) -> tuple[Step, ...]:
        """The rows, those of `names` made anew; the very same tuple where none of them came out otherwise."""
        changed = {}
        for name in names:
            row = _row_again(name, sides, flights)
            if row != self._rows.get(name):
                changed[name] = row
        if not changed:
            return before
        rows = list(before)
        for name, row in changed.items():
            earlier = self._rows.pop(name, None)
            if earlier is not None:
                del rows[bisect_left(rows, place_of_row(earlier), key=place_of_row)]
            if row is not None:
                self._rows[name] = row
                rows.insert(bisect_left(rows, place_of_row(row), key=place_of_row), row)
        return tuple(rows)


class _Judged:
    """One side: what is seen, what it was judged to be, and what may be judged otherwise without being seen so."""

    def __init__(self, inventory: Inventory, side: Side, survey: Survey) -> None:
        self.inventory = inventory
        self._side = side
        self._seen = {sighting.name: sighting for sighting in inventory.sightings}
        self._by_name = {checkpoint.name: checkpoint for checkpoint in side.checkpoints}
        self._ordered = side.checkpoints
        self._marked = {name for name, sighting in self._seen.items() if _is_marked(sighting)}
        self._gone = {name for name, sighting in self._seen.items() if _is_gone(sighting)}
        self._unvouched = {name for name, checkpoint in self._by_name.items() if _is_unvouched(checkpoint)}
        min_age = survey.policy.min_age
        self.unsteady = {n for n, c in self._by_name.items() if not _is_settled(c, survey.taken_at, min_age)}
        self._newest = newest_whole(side.checkpoints) if self._gone else None
        self._informed = side.inventory.sightings is not inventory.sightings
        """The other side knows something of a name here that this one does not."""

    @property
    def stands_alone(self) -> bool:
        """Each name is judged by itself."""
        return self.inventory.condition.readable and not (self._marked or self._unvouched or self._informed)

    def enter(self, inventory: Inventory, changes: Changes) -> None:
        """Takes what is seen now."""
        self.inventory = inventory
        for name, sighting in changes.items():
            if sighting is None:
                self._seen.pop(name, None)
            else:
                self._seen[name] = sighting
            _keep(self._marked, name, sighting is not None and _is_marked(sighting))
            _keep(self._gone, name, sighting is not None and _is_gone(sighting))

    def judge(self, names: Iterable[str], other: _Judged | None, policy: Policy, now: float) -> set[str]:
        """Judges `names` anew, and what is gone where another one is the newest; those that came out otherwise."""
        judged: dict[str, Checkpoint | None] = {}
        gone = set[str]()
        for name in names:
            sighting = self._seen.get(name)
            if sighting is None:
                judged[name] = None
            elif name in self._gone:
                gone.add(name)
                if not self._was_gone(name):
                    judged[name] = None  # what was there is the newest no more
            else:
                judged[name] = judge_alone(self.inventory, policy, now, self._known(sighting, other))
        touched = self._put(judged, policy, now)
        if self._gone or gone:
            newest = _newest_of(self._ordered)
            if newest != self._newest:
                gone |= self._gone
            self._newest = newest
            touched |= self._put({n: judge_gone(self._known(self._seen[n], other), newest) for n in gone}, policy, now)
        return touched

    def _was_gone(self, name: str) -> bool:
        before = self._by_name.get(name)
        return before is None or _is_gone(before.sighting)

    def as_side(self) -> Side:
        self._side = self._side.followed_by(self.inventory, self._ordered, self._by_name)
        return self._side

    def _known(self, sighting: Sighting, other: _Judged | None) -> Sighting:
        if other is None:
            return sighting
        known = known_by_other(sighting, other.inventory.pins, other._seen.get(sighting.name))
        self._informed |= known is not sighting
        return known

    def _put(self, judged: Mapping[str, Checkpoint | None], policy: Policy, now: float) -> set[str]:
        touched = {name for name, checkpoint in judged.items() if self._by_name.get(name) != checkpoint}
        for name, checkpoint in judged.items():
            _keep(self.unsteady, name, checkpoint is not None and not _is_settled(checkpoint, now, policy.min_age))
            _keep(self._unvouched, name, checkpoint is not None and _is_unvouched(checkpoint))
        if touched:
            by_name, ordered = dict(self._by_name), list(self._ordered)
            for name in touched:
                before, after = by_name.pop(name, None), judged[name]
                if before is not None:
                    del ordered[bisect_left(ordered, place_of_checkpoint(before), key=place_of_checkpoint)]
                if after is not None:
                    by_name[name] = after
                    place = bisect_left(ordered, place_of_checkpoint(after), key=place_of_checkpoint)
                    ordered.insert(place, after)
            self._by_name, self._ordered = by_name, tuple(ordered)
        return touched


def _row_again(name: str, sides: tuple[Side, ...], flights: Mapping[str, InFlight]) -> Step | None:
    flight = flights.get(name)
    for side in sides:
        checkpoint = side.find(name)
        if checkpoint is not None and checkpoint.state is not State.FOREIGN:
            sighting = checkpoint.sighting
            return row_of(name, sighting.step, sighting.kind, sides, flight)
    return None if flight is None else row_of(name, flight.step, flight.kind, sides, flight)


def _keep(names: set[str], name: str, wanted: bool) -> None:
    if wanted:
        names.add(name)
    else:
        names.discard(name)


def _newest_of(ordered: Iterable[Checkpoint]) -> Checkpoint | None:
    """`newest_whole` of what is sorted already: only the first step that has something verified is looked at."""
    found: list[Checkpoint] = []
    for checkpoint in ordered:
        if found and checkpoint.step != found[0].step:
            break
        if checkpoint.state is State.VERIFIED:
            found.append(checkpoint)
    return newest_whole(found)


def _is_same_side(before: Inventory, now: Inventory) -> bool:
    return (
        (before.condition, before.boot_id, before.root) == (now.condition, now.boot_id, now.root)
        and same_place(before.volume, now.volume)
        and (before.pins is now.pins or before.pins == now.pins)
    )


def _is_marked(sighting: Sighting) -> bool:
    return sighting.record is not None and sighting.record.marked_bad is not None


def _is_gone(sighting: Sighting) -> bool:
    return sighting.identity is None and sighting.error is None


def _is_unvouched(checkpoint: Checkpoint) -> bool:
    """No record speaks for it, so that its siblings and its twin on the other side have a say."""
    sighting = checkpoint.sighting
    return sighting.record is None and not _is_gone(sighting) and checkpoint.state is not State.FOREIGN


def _is_settled(checkpoint: Checkpoint, now: float, min_age: float) -> bool:
    """It is judged the same at any later time: nothing is said of its age any more."""
    identity = checkpoint.sighting.identity
    return identity is None or is_quiet(identity.mtime_ns, now, min_age)
