"""What a set holds and what it is said to hold, read in an order that no publish and no removal can make contradict."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from ckptdeck.core.bookkeeping import read_bookkeeping
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.manifest import ManifestContents
from ckptdeck.core.sighting import ENOUGH, Inventory, ReadBefore, Record
from ckptdeck.core.states import Kind
from ckptdeck.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in a set and its bookkeeping."""

    books: ReadBefore | None
    entries: list[DirectoryEntry]
    missing: Mapping[str, int]
    """Recorded names that are not listed → how many listings in a row lacked them, up to `ENOUGH`."""

    @property
    def contents(self) -> ManifestContents:
        return self.books.contents if self.books is not None else ManifestContents()


def list_set(fs: FileSystem, checkpoint_set: CheckpointSet, now: float, previous: Inventory | None) -> Listing:
    """Lists once; twice when something recorded is not there or something listed cannot be found. Raises OSError.

    The bookkeeping is read before the listing and again after a second one: a publish names the file before its
    record, a removal takes the record before the file, so only what both pairs agree on is missing.
    """
    known = _known_missing(previous)
    books = read_bookkeeping(fs, checkpoint_set, now, previous.read if previous is not None else None)
    entries = fs.list_directory(checkpoint_set.root)
    lacking = _lacking(books, entries)
    if lacking <= known and not any(entry.error == errno.ENOENT for entry in entries):
        return Listing(books, entries, dict.fromkeys(lacking, ENOUGH))
    entries = fs.list_directory(checkpoint_set.root)
    books = read_bookkeeping(fs, checkpoint_set, now, books)
    again = _lacking(books, entries)
    return Listing(books, entries, {name: ENOUGH if name in lacking or name in known else 1 for name in again})


def _lacking(books: ReadBefore | None, entries: list[DirectoryEntry]) -> set[str]:
    if books is None:
        return set()
    listed = {entry.name for entry in entries}
    lacking = books.contents.records.keys() - listed
    return {name for name in lacking if not _has_members(books.contents.records[name], listed)}


def _has_members(record: Record, listed: set[str]) -> bool:
    """A group is there while any of its names is."""
    return record.kind is Kind.GROUP and any(member.path in listed for member in record.members)


def _known_missing(previous: Inventory | None) -> set[str]:
    if previous is None:
        return set()
    return {sighting.name for sighting in previous.sightings if sighting.seen_missing >= ENOUGH}
