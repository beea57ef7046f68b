"""Who writes a file, and what a name that is still being written is: live, ready, stale or unknown.

No lock is taken to find out. Even a shared flock that is given back at once would, in that instant, make a
publisher's own attempt to lock its part fail, and fail a trainer's save. Asked instead, strongest first: the processes
this user may look into; a read lease, which the kernel refuses while anybody on this host has the file open for
writing and which makes a newcomer wait for microseconds at most; the kernel's table of locks, which is only read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from ckptdeck.core.amounts import part_of_text, size_text, span_text
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import InFlight, Member, Record, Writer
from ckptdeck.core.states import FlightState, Kind
from ckptdeck.core.times import doubt_about, known_age
from ckptdeck.core.values import dataclass

_SHORTEST_INTERVAL = 0.2
"""Seconds between two looks below which a rate would be noise."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known about writers of one file."""

    writer: Writer | None = None
    held: bool | None = None
    """Somebody on this host has it open for writing; None when that cannot be told."""
    flocked: bool = False
    """It is held under an exclusive flock, as our publishers hold their inode until its record is written."""


UNTRACED = Trace()


def find_traces(host: Host, files: Iterable[tuple[str, Member]]) -> dict[tuple[int, int], Trace]:
    """(device, inode) → what is known, for each regular file given by its path and stat."""
    paths = {(member.device, member.inode): path for path, member in files}
    if not paths:
        return {}
    writers = host.find_writers(frozenset(paths))
    traces: dict[tuple[int, int], Trace] = {}
    for key, path in paths.items():
        writer = writers.get(key)
        traces[key] = Trace(writer, True if writer is not None else _held(host.fs, path, key))
    if any(trace.held is not False for trace in traces.values()):
        for key in flocked(host.fs) & traces.keys():
            trace = traces[key]
            traces[key] = Trace(trace.writer, trace.held is not False, flocked=True)
    return traces


def _held(fs: FileSystem, path: str, key: tuple[int, int]) -> bool | None:
    try:
        with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            status = fs.fstat(fd)
            if (status.st_dev, status.st_ino) != key:
                return None
            return fs.open_for_writing_elsewhere(fd)
    except OSError:
        return None  # gone, replaced or not ours to open: nothing is known, and nothing is claimed


def flocked(fs: FileSystem) -> set[tuple[int, int]]:
    """(device, inode) of files under an exclusive flock, as far as the kernel shows it."""
    try:
        lines = fs.lock_table().splitlines()
    except OSError:
        return set()
    found = set()
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[3] == "WRITE":
            major, minor, inode = fields[5].split(":")
            found.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    return found


@dataclass(frozen=True, slots=True)
class Flight:
    """Everything there is to know about one unfinished name."""

    name: str
    target: str
    step: int | None
    ours: bool
    """Named by our own publish."""
    member: Member
    trace: Trace
    next_record: Record | None
    usual_size: int | None
    same_as_final: bool
    """It and its final name are one inode: a publish by link that was cut short."""
    previous: InFlight | None
    elapsed: float
    """Seconds since `previous` was seen."""
    kind: Kind = Kind.FILE
    staged: bool = False
    """In the control directory's staging place."""


def judge_flight(flight: Flight, *, local: bool, now: float, min_age: float) -> InFlight:
    """What it is. `local`: nobody but this host can write there. `now` and `min_age` in seconds."""
    state, reason = _state(flight, local=local, now=now, min_age=min_age)
    expected = flight.next_record.size if flight.next_record is not None else flight.usual_size
    return InFlight(
        name=flight.name,
        target=flight.target,
        step=flight.step,
        size=flight.member.size,
        mtime_ns=flight.member.mtime_ns,
        inode=flight.member.inode,
        state=state,
        reason=reason,
        expected_size=expected,
        writer=flight.trace.writer,
        bytes_per_second=growth_rate(flight.member.inode, flight.member.size, flight.previous, flight.elapsed),
        ours=flight.ours,
        kind=flight.kind,
        staged=flight.staged,
        announced=flight.next_record is not None,
    )


def going_on(flight: InFlight, whole: int, command: str) -> InFlight:
    """The same part, known to be of a copy of `whole` bytes that `command` goes on with."""
    lost = _lost(flight.size)
    if not flight.reason.endswith(lost):
        return flight
    goes_on = f"; {part_of_text(flight.size, whole)}, and `{command}` goes on with it"
    return replace(flight, reason=flight.reason.removesuffix(lost) + goes_on)


def growth_rate(inode: int, size: int, before: InFlight | tuple[int, int] | None, elapsed: float) -> float | None:
    """Bytes per second since the look before, None without one that can be compared."""
    if isinstance(before, InFlight):
        before = before.inode, before.size
    if before is None or before[0] != inode or size < before[1] or elapsed < _SHORTEST_INTERVAL:
        return None
    return (size - before[1]) / elapsed


def _state(flight: Flight, *, local: bool, now: float, min_age: float) -> tuple[FlightState, str]:
    member, trace = flight.member, flight.trace
    if flight.same_as_final:
        return FlightState.STALE, f"a second name of {visible(flight.target)}, which is already there"
    if trace.writer is not None:
        return FlightState.LIVE, f"written by {trace.writer.shown()}"
    if trace.held:
        return FlightState.LIVE, "a process has it open for writing"
    before = flight.previous
    if before is not None and before.inode == member.inode:
        if member.size != before.size:
            return FlightState.LIVE, f"it went from {size_text(before.size)} to {size_text(member.size)}"
        if member.mtime_ns != before.mtime_ns:
            return FlightState.LIVE, "it was written to since the last look"
    abandoned = local and trace.held is False
    doubt = doubt_about(member.mtime_ns, now)
    age = known_age(member.mtime_ns, now)
    if not ((abandoned and flight.ours) or (age is not None and age >= min_age)):
        return FlightState.UNKNOWN, _not_yet(doubt, age, min_age, here=abandoned)
    silent = f"quiet for {span_text(age)}" if age is not None else doubt
    quiet = f"no process has it open, {silent}" if abandoned else silent
    promised = flight.next_record
    if promised is None:
        return FlightState.STALE, f"{quiet}{_lost(member.size)}"
    if promised.size == member.size:
        return FlightState.READY, f"{quiet}; {size_text(member.size)} as its next record says: recover can name it"
    return FlightState.STALE, f"{quiet}; {part_of_text(member.size, promised.size)} of its next record"


def _lost(size: int) -> str:
    return f"; {size_text(size)} that nobody will finish"


def _not_yet(doubt: str, age: float | None, min_age: float, *, here: bool) -> str:
    nobody = "no process here has it open" if here else "a writer may sit on another host or belong to another user"
    if age is None:
        return f"{nobody}; {doubt}"
    return f"{nobody}; changed {span_text(age)} ago, stale after {span_text(min_age)} of silence"
