"""Which rows the pair table has, in which order, and which of them a filter lets through.

An entry is cheap, because there may be 10,000: what its cells say is computed when the row is painted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from enum import StrEnum

from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.states import FINDINGS, FlightState, Role, State, Verdict
from ckptdeck.core.survey import Step, Survey
from ckptdeck.core.values import dataclass

TROUBLED = frozenset({Verdict.UNKNOWN, Verdict.DIVERGED, Verdict.REPAIR, Verdict.AT_RISK, Verdict.LOST})
_BROKEN_FLIGHTS = frozenset({FlightState.READY, FlightState.STALE})
_SEVERITY = {
    verdict: rank
    for rank, verdict in enumerate(
        (
            Verdict.LOST,
            Verdict.DIVERGED,
            Verdict.REPAIR,
            Verdict.UNKNOWN,
            Verdict.AT_RISK,
            Verdict.ADOPT,
            Verdict.MIRROR_ME,
            Verdict.MIRROR_ONLY,
            Verdict.IN_FLIGHT,
            Verdict.SAFE,
            Verdict.RETIRED,
        )
    )
}


class Order(StrEnum):
    """How rows are sorted."""

    NEWEST = "newest"
    OLDEST = "oldest"
    WORST = "worst"
    LARGEST = "largest"

    @property
    def next(self) -> Order:
        orders = list(Order)
        return orders[(orders.index(self) + 1) % len(orders)]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row, known by its checkpoint's name. A foreign name or a mere part has no `pair`."""

    key: str
    label: str
    """The step, or the name where a step would not tell rows apart; already safe to show."""
    step: int | None
    pair: Step | None
    primary_flight: InFlight | None = None
    mirror_flight: InFlight | None = None
    foreign: tuple[Role, ...] = ()

    def on(self, side: Role) -> Checkpoint | None:
        return None if self.pair is None else self.pair.on(side)

    def flight(self, side: Role) -> InFlight | None:
        return self.primary_flight if side is Role.PRIMARY else self.mirror_flight

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called on disk: the checkpoint, or mere parts by the names they have until they are whole."""
        if self.pair is not None or self.foreign:
            return (self.key,)
        parts = (self.primary_flight, self.mirror_flight)
        return tuple(dict.fromkeys(part.name for part in parts if part is not None))

    @property
    def size(self) -> int:
        """The larger of what both sides hold or record; of a part, what it should become."""
        found = [c.size for c in (self.on(Role.PRIMARY), self.on(Role.MIRROR)) if c is not None]
        parts = [f.expected_size or f.size for f in (self.primary_flight, self.mirror_flight) if f is not None]
        return max(found or parts, default=0)

    @property
    def saved_at(self) -> float | None:
        """When the trainer wrote it: the primary's mtime, else the mirror's, else the part's; None when unknown."""
        for side in Role:
            checkpoint = self.on(side)
            if checkpoint is not None and checkpoint.sighting.identity is not None:
                return checkpoint.sighting.identity.mtime_ns / 1e9
        for flight in (self.primary_flight, self.mirror_flight):
            if flight is not None:
                return flight.mtime_ns / 1e9
        return None

    @property
    def verdict(self) -> str:
        if self.pair is not None:
            return str(self.pair.verdict)
        if self.foreign:
            return "foreign"
        parts = [flight.state for flight in (self.primary_flight, self.mirror_flight) if flight is not None]
        return next((str(state) for state in parts if state in _BROKEN_FLIGHTS), str(Verdict.IN_FLIGHT))

    @property
    def troubled(self) -> bool:
        """Something about it wants a person."""
        if self.pair is not None and self.pair.verdict in TROUBLED:
            return True
        states = [c.state for c in (self.on(Role.PRIMARY), self.on(Role.MIRROR)) if c is not None]
        if any(state in FINDINGS or state is State.UNSAFE_WRITE for state in states):
            return True
        parts = (self.primary_flight, self.mirror_flight)
        return any(part is not None and part.state in _BROKEN_FLIGHTS for part in parts)

    @property
    def words(self) -> str:
        """What a filter looks at: step, name, both states, verdict, in lower case."""
        states = (checkpoint.state for checkpoint in (self.on(Role.PRIMARY), self.on(Role.MIRROR)) if checkpoint)
        return f"{self.label} {self.key} {' '.join(states)} {self.verdict}".lower()


