"""One side, looked at once: a listing, the bookkeeping, and a closer look at what is new, young or in doubt.

What did not change since the previous look is neither opened nor read again. The error of one item is that item's
alone; a listing that fails is a condition of the side, and then nothing is called missing.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field, replace

from ckptdeck.core.bookkeeping import list_quarantine, read_records_of_lost_root
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.closer_look import (
    identity_of,
    is_same,
    may_be_written,
    moved_since,
    needs_probe,
    with_structure,
    with_trace,
)
from ckptdeck.core.errors import describe_os_error
from ckptdeck.core.filesystem import DirectoryEntry
from ckptdeck.core.flight import UNTRACED, Flight, Trace, find_traces, flight_in_place, judge_flight
from ckptdeck.core.hashing import member_of
from ckptdeck.core.host import Host
from ckptdeck.core.listing import list_set
from ckptdeck.core.manifest import RECORD, ManifestContents, store_name
from ckptdeck.core.naming import FOREIGN_FAMILY, NameReading, NameRole, part_name, read_name
from ckptdeck.core.pointers import POINTER_LIMIT, read_pointers
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.siblings import Siblings
from ckptdeck.core.sighting import InFlight, Inventory, Member, Quarantined, Sighting, Warning
from ckptdeck.core.states import Condition, Kind
from ckptdeck.core.volume import volume_of

_FOREIGN = NameReading(NameRole.FOREIGN, FOREIGN_FAMILY)


def scan(host: Host, checkpoint_set: CheckpointSet, policy: Policy, previous: Inventory | None = None) -> Inventory:
    """What is in the set now. Never raises for what is on disk; a condition and its reason say what is wrong.

    `previous` is the inventory of the look before, taken under a policy that reads names alike. From it come growth,
    movement, and everything that need not be opened again.
    """
    document = checkpoint_set.document
    bare = Inventory(
        role=checkpoint_set.role,
        root=checkpoint_set.root,
        control=checkpoint_set.control,
        set_id=document.set_id if document is not None else None,
        run_id=document.run_id if document is not None else None,
        condition=checkpoint_set.condition,
        why=checkpoint_set.why,
        taken_at=host.clock.now(),
        volume=None,
        boot_id=host.boot_id,
    )
    if not checkpoint_set.condition.readable:
        return _unreadable(host, checkpoint_set, bare, previous)
    try:
        return _Scan(host, checkpoint_set, policy, previous, bare).run()
    except OSError as error:
        why = describe_os_error(error, os.fsdecode(error.filename or checkpoint_set.root))
        failed = replace(bare, condition=Condition.UNREADABLE, why=why)
        return _unreadable(host, checkpoint_set, failed, previous)


def _unreadable(host: Host, checkpoint_set: CheckpointSet, bare: Inventory, previous: Inventory | None) -> Inventory:
    """A side that cannot be listed: everything known to belong there is unreadable, and nothing is missing."""
    why = bare.why or f"this side is {bare.condition}"
    known = {}
    for name, record in read_records_of_lost_root(host.fs, checkpoint_set, bare.taken_at).items():
        known[name] = Sighting(name, record.step, record.kind, "recorded", record.step is None, None, record)
    for sighting in previous.sightings if previous is not None else ():
        if sighting.family != FOREIGN_FAMILY:
            known[sighting.name] = replace(
                sighting, identity=None, writer=None, held=False, moved=False, structure=None, seen_missing=0
            )
    return replace(bare, sightings=tuple(replace(sighting, error=why) for sighting in known.values()))


@dataclass(slots=True)
class _Found:
    """A listing, sorted by what the names stand for."""

    finals: dict[str, tuple[DirectoryEntry, NameReading]] = field(default_factory=dict)
    same: dict[str, Sighting] = field(default_factory=dict)
    """Unchanged in every respect since the look before."""
    flights: list[tuple[DirectoryEntry, os.stat_result, NameReading]] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)


class _Scan:
    def __init__(
        self, host: Host, checkpoint_set: CheckpointSet, policy: Policy, previous: Inventory | None, bare: Inventory
    ) -> None:
        self._host = host
        self._fs = host.fs
        self._set = checkpoint_set
        self._policy = policy
        self._previous = previous
        self._bare = bare
        self._now = bare.taken_at
        self._elapsed = bare.taken_at - previous.taken_at if previous is not None else 0.0
        self._before = {s.name: s for s in previous.sightings} if previous is not None else {}
        self._flights_before = {f.name: f for f in previous.in_flight} if previous is not None else {}
        self._contents = ManifestContents()
        self._damaged: dict[str, str] = {}
        self._traces: dict[tuple[int, int], Trace] = {}
        self._warnings: list[Warning] = []

    def run(self) -> Inventory:
        """Raises OSError when the side as a whole cannot be looked at."""
        root = self._set.root
        volume = volume_of(self._fs, root)
        listing = list_set(self._fs, self._set, self._now, self._previous)
        self._contents = listing.contents
        self._damaged = self._damage()
        found = self._sort_out(listing.entries)
        steps = {name: reading.step for name, (_, reading) in found.finals.items()}
        steps.update((name, sighting.step) for name, sighting in found.same.items())
        pointed_at, warnings = read_pointers(self._fs, root, found.pointers, found.links, steps)
        self._warnings += warnings
        fresh = [self._sighting(entry, reading, found.links) for entry, reading in found.finals.values()]
        fresh = self._closer_look(fresh, found)
        sightings = [
            sighting
            if sighting.pointed_at_by == pointed_at.get(sighting.name)
            else replace(sighting, pointed_at_by=pointed_at.get(sighting.name))
            for sighting in (*found.same.values(), *fresh)
        ]
        siblings = Siblings(sightings) if found.flights or any(s.held or s.moved for s in fresh) else Siblings(())
        local = volume.fs_class == "local"
        names = {entry.name for entry in listing.entries}
        missing = (self._missing(name, listings) for name, listings in listing.missing.items())
        return replace(
            self._bare,
            volume=volume,
            sightings=(*sightings, *missing),
            in_flight=(*self._unfinished(found, siblings, local), *self._in_place(fresh, siblings)),
            quarantine=self._quarantine(),
            orphan_next=tuple(
                name for name in self._contents.next_records if name not in names and part_name(name) not in names
            ),
            warnings=tuple(self._warnings),
            read=listing.books,
        )

    # --- names

    def _damage(self) -> dict[str, str]:
        """Why a record cannot be read, by its file name."""
        if not self._contents.damaged:
            return {}
        records = self._set.control_path("manifest")
        for damaged in self._contents.damaged:
            self._warnings.append(Warning("damaged-record", f"{visible(damaged.path)}: {visible(damaged.why)}"))
        return {os.path.basename(d.path): d.why for d in self._contents.damaged if os.path.dirname(d.path) == records}

    def _missing(self, name: str, listings: int) -> Sighting:
        record = self._contents.records[name]
        reading = _recorded(read_name(name, record.kind is Kind.DIRECTORY, self._policy), record.step)
        return Sighting(
            name=name,
            step=reading.step,
            kind=record.kind,
            family=reading.family,
            rolling=reading.step is None,
            record=record,
            receipt=self._contents.receipts.get(name),
            next_record=self._contents.next_records.get(name),
            pinned=self._contents.pins.get(name),
            seen_missing=listings,
        )

    def _sort_out(self, entries: list[DirectoryEntry]) -> _Found:
        found = _Found()
        for entry in entries:
            name, status = entry.name, entry.stat
            unchanged = self._unchanged(entry)
            if unchanged is not None:
                found.same[name] = unchanged
                continue
            reading = self._read_name(entry)
            if status is not None and stat.S_ISLNK(status.st_mode) and reading.role is not NameRole.IN_FLIGHT:
                found.links[name] = self._link_target(name)
            if reading.role is NameRole.IN_FLIGHT:
                if status is not None:
                    found.flights.append((entry, status, reading))
            elif reading.role is NameRole.POINTER:
                if name not in found.links:
                    found.pointers.append(name)
            elif reading.role not in (NameRole.OURS, NameRole.MARKER):
                found.finals[name] = (entry, reading)
        return found

    def _link_target(self, name: str) -> str:
        try:
            return self._fs.read_link(self._set.path_of(name))
        except OSError:
            return ""  # gone or replaced just now: it was a link, and links are not followed anyway

    def _read_name(self, entry: DirectoryEntry) -> NameReading:
        """What the name stands for. A recorded name is a checkpoint whatever it looks like."""
        name, status = entry.name, entry.stat
        reading = read_name(name, status is not None and stat.S_ISDIR(status.st_mode), self._policy)
        record = self._contents.records.get(name) or self._contents.next_records.get(name)
        if record is not None:
            return _recorded(reading, record.step)
        if status is None or reading.role in (NameRole.OURS, NameRole.MARKER):
            return reading
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return _FOREIGN
        if reading.role is NameRole.POINTER and stat.S_ISREG(status.st_mode) and status.st_size > POINTER_LIMIT:
            return NameReading(NameRole.ROLLING, "single-file")
        return reading

    def _unchanged(self, entry: DirectoryEntry) -> Sighting | None:
        before = self._before.get(entry.name)
        if before is None or before.identity is None or entry.stat is None or self._damaged:
            return None
        contents, name = self._contents, entry.name
        at_rest = not (before.held or before.moved or before.error is not None or before.link is not None)
        if (
            at_rest
            and is_same(before.identity, entry.stat)
            and before.record is contents.records.get(name)
            and before.receipt is contents.receipts.get(name)
            and before.next_record is contents.next_records.get(name)
            and before.pinned == contents.pins.get(name)
        ):
            return before
        return None

    # --- finals

    def _sighting(self, entry: DirectoryEntry, reading: NameReading, links: dict[str, str]) -> Sighting:
        name, status, contents = entry.name, entry.stat, self._contents
        before = self._before.get(name)
        identity = None
        if status is not None:
            known = before.identity if before is not None else None
            identity = known if known is not None and is_same(known, status) else identity_of(status)
        same = before is not None and identity is not None and before.identity is identity
        return Sighting(
            name=name,
            step=reading.step,
            kind=Kind.DIRECTORY if status is not None and stat.S_ISDIR(status.st_mode) else Kind.FILE,
            family=FOREIGN_FAMILY if reading.role is NameRole.FOREIGN else reading.family,
            rolling=reading.step is None,
            identity=identity,
            record=contents.records.get(name),
            next_record=contents.next_records.get(name),
            receipt=contents.receipts.get(name),
            structure=before.structure if same and before is not None else None,
            pinned=contents.pins.get(name),
            link=links.get(name),
            error=self._error(entry),
        )

    def _error(self, entry: DirectoryEntry) -> str | None:
        if entry.stat is None:
            code = entry.error or errno.EIO
            return describe_os_error(OSError(code, os.strerror(code)), self._set.path_of(entry.name))
        damage = self._damaged.get(store_name(entry.name) + RECORD) if self._damaged else None
        if damage is None:
            return None
        return f"its record is damaged ({damage}); move the record away, then `ckptdeck adopt` writes a new one"

    def _closer_look(self, fresh: list[Sighting], found: _Found) -> list[Sighting]:
        """Asks who writes, once for all, and lets formats speak where nothing else can."""
        fresh = [replace(s, moved=True) if moved_since(s, self._before.get(s.name)) else s for s in fresh]
        asked = {
            s.name: s.identity.members[0]
            for s in fresh
            if s.identity is not None and may_be_written(s, self._before.get(s.name), self._now, self._policy.min_age)
        }
        parts = {
            entry.name: member_of("", status) for entry, status, _ in found.flights if stat.S_ISREG(status.st_mode)
        }
        self._traces = find_traces(self._host, ((self._set.path_of(n), m) for n, m in (asked | parts).items()))
        fresh = [with_trace(s, self._trace(asked[s.name])) if s.name in asked else s for s in fresh]
        return [
            with_structure(self._fs, self._set.path_of(s.name), s) if needs_probe(s, self._set.role) else s
            for s in fresh
        ]

    def _trace(self, member: Member) -> Trace:
        return self._traces.get((member.device, member.inode), UNTRACED)

    def _unfinished(self, found: _Found, siblings: Siblings, local: bool) -> list[InFlight]:
        by_part = {part_name(name): name for name in self._contents.next_records}
        finals = {name: entry.stat.st_ino for name, (entry, _) in found.finals.items() if entry.stat is not None}
        finals.update((n, s.identity.members[0].inode) for n, s in found.same.items() if s.identity is not None)
        flights = []
        for entry, status, reading in found.flights:
            member = member_of("", status)
            target = reading.target or by_part.get(entry.name, "")
            following = self._contents.next_records.get(target) if reading.ours else None
            flight = Flight(
                name=entry.name,
                target=target,
                step=following.step if reading.step is None and following is not None else reading.step,
                ours=reading.ours,
                member=member,
                trace=self._trace(member) if stat.S_ISREG(status.st_mode) else UNTRACED,
                next_record=following,
                usual_size=siblings.usual_size(target) if target else None,
                same_as_final=finals.get(target) == member.inode and member.links > 1,
                previous=self._flights_before.get(entry.name),
                elapsed=self._elapsed,
            )
            flights.append(judge_flight(flight, local=local, now=self._now, min_age=self._policy.min_age))
        return flights

    def _in_place(self, fresh: list[Sighting], siblings: Siblings) -> list[InFlight]:
        written = (s for s in fresh if s.held or s.moved)
        flights = (
            flight_in_place(s, self._before.get(s.name), siblings.usual_size(s.name), self._elapsed) for s in written
        )
        return [flight for flight in flights if flight is not None]

    # --- beside

    def _quarantine(self) -> tuple[Quarantined, ...]:
        try:
            return list_quarantine(self._fs, self._set)
        except OSError as error:
            self._warnings.append(Warning("quarantine", describe_os_error(error, self._set.control_path("quarantine"))))
            return ()


def _recorded(reading: NameReading, step: int | None) -> NameReading:
    """A recorded name: its step from the record, else from the name; its family from the name, if it has one."""
    family = reading.family if reading.role in (NameRole.CHECKPOINT, NameRole.ROLLING) else "recorded"
    step = step if step is not None else reading.step
    return NameReading(NameRole.CHECKPOINT if step is not None else NameRole.ROLLING, family, step)
