"""A listing sorted by what the names stand for: checkpoints of every kind, unfinished names, pointers and links.

Directories are walked; what did not change since the look before is recognised by its stat and not looked at again.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import describe_os_error
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem, once_more
from ckptdeck.core.groups import Group, find_groups
from ckptdeck.core.manifest import RECORD, ManifestContents, store_name
from ckptdeck.core.naming import (
    FOREIGN_FAMILY,
    SINGLE_FILE,
    NameReading,
    NameRole,
    read_directory,
    read_name,
    read_shape,
)
from ckptdeck.core.pointers import POINTER_LIMIT
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Member, Record, Sighting
from ckptdeck.core.states import Kind, MemberKind
from ckptdeck.core.unit import OddThing, member_of, walk

_FOREIGN = NameReading(NameRole.FOREIGN, FOREIGN_FAMILY)


@dataclass(slots=True)
class Found:
    """What a listing holds."""

    fresh: list[Sighting] = field(default_factory=list)
    """Checkpoints and foreign names that are new or changed, as far as their stat tells."""
    same: dict[str, Sighting] = field(default_factory=dict)
    """Unchanged in every respect since the look before."""
    flights: list[tuple[DirectoryEntry, os.stat_result, NameReading]] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    markers: dict[str, str] = field(default_factory=dict)
    """What a marker is called after → the marker that says it is not finished."""
    unfinished: dict[str, str] = field(default_factory=dict)
    """Checkpoint → the marker beside it."""
    grouped: frozenset[str] = frozenset()
    """Names that are members of a group."""


class Gathering:
    """Sorts one listing of one set."""

    def __init__(
        self,
        fs: FileSystem,
        checkpoint_set: CheckpointSet,
        policy: Policy,
        contents: ManifestContents,
        damaged: Mapping[str, str],
        before: Mapping[str, Sighting],
    ) -> None:
        self._fs = fs
        self._set = checkpoint_set
        self._policy = policy
        self._contents = contents
        self._damaged = damaged
        self._before = before
        self._found = Found()

    def sort_out(self, entries: Iterable[DirectoryEntry]) -> Found:
        """Everything that is listed. The errors of one name are that name's alone."""
        found = self._found
        listed = {entry.name: entry for entry in entries}
        grouped = self._groups(listed)
        found.grouped = frozenset(member for group in grouped for member in group.members)
        self.sort_singles(entry for entry in listed.values() if entry.name not in found.grouped)
        for group in grouped:
            self._keep(self._group_sighting(group, listed))
        found.unfinished = marked(found.markers, {*listed, *(group.name for group in grouped)})
        return found

    def sort_singles(self, entries: Iterable[DirectoryEntry]) -> Found:
        """Names that are in no group; what marks them is left to the caller."""
        for entry in entries:
            self._sort(entry)
        return self._found

    # --- one name

    def _sort(self, entry: DirectoryEntry) -> None:
        found, name, status = self._found, entry.name, entry.stat
        if status is not None and stat.S_ISREG(status.st_mode):
            unchanged = self._unchanged_file(entry, status)
            if unchanged is not None:
                found.same[name] = unchanged
                return
        reading = self._read_name(entry)
        if status is not None and stat.S_ISLNK(status.st_mode) and reading.role is not NameRole.IN_FLIGHT:
            found.links[name] = self._link_target(name)
        if reading.role is NameRole.IN_FLIGHT:
            if status is not None:
                found.flights.append((entry, status, reading))
        elif reading.role is NameRole.POINTER:
            if name not in found.links:
                found.pointers.append(name)
        elif reading.role is NameRole.MARKER:
            if reading.target:
                found.markers[reading.target] = name
        elif reading.role is not NameRole.OURS:
            self._keep(self._sighting(entry, reading))

    def _keep(self, sighting: Sighting) -> None:
        before = self._before.get(sighting.name)
        if before is not None and self._is_unchanged(before, sighting):
            self._found.same[sighting.name] = before
            return
        if before is not None and _same_thing(before, sighting):
            sighting = replace(sighting, structure=before.structure)
        self._found.fresh.append(sighting)

    def _sighting(self, entry: DirectoryEntry, reading: NameReading) -> Sighting:
        name, status = entry.name, entry.stat
        is_directory = status is not None and stat.S_ISDIR(status.st_mode)
        kind = Kind.DIRECTORY if is_directory else Kind.FILE
        link = self._found.links.get(name)
        if status is None:
            code = entry.error or errno.EIO
            why = describe_os_error(OSError(code, os.strerror(code)), self._set.path_of(name))
            return self._seen(name, kind, reading, link=link, error=why)
        if is_directory and reading.role is not NameRole.FOREIGN:
            return self._directory_sighting(self._seen(name, kind, reading, link=link), status)
        identity = Identity((member_of("", status),))
        return self._seen(name, kind, reading, identity, link=link, error=self._damage(name))

    def _directory_sighting(self, bare: Sighting, status: os.stat_result) -> Sighting:
        """What cannot be walked is unreadable; what changes while it is walked is being written."""
        path = self._set.path_of(bare.name)
        itself = member_of("", status, MemberKind.DIRECTORY)
        try:
            identity = Identity(once_more(partial(walk, self._fs, path)), itself)
        except FileNotFoundError:
            return replace(bare, identity=Identity((), itself), moved=True)
        except OddThing as odd:
            return replace(bare, identity=Identity((), itself), error=f"{visible(path)} is {odd}")
        except OSError as error:
            where = os.fsdecode(error.filename or path)
            return replace(bare, identity=Identity((), itself), error=describe_os_error(error, where))
        return replace(bare, identity=identity, error=self._damage(bare.name))

    def _group_sighting(self, group: Group, listed: Mapping[str, DirectoryEntry]) -> Sighting:
        reading = NameReading(NameRole.CHECKPOINT, group.family, group.step)
        members: list[Member] = []
        for name in group.members:
            status = listed[name].stat
            if status is None:
                code = listed[name].error or errno.EIO
                why = describe_os_error(OSError(code, os.strerror(code)), self._set.path_of(name))
                return self._seen(group.name, Kind.GROUP, reading, error=why)
            members.append(member_of(name, status))
        identity = Identity(tuple(members))
        return self._seen(group.name, Kind.GROUP, reading, identity, error=self._damage(group.name))

    def _seen(
        self,
        name: str,
        kind: Kind,
        reading: NameReading,
        identity: Identity | None = None,
        *,
        link: str | None = None,
        error: str | None = None,
    ) -> Sighting:
        contents = self._contents
        return Sighting(
            name=name,
            step=reading.step,
            kind=kind,
            family=FOREIGN_FAMILY if reading.role is NameRole.FOREIGN else reading.family,
            rolling=reading.step is None,
            identity=identity,
            record=contents.records.get(name),
            next_record=contents.next_records.get(name),
            receipt=contents.receipts.get(name),
            pinned=contents.pins.get(name),
            link=link,
            error=error,
        )

    def _damage(self, name: str) -> str | None:
        damage = self._damaged.get(store_name(name) + RECORD) if self._damaged else None
        if damage is None:
            return None
        return f"its record is damaged ({damage}); move the record away, then `ckptdeck adopt` writes a new one"

    # --- what a name stands for

    def _groups(self, listed: Mapping[str, DirectoryEntry]) -> tuple[Group, ...]:
        # A name with a record of its own is in no group and need not be read for that.
        records = {**self._contents.next_records, **self._contents.records}
        single = {name for name, record in records.items() if record.kind is not Kind.GROUP}
        readings = {
            name: read_name(name, False, self._policy)
            for name, entry in listed.items()
            if name not in single and (entry.stat is None or stat.S_ISREG(entry.stat.st_mode))
        }
        return find_groups(readings, records, listed.keys(), by_words=self._policy.group)

    def _link_target(self, name: str) -> str:
        try:
            return self._fs.read_link(self._set.path_of(name))
        except OSError:
            return ""  # gone or replaced just now: it was a link, and links are not followed anyway

    def _read_name(self, entry: DirectoryEntry) -> NameReading:
        """What the name stands for. A recorded name is a checkpoint whatever it looks like."""
        name, status = entry.name, entry.stat
        is_directory = status is not None and stat.S_ISDIR(status.st_mode)
        record = self._contents.records.get(name) or self._contents.next_records.get(name)
        if record is not None and record.step is not None:
            return NameReading(
                NameRole.CHECKPOINT, _family_of(read_shape(name, is_directory, self._policy)), record.step
            )
        reading = read_name(name, is_directory, self._policy)
        if record is not None:
            return as_recorded(reading, record)
        if status is None or reading.role in (NameRole.OURS, NameRole.MARKER):
            return reading
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return _FOREIGN
        if reading.role is NameRole.POINTER and stat.S_ISREG(status.st_mode) and status.st_size > POINTER_LIMIT:
            return NameReading(NameRole.ROLLING, SINGLE_FILE)
        if is_directory and reading.role is not NameRole.IN_FLIGHT:
            return read_directory(name, reading, self._names_inside(name, status))
        return reading

    def _names_inside(self, name: str, status: os.stat_result) -> Iterator[str]:
        """The names in a directory, read only when they are asked for."""
        try:
            yield from (entry.name for entry in self._fs.list_directory(self._set.path_of(name)))
        except OSError:
            return  # what cannot be listed tells nothing; a checkpoint's walk reports why

    # --- unchanged

    def _unchanged_file(self, entry: DirectoryEntry, status: os.stat_result) -> Sighting | None:
        """Without building anything: most names of a large set are files at rest."""
        before = self._before.get(entry.name)
        if before is None or before.identity is None or before.kind is not Kind.FILE or self._damaged:
            return None
        at_rest = not (before.held or before.moved or before.error is not None or before.link is not None)
        return before if at_rest and is_same(before.identity, status) and self._same_books(before) else None

    def _is_unchanged(self, before: Sighting, now: Sighting) -> bool:
        if self._damaged or before.held or before.moved or before.error is not None or before.link is not None:
            return False
        return (
            now.error is None
            and not now.moved
            and before.kind is now.kind
            and before.family == now.family
            and before.step == now.step
            and _same_thing(before, now)
            and self._same_books(before)
        )

    def _same_books(self, before: Sighting) -> bool:
        contents, name = self._contents, before.name
        return (
            before.record is contents.records.get(name)
            and before.receipt is contents.receipts.get(name)
            and before.next_record is contents.next_records.get(name)
            and before.pinned == contents.pins.get(name)
        )