def entries_of(survey: Survey) -> tuple[Entry, ...]:
    """All rows of a survey, newest first: steps and what is in flight, rolling names, foreign names last."""
    parts: dict[str, dict[Role, InFlight]] = {}
    for side in survey.sides:
        for flight in side.inventory.in_flight:
            parts.setdefault(flight.target or flight.name, {})[side.role] = flight
    shared = Counter(step.step for step in survey.steps if step.step is not None)
    entries = [_entry(step, parts.pop(step.name, {}), shared) for step in survey.steps]
    loose = [_loose_entry(target, flights, shared) for target, flights in parts.items()]
    if loose:
        entries = sorted([*loose, *entries], key=_newest_first)
    return (*entries, *_foreign_entries(survey))


def same_rows(before: Survey | None, now: Survey) -> bool:
    """Both have the very same entries. A survey that follows on another one keeps what did not change."""
    if before is None or before.steps is not now.steps or len(before.sides) != len(now.sides):
        return False
    return all(
        one.checkpoints is other.checkpoints and one.inventory.in_flight == other.inventory.in_flight
        for one, other in zip(before.sides, now.sides, strict=True)
    )


def _entry(step: Step, flights: dict[Role, InFlight], shared: Counter[int]) -> Entry:
    alone = step.step is not None and shared[step.step] == 1
    label = str(step.step) if alone else visible(step.name)
    return Entry(step.name, label, step.step, step, flights.get(Role.PRIMARY), flights.get(Role.MIRROR))


def _loose_entry(target: str, flights: dict[Role, InFlight], shared: Counter[int]) -> Entry:
    step = next((flight.step for flight in flights.values() if flight.step is not None), None)
    label = visible(target) if step is None or shared[step] else str(step)
    return Entry(target, label, step, None, flights.get(Role.PRIMARY), flights.get(Role.MIRROR))


def _foreign_entries(survey: Survey) -> list[Entry]:
    where: dict[str, list[Role]] = {}
    for side in survey.sides:
        for checkpoint in side.checkpoints:
            if checkpoint.state is State.FOREIGN:
                where.setdefault(checkpoint.name, []).append(side.role)
    return [Entry(name, visible(name), None, None, foreign=tuple(roles)) for name, roles in sorted(where.items())]


def sort_entries(entries: Iterable[Entry], order: Order) -> tuple[Entry, ...]:
    """The rows in the wanted order; equal ones newest first."""
    if order is Order.NEWEST:
        return tuple(entries)
    return tuple(sorted(entries, key=_SORT_KEYS[order]))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a filter asks for, in lower case."""

    held: tuple[str, ...]
    unheld: tuple[str, ...]

    def let_through(self, words: str) -> bool:
        return all(word in words for word in self.held) and not any(word in words for word in self.unheld)


def words_wanted(query: str) -> Wanted:
    """Every word must be there; one with a leading `-` must not be."""
    words = query.lower().split()
    unheld = tuple(word[1:] for word in words if word.startswith("-") and len(word) > 1)
    return Wanted(tuple(word for word in words if not word.startswith("-")), unheld)


def filter_entries(entries: Iterable[Entry], query: str, problems_only: bool) -> tuple[Entry, ...]:
    """Rows that hold every word of `query`; a word with a leading `-` must not be there."""
    kept = (entry for entry in entries if entry.troubled) if problems_only else entries
    wanted = words_wanted(query)
    if not wanted.held and not wanted.unheld:
        return tuple(kept)
    return tuple(entry for entry in kept if wanted.let_through(entry.words))


def _newest_first(entry: Entry) -> int:
    return 1 if entry.step is None else -entry.step


def _oldest_first(entry: Entry) -> tuple[bool, int]:
    return (entry.step is None, entry.step or 0)


def _worst_first(entry: Entry) -> tuple[bool, int]:
    severity = len(_SEVERITY) if entry.pair is None else _SEVERITY[entry.pair.verdict]
    return (not entry.troubled, severity)


def _largest_first(entry: Entry) -> int:
    return -entry.size


_SORT_KEYS: dict[Order, Callable[[Entry], tuple[bool, int] | int]] = {
    Order.OLDEST: _oldest_first,
    Order.WORST: _worst_first,
    Order.LARGEST: _largest_first,
}
