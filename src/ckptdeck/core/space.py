"""How long a volume will do: what one save costs, how often one comes, how many more fit, when it is full. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice, pairwise

from ckptdeck.core.amounts import counted, median, size_text, span_text
from ckptdeck.core.policy import Policy
from ckptdeck.core.sides import Projection, Side, Step, Survey
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import FlightState, Role, State
from ckptdeck.core.times import doubt_about
from ckptdeck.core.values import dataclass

_GOOD = frozenset({State.VERIFIED, State.SIZE_ONLY, State.STRUCTURE_OK})
_RECENT_SIZES = 5
_RECENT_SAVES = 50
_RESTART = 4.0
"""A gap so many times the median is a stop of the run, not its cadence."""
_FEWEST_GAPS = 3
_SHORTEST_INTERVAL = 5.0
"""Seconds. Files that are closer to each other were copied or unpacked together: their times are not the run's."""


def project(side: Side, policy: Policy, now: float, *, shares_with: Side | None = None) -> Projection:
    """What the space of one side allows.

    `shares_with` is the other side when it lives on the same volume: every save is then paid for twice. Bytes; times
    in seconds since 1970. None wherever a figure has no ground.
    """
    sizes = _recent_sizes(side)
    size = max(sizes, default=None)
    cadence = cadence_of(side, now)
    basis = [_size_basis(sizes), cadence.basis]
    volume = side.inventory.volume
    interval = cadence.interval
    if volume is None or not size:
        return Projection(size, interval, None, None, "; ".join(basis))
    per_save = size
    pending = bytes_still_needed(side)
    if shares_with is not None:
        per_save += max(_recent_sizes(shares_with), default=size)
        pending += bytes_still_needed(shares_with)
        basis.append("both sides on one volume: every save counts twice")
    reserve = int(volume.total * policy.reserve_fraction)
    fits = max(0, (volume.free - reserve - pending) // per_save)
    basis.append(f"{size_text(volume.free)} free, {size_text(reserve)} kept in reserve")
    if pending:
        basis.append(f"{size_text(pending)} for what is being written")
    if volume.optimistic:
        basis.append(f"free space on {volume.fs_type} may be less than it says")
    full_at = None
    if interval is not None:
        started = max(cadence.newest, now - interval)  # a run that stands still fills nothing meanwhile
        full_at = started + (fits + 1) * interval
    return Projection(size, interval, fits, full_at, "; ".join(basis))


def bytes_still_needed(side: Side) -> int:
    """What parts under way will still take. Stale ones grow no more; what was written is gone from the free figure."""
    return sum(
        max(0, (flight.expected_size or flight.size) - flight.size)
        for flight in side.inventory.in_flight
        if flight.state in (FlightState.LIVE, FlightState.UNKNOWN)
    )


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often the run saves. `interval` is None where the times do not tell, and `basis` then says why."""

    interval: float | None
    newest: float
    basis: str


def size_of_save(side: Side, sides: Sequence[Side] = ()) -> tuple[int | None, str]:
    """(Bytes of one save: the largest of the last five good ones, how that came about).

    While nothing good is there, what the saves on another of `sides` take.
    """
    for each in (side, *sides):
        sizes = _recent_sizes(each)
        if sizes:
            return max(sizes), _size_basis(sizes) + ("" if each is side else f", as on the {each.role}")
    return None, _size_basis([])


def good_steps(side: Side) -> dict[int, int]:
    """Step → bytes, of every step all of whose names are good."""
    found = {}
    for copies in _newest_steps(side):
        step = copies[0].step
        if step is not None and all(copy.state in _GOOD for copy in copies):
            found[step] = sum(copy.size for copy in copies)
    return found


def spacing_of(steps: Sequence[Step]) -> float | None:
    """Training steps between two saves: the median distance between the numbers of the newest."""
    numbers = sorted({row.step for row in steps if row.step is not None}, reverse=True)[:_RECENT_SAVES]
    gaps = [newer - older for newer, older in pairwise(numbers)]
    return median(gaps) if gaps else None


def saves_by_inodes(side: Side) -> int | None:
    """Saves for which there are inodes; None where they do not run out.

    File systems that make inodes as they go report none free at all.
    """
    free = 0 if side.inventory.volume is None else side.inventory.volume.free_inodes
    most = max((len(copy.sighting.identity.members) for copy in side.present if copy.sighting.identity), default=0)
    return free // most if free > 0 and most else None


def _newest_steps(side: Side) -> Iterator[list[Checkpoint]]:
    """Everything saved for one step, newest step first, as the side is sorted."""
    with_step = (c for c in side.checkpoints if c.step is not None and c.state is not State.FOREIGN)
    for _, copies in groupby(with_step, key=lambda checkpoint: checkpoint.step):
        yield list(copies)


def _recent_sizes(side: Side) -> list[int]:
    """Bytes of each of the last five good steps, all their names together; of rolling names where no step is good."""
    sizes = []
    for copies in _newest_steps(side):
        if all(copy.state in _GOOD for copy in copies):
            sizes.append(sum(copy.size for copy in copies))
        if len(sizes) == _RECENT_SIZES:
            return sizes
    return sizes or [c.size for c in side.checkpoints if c.step is None and c.state in _GOOD][:_RECENT_SIZES]


def cadence_of(side: Side, now: float) -> Cadence:
    """How often a side is saved to, from the times of its newest steps."""
    saves = (_saved_at(copies, now) for copies in islice(_newest_steps(side), _RECENT_SAVES))
    times = sorted(time for time in saves if time is not None)
    gaps = [later - earlier for earlier, later in pairwise(times) if later > earlier]
    newest = max(times, default=0.0)
    limit = _RESTART * median(gaps) if gaps else 0.0
    steady = [gap for gap in gaps if gap <= limit]
    if len(steady) < _FEWEST_GAPS:
        return Cadence(None, newest, f"no cadence: {counted(len(steady), 'gap')} between saves, {_FEWEST_GAPS} needed")
    interval = median(steady)
    if interval < _SHORTEST_INTERVAL:
        return Cadence(None, newest, f"no cadence: the files are {interval:.2g} s apart, as copying leaves them")
    basis = f"median of {counted(len(steady), 'gap')}: {span_text(interval)}"
    left_out = len(gaps) - len(steady)
    if left_out:
        basis += f" ({left_out} longer left out as restart{'s' if left_out != 1 else ''})"
    return Cadence(interval, newest, basis)


def _saved_at(copies: list[Checkpoint], now: float) -> float | None:
    """When a step was saved: the recorded mtime, which touch and cp cannot move, else the file's own."""
    times = []
    for copy in copies:
        record, identity = copy.sighting.record, copy.sighting.identity
        mtime_ns = record.mtime_ns if record is not None else identity.mtime_ns if identity is not None else 0
        if not doubt_about(mtime_ns, now):
            times.append(mtime_ns / 1e9)
    return max(times, default=None)


def _size_basis(sizes: list[int]) -> str:
    if not sizes:
        return "no size yet: nothing good is there"
    return f"largest of the last {len(sizes)}: {size_text(max(sizes))}"


def room_on(survey: Survey, role: Role) -> int | None:
    """Bytes that may be used on a side: free, less the reserve, less what is being written. None: unknown."""
    side = survey.side(role)
    if side is None or side.inventory.volume is None:
        return None
    volume = side.inventory.volume
    same_device = survey.sides if survey.shared_device else (side,)
    pending = sum(bytes_still_needed(each) for each in same_device)
    return volume.free - reserve_on(survey, role) - pending


def reserve_on(survey: Survey, role: Role) -> int:
    """Bytes that stay free (`[space] reserve`)."""
    side = survey.side(role)
    if side is None or side.inventory.volume is None:
        return 0
    return int(side.inventory.volume.total * survey.policy.reserve_fraction)