def marked(markers: Mapping[str, str], names: Container[str]) -> dict[str, str]:
    """Checkpoint → its marker, of those among `names`."""
    return {name: marker for target, marker in markers.items() for name in names_marked((target,)) if name in names}


def names_marked(targets: Iterable[str]) -> Iterator[str]:
    """Every name that markers called after `targets` speak of. NeMo's `<name>-unfinished` is also that of
    `<name>.ckpt` and of the EMA of both."""
    for target in targets:
        yield from (target, f"{target}.ckpt", f"{target}-EMA", f"{target}-EMA.ckpt", f"{target}.nemo")


def _same_thing(before: Sighting, now: Sighting) -> bool:
    """The same members, in the same directory: two empty directories are alike, and not one."""
    one, other = before.identity, now.identity
    if one is None or other is None or before.kind is not now.kind:
        return False
    return one.node == other.node and one == other


def as_recorded(reading: NameReading, record: Record) -> NameReading:
    """A recorded name: its step from the record, else from the name; its family from the name, if it has one."""
    family = _family_of(reading)
    step = record.step if record.step is not None else reading.step
    return NameReading(NameRole.CHECKPOINT if step is not None else NameRole.ROLLING, family, step)


def _family_of(reading: NameReading) -> str:
    return reading.family if reading.role in (NameRole.CHECKPOINT, NameRole.ROLLING) else "recorded"


def is_same(identity: Identity, status: os.stat_result) -> bool:
    """Whether a file's identity is what this stat gives, without building one."""
    member = identity.members[0]
    return (
        member.mtime_ns == status.st_mtime_ns
        and member.size == status.st_size
        and member.inode == status.st_ino
        and member.ctime_ns == status.st_ctime_ns
        and member.device == status.st_dev
        and member.blocks == status.st_blocks
    )
