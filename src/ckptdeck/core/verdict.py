"""Two judged sides in, one row per checkpoint out: the table of verdicts, first match wins (1-product.md). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ckptdeck.core.naming import FOREIGN_FAMILY, order_key
from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.sides import Side, Step
from ckptdeck.core.sighting import Checkpoint, InFlight, Sighting
from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, FlightState, Kind, Role, State, Verdict

_BEING_WRITTEN = frozenset({FlightState.LIVE, FlightState.UNKNOWN})
_GONE_FOR_GOOD = frozenset({State.REMOVED, State.ABSENT})
_MATCHING = frozenset({State.VERIFIED, State.SIZE_ONLY})
_UNREADABLE, _RETIRED, _UNSAFE_WRITE, _VERIFIED, _SUSPECT, _CHANGED = (
    frozenset({state})
    for state in (
        State.UNREADABLE,
        State.RETIRED,
        State.UNSAFE_WRITE,
        State.VERIFIED,
        State.SUSPECT,
        State.CHANGED,
    )
)
_HARMED = BAD | _SUSPECT


def align(primary: Side, mirror: Side | None, before: Iterable[Step] = ()) -> tuple[Step, ...]:
    """One row per name, newest step first, rolling names last.

    Names are what is aligned: another name with the same step is a row of its own. Foreign names are no rows, nor are
    names that every side only remembers (a retention's work); what is being written for a name nobody has yet is one.
    A row of `before`, the steps of an earlier survey, stands where the very same copies come again. While a side only
    says what it said last, every row is unknown.
    """
    sides = (primary,) if mirror is None else (primary, mirror)
    names: dict[str, tuple[int | None, Kind]] = {}
    for side in sides:
        for checkpoint in side.checkpoints:
            sighting = checkpoint.sighting
            if checkpoint.state is not State.FOREIGN and sighting.name not in names:
                names[sighting.name] = (sighting.step, sighting.kind)
    flights = flights_to_rows(primary)
    for target, flight in flights.items():
        names.setdefault(target, (flight.step, flight.kind))
    doubt = next((_doubt(side) for side in sides if side.checkpoints and not side.inventory.condition.readable), None)
    settled = () if doubt else (row for row in before if row.verdict not in (Verdict.IN_FLIGHT, Verdict.UNKNOWN))
    rows_before = {row.name: row for row in settled}
    steps = []
    for name, (step, kind) in names.items():
        earlier = rows_before.get(name)
        if earlier is not None and name not in flights and _stands(earlier, primary, mirror):
            steps.append(earlier)
            continue
        row = row_of(name, step, kind, sides, flights.get(name), doubt)
        if row is not None:
            steps.append(row)
    return tuple(sorted(steps, key=place_of_row))


def place_of_row(row: Step) -> tuple[bool, int, str]:
    """What rows are sorted by: newest first."""
    return order_key(row.step, row.name)


def row_of(
    name: str, step: int | None, kind: Kind, sides: Sequence[Side], flight: InFlight | None, doubt: str | None = None
) -> Step | None:
    """The row of `name`, which `flight` is written for; None for what every side only remembers. `doubt`: nothing may
    be said of it, and why."""
    copies = [side.find(name) or _not_listed(side, name, step, kind) for side in sides]
    if flight is None and all(copy.state in _GONE_FOR_GOOD for copy in copies):
        return None
    row = _Row(copies[0], copies[1] if len(copies) == 2 else None, flight)
    verdict, reason = (Verdict.UNKNOWN, doubt) if doubt else _judge(row)
    return Step(step, name, row.primary, row.mirror, verdict, reason)


def _doubt(side: Side) -> str:
    return f"{side.role}: {side.inventory.why or side.inventory.condition.words}"


def _stands(row: Step, primary: Side, mirror: Side | None) -> bool:
    """Both sides hold what they held then. What only one side has is worked out anew: the other's condition counts."""
    one = primary.find(row.name)
    if one is None or row.primary is not one:
        return False
    other = None if mirror is None else mirror.find(row.name)
    return row.mirror is other and (mirror is None or other is not None)


def flights_to_rows(primary: Side) -> dict[str, InFlight]:
    """What the trainer is writing, by final name. A part on the mirror is our own copy: its row stays what it is."""
    return {
        flight.target: flight
        for flight in primary.inventory.in_flight
        if flight.target and not flight.final_name and flight.state in _BEING_WRITTEN
    }


def _not_listed(side: Side, name: str, step: int | None, kind: Kind) -> Checkpoint:
    sighting = Sighting(name, step, kind, FOREIGN_FAMILY, rolling=step is None)
    if side.inventory.condition.readable:
        return Checkpoint(sighting, State.ABSENT, "never was here")
    return Checkpoint(sighting, State.UNREADABLE, side.inventory.why or f"the {side.role} cannot be read")


@dataclass(slots=True)
class _Row:
    primary: Checkpoint
    mirror: Checkpoint | None
    flight: InFlight | None

    def first(self, states: frozenset[State]) -> tuple[Role, Checkpoint] | None:
        if self.primary.state in states:
            return Role.PRIMARY, self.primary
        if self.mirror is not None and self.mirror.state in states:
            return Role.MIRROR, self.mirror
        return None

    def states(self) -> str:
        """ "verified on primary, absent on mirror"."""
        mirror = "" if self.mirror is None else f", {self.mirror.state} on mirror"
        return f"{self.primary.state} on primary{mirror}"


def _judge(row: _Row) -> tuple[Verdict, str]:
    for verdict, reason_for in _TABLE:
        reason = reason_for(row)
        if reason is not None:
            return verdict, reason
    return Verdict.LOST, f"no copy can be trusted or proven: {row.states()}"


def _unknown(row: _Row) -> str | None:
    found = row.first(_UNREADABLE)
    return None if found is None else f"{found[0]}: {found[1].reason}"


def _retired(row: _Row) -> str | None:
    """Set aside by a rollback. What the run saves anew over it is a checkpoint like any other that the mirror lacks."""
    found = row.first(_RETIRED)
    saved_again = row.primary.state not in _RETIRED | NOT_THERE
    if found is None or saved_again:
        return None
    return f"{found[0]}: {found[1].reason}"


def _in_flight(row: _Row) -> str | None:
    found = row.first(_UNSAFE_WRITE)
    if found is not None:
        return f"{found[0]}: {found[1].reason}"
    if row.flight is not None:
        return f"{visible(row.flight.name)}: {row.flight.reason}"
    return None


def rolled_on(primary: Checkpoint | None, mirror: Checkpoint | None) -> bool:
    """A rolling name (`last.pt`) whose primary was written later than the mirror's: a newer save, not a quarrel."""
    if primary is None or mirror is None or primary.step is not None or mirror.state not in _MATCHING:
        return False
    newer, older = primary.sighting.record, mirror.sighting.record
    if primary.state not in _MATCHING or newer is None or older is None:
        return False
    return newer.digest != older.digest and newer.mtime_ns > older.mtime_ns > 0  # a copy keeps its source's time


def _diverged(row: _Row) -> str | None:
    """Records that name different content, each side matching its own: at most one is what the run needs."""
    if row.mirror is None or row.primary.state not in _MATCHING or row.mirror.state not in _MATCHING:
        return None
    one, other = row.primary.digest, row.mirror.digest
    if one is None or other is None or one == other or rolled_on(row.primary, row.mirror):
        return None
    return (
        f"each side fits its own record, and the records differ: primary {one[:8]}, mirror {other[:8]}; "
        "`ckptdeck mirror --replace` makes the mirror follow, once its new copy is proven"
    )


def _safe(row: _Row) -> str | None:
    both = row.mirror is not None and row.primary.state is row.mirror.state is State.VERIFIED
    return "verified on both sides, same content" if both and not rolled_on(row.primary, row.mirror) else None


def _repair(row: _Row) -> str | None:
    good, harmed = row.first(_VERIFIED), row.first(_HARMED)
    if good is None or harmed is None:
        return None
    return f"{harmed[0]} is {harmed[1].state} ({harmed[1].reason}), {good[0]} is verified"


def _adopt(row: _Row) -> str | None:
    found = row.first(_CHANGED) or row.first(CANDIDATES)
    return None if found is None else f"{found[0]} is {found[1].state}: {found[1].reason}"


def _mirror_me(row: _Row) -> str | None:
    if row.mirror is None or row.primary.state is not State.VERIFIED:
        return None
    if rolled_on(row.primary, row.mirror):
        return "saved again on primary under its rolling name; the mirror holds the one before"
    if row.mirror.state not in NOT_THERE | _RETIRED:
        return None
    return f"verified on primary, {row.mirror.state} on mirror"


def _mirror_only(row: _Row) -> str | None:
    if row.mirror is None or row.mirror.state is not State.VERIFIED or row.primary.state not in NOT_THERE:
        return None
    return f"verified on mirror, {row.primary.state} on primary"


def _at_risk(row: _Row) -> str | None:
    """One good copy and nowhere a second one, or nothing better than a doubt that nobody has decided."""
    good = row.first(_VERIFIED)
    if good is not None:
        return "verified, and there is no mirror" if row.mirror is None else f"only one copy counts: {row.states()}"
    doubtful = row.first(_SUSPECT)
    if doubtful is None:
        return None
    side, suspect = doubtful
    decides = f"`ckptdeck adopt {shell_word(suspect.name)} --side {side}` decides"
    return f"{decides}: {suspect.reason}"


_TABLE: tuple[tuple[Verdict, Callable[[_Row], str | None]], ...] = (
    (Verdict.UNKNOWN, _unknown),
    (Verdict.RETIRED, _retired),
    (Verdict.IN_FLIGHT, _in_flight),
    (Verdict.DIVERGED, _diverged),
    (Verdict.SAFE, _safe),
    (Verdict.REPAIR, _repair),
    (Verdict.ADOPT, _adopt),
    (Verdict.MIRROR_ME, _mirror_me),
    (Verdict.MIRROR_ONLY, _mirror_only),
    (Verdict.AT_RISK, _at_risk),
)
