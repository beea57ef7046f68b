"""Records, receipts and pins read again by the names of their files, on top of what was read before."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.manifest import NEXT, Damaged, Kept, Manifest, ManifestContents
from ckptdeck.core.sighting import ReadBefore, Receipt, Record
from ckptdeck.core.values import dataclass

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class BooksAgain:
    """The bookkeeping now, and the checkpoints of which something else may be said than before."""

    books: ReadBefore
    names: frozenset[str]


def entry_at(fs: FileSystem, directory: str, name: str) -> DirectoryEntry | None:
    """`name` as a listing of `directory` would show it; None when it is not there."""
    try:
        return DirectoryEntry(name, fs.lstat(os.path.join(directory, name)), None)
    except FileNotFoundError:
        return None
    except OSError as error:
        return DirectoryEntry(name, None, error.errno)


def read_books_again(
    fs: FileSystem, checkpoint_set: CheckpointSet, now: float, before: ReadBefore, named: Mapping[str, Collection[str]]
) -> BooksAgain | None:
    """Reads the files that are `named`, by directory, and those that were too young the last time.

    None where that does not do: a directory changed and nothing in it is named, or a file is damaged. What comes back
    calls itself settled only when nothing was read: else the next look at everything compares every file (R32).
    """
    manifest = Manifest(fs, checkpoint_set)
    stamps = []
    for directory, stamp in zip(manifest.directories, before.stamps, strict=True):
        status = fs.lstat(directory)
        stamps.append((status.st_ino, status.st_mtime_ns, status.st_ctime_ns))
        if stamps[-1] != stamp and not named.get(directory):
            return None
    reading = _Reading(fs, manifest, before.contents, int(now * 1e9))
    for directory in manifest.directories:
        reading.read(directory, {*named.get(directory, ()), *before.contents.unsettled.get(directory, ())})
    if reading.damaged:
        return None
    if not reading.names and tuple(stamps) == before.stamps:
        return BooksAgain(before, frozenset())
    return BooksAgain(ReadBefore(reading.contents, tuple(stamps), settled=False), frozenset(reading.names))


class _Reading:
    def __init__(self, fs: FileSystem, manifest: Manifest, contents: ManifestContents, now_ns: int) -> None:
        self._fs = fs
        self._manifest = manifest
        self._now_ns = now_ns
        self.contents = contents
        self.names: set[str] = set()
        self.damaged = bool(contents.damaged)

    def read(self, directory: str, files: Collection[str]) -> None:
        known = self.contents.kept.get(directory, {})
        found: dict[str, Kept | None] = {}
        for file in files:
            before = known.get(file)
            entry = entry_at(self._fs, directory, file)
            if before is not None and entry is not None and before.stands(entry.stat):
                continue
            now = None if entry is None else self._manifest.load(directory, entry, self._now_ns)
            if now is not None and before is not None and now.value == before.value:
                now = replace(now, value=before.value)  # the very same one: what was judged by it stands
            self.damaged |= now is not None and isinstance(now.value, Damaged)
            found[file] = now
            self.names.update(one.name for one in (before, now) if one is not None)
        if found and not self.damaged:
            self._put(directory, found)

    def _put(self, directory: str, found: Mapping[str, Kept | None]) -> None:
        contents = self.contents
        known = contents.kept.get(directory, {})
        records: dict[str, Record | None] = {}
        following: dict[str, Record | None] = {}
        receipts: dict[str, Receipt | None] = {}
        pins: dict[str, str | None] = {}
        for file, now in found.items():
            one = now or known.get(file)
            if one is None:
                continue
            value = None if now is None else one.value
            match one.value:
                case Record() as record:
                    (following if file.endswith(NEXT) else records)[one.name] = record if value is not None else None
                case Receipt() as receipt:
                    receipts[one.name] = receipt if value is not None else None
                case str() as reason:
                    pins[one.name] = reason if value is not None else None
        kept = _changed(known, found)
        unsettled = frozenset(file for file, one in found.items() if one is not None and not one.settled)
        self.contents = replace(
            contents,
            records=_changed(contents.records, records),
            next_records=_changed(contents.next_records, following),
            receipts=_changed(contents.receipts, receipts),
            pins=_changed(contents.pins, pins),
            kept={**contents.kept, directory: kept},
            opened=len(found),
            unsettled={**contents.unsettled, directory: unsettled},
        )


def _changed(before: Mapping[str, _Value], changes: Mapping[str, _Value | None]) -> Mapping[str, _Value]:
    """With every change in it; None takes away."""
    if not changes:
        return before
    after = dict(before)
    for name, value in changes.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = value
    return after
