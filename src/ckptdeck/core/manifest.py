"""Records, next records, receipts and pins on disk: one small file each, so that nobody contends (2-core.md).

Every file is JSON with a schema and, for records, a checksum of itself. Decoding is strict; what is damaged is
reported as such and never read as something else.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeVar

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem, read_file
from ckptdeck.core.record_format import (
    decode_pin,
    decode_receipt,
    decode_record,
    encode_pin,
    encode_receipt,
    encode_record,
)
from ckptdeck.core.safe_text import is_utf8
from ckptdeck.core.sighting import Receipt, Record
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import sync_names

RECORD, NEXT = ".json", ".json.next"
_PLACES = ("manifest", "receipts", "pins")
_LIMIT = 64 << 20  # a directory of 100,000 shards stays below
_LONGEST_NAME = 200
_Named = TypeVar("_Named", Record, Receipt)
KeptFiles = Mapping[str, Mapping[str, "Kept"]]
MANY = 256
"""So many small files that reading them one by one takes longer than anybody wants to wait."""
RACY_NS = 2_000_000_000
"""What changed so shortly before it was read may have changed again without its mtime showing it (R32)."""


def store_name(name: str) -> str:
    """The file name (without suffix) under which things about checkpoint `name` are kept.

    Names over 200 bytes or not UTF-8 are stored by hash; their true name is inside the file.
    """
    raw = os.fsencode(name)
    if len(raw) <= _LONGEST_NAME and is_utf8(name) and not name.startswith(("~", ".")):
        return name
    return "~" + xxhash.xxh3_128(raw).hexdigest()


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file of our own that could not be read or decoded."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """One file as it was read; as long as its stat stands, it need not be opened again."""

    stamp: tuple[int, int, int, int]
    """(inode, size, mtime_ns, ctime_ns) of the file: `stamp_of`."""
    settled: bool
    """Its times were old enough when it was read that a later change must show in them (R32)."""
    value: Record | Receipt | str | Damaged
    name: str
    """Of the checkpoint."""

    def stands(self, status: os.stat_result | None) -> bool:
        """The file of this stat says what it said."""
        return self.settled and status is not None and self.stamp == stamp_of(status)


@dataclass(frozen=True, slots=True)
class ManifestContents:
    """Everything a set's control directory says about its checkpoints, by checkpoint name."""

    records: Mapping[str, Record] = field(default_factory=dict)
    next_records: Mapping[str, Record] = field(default_factory=dict)
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[Damaged, ...] = ()
    kept: Mapping[str, Mapping[str, Kept]] = field(default_factory=dict, repr=False)
    """By directory and file name, so that the next reading opens only what changed."""
    opened: int = 0
    """How many files had to be read for it."""
    unsettled: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    """By directory, the files that must be read again whatever their stat says."""


def stamp_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """What tells that a file of ours is still the one that was read."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def directories_of(checkpoint_set: CheckpointSet) -> tuple[str, ...]:
    """Where its records, receipts and pins lie; none without a control directory."""
    return () if checkpoint_set.control is None else tuple(map(checkpoint_set.control_path, _PLACES))


class Manifest:
    """Reads and writes the bookkeeping of one set. Raises OSError; UsageError when the set has no control directory."""

    def __init__(self, fs: FileSystem, checkpoint_set: CheckpointSet, *, pid: int = 0) -> None:
        self._fs = fs
        self._pid = pid
        self.directories = tuple(map(checkpoint_set.control_path, _PLACES))
        self.records_directory, self.receipts_directory, self.pins_directory = self.directories

    # --- reading one

    def record(self, name: str) -> Record | None:
        """The record of `name`, None without one. Raises ValueError when it is damaged."""
        return self._read_record(name, RECORD)

    def next_record(self, name: str) -> Record | None:
        """The record of a publish under way. Raises ValueError when it is damaged."""
        return self._read_record(name, NEXT)

    def receipt(self, name: str) -> Receipt | None:
        """The last verification. Raises ValueError when it is damaged."""
        data = self._read(self.receipts_directory, store_name(name) + RECORD)
        return None if data is None else _named(decode_receipt(data), name)

    def pin(self, name: str) -> str | None:
        """The reason of the pin, "" for none given; None when not pinned."""
        data = self._read(self.pins_directory, store_name(name))
        return None if data is None else decode_pin(data)[1]

    # --- reading all

    def read_all(
        self, now_ns: int, previous: ManifestContents | None = None, remembered: Callable[[], KeptFiles] = dict
    ) -> ManifestContents:
        """All of it. Files that did not change since `previous` are not opened again.

        `now_ns` is the wall clock: a file as young as that is read again next time, since a second change within
        the granularity of its times would not show. `remembered` is asked, for many files and without `previous`, for
        what an earlier process read.
        """
        listed = {directory: self._fs.list_directory(directory) for directory in self.directories}
        if previous is None and sum(map(len, listed.values())) >= MANY:
            old = remembered()
        else:
            old = previous.kept if previous is not None else {}
        kept: dict[str, dict[str, Kept]] = {}
        unsettled: dict[str, frozenset[str]] = {}
        opened = 0
        for directory, entries in listed.items():
            known = old.get(directory, {})
            kept[directory] = here = {}
            young: list[str] = []
            for entry in entries:
                before = known.get(entry.name)
                if before is not None and before.stands(entry.stat):
                    here[entry.name] = before
                elif (now := self.load(directory, entry, now_ns)) is not None:
                    here[entry.name] = now
                    opened += 1
                    young += [] if now.settled else [entry.name]
            unsettled[directory] = frozenset(young)
        return _contents(kept, opened, unsettled)

    def load(self, directory: str, entry: DirectoryEntry, now_ns: int) -> Kept | None:
        """One file as it is now; None when it is gone, or is no record, receipt or pin."""
        is_pin = directory == self.pins_directory
        if entry.name.startswith(".") or not (is_pin or entry.name.endswith((RECORD, NEXT))):
            return None
        path = os.path.join(directory, entry.name)
        if entry.stat is None:
            if entry.error == errno.ENOENT:
                return None
            return Kept((0, 0, 0, 0), False, Damaged(path, os.strerror(entry.error or errno.EIO)), entry.name)
        stamp = stamp_of(entry.stat)
        settled = now_ns - max(entry.stat.st_mtime_ns, entry.stat.st_ctime_ns) > RACY_NS
        try:
            data = read_file(self._fs, path, _LIMIT)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Kept(stamp, False, Damaged(path, os.strerror(error.errno or errno.EIO)), entry.name)
        try:
            value: Record | Receipt | str
            if is_pin:
                name, value = decode_pin(data)
            elif directory == self.receipts_directory:
                value = decode_receipt(data)
                name = value.name
            else:
                value = decode_record(data)
                name = value.name
            _require_place(entry.name, name, is_pin=is_pin)
        except ValueError as error:
            return Kept(stamp, settled, Damaged(path, str(error)), entry.name)
        return Kept(stamp, settled, value, name)

    # --- writing

    def write_record(self, record: Record) -> None:
        """Writes a record at once, for data that is already durable under its name (adopt)."""
        self._write(self.records_directory, store_name(record.name) + RECORD, encode_record(record))

    def write_next_record(self, record: Record) -> None:
        """Announces what is about to get the name (publish step 4)."""
        self._write(self.records_directory, store_name(record.name) + NEXT, encode_record(record))

    def promote_next_record(self, name: str) -> None:
        """The next record becomes the record, by one rename (publish step 7)."""
        base = os.path.join(self.records_directory, store_name(name))
        self._fs.rename(base + NEXT, base + RECORD)
        sync_names(self._fs, self.records_directory)

    def drop_next_record(self, name: str) -> None:
        """Withdraws the announcement; nothing happens when there is none."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.unlink(os.path.join(self.records_directory, store_name(name) + NEXT))
            sync_names(self._fs, self.records_directory)

    def write_receipt(self, receipt: Receipt) -> None:
        self._write(self.receipts_directory, store_name(receipt.name) + RECORD, encode_receipt(receipt))

    def drop_receipt(self, name: str) -> None:
        """Takes a receipt back; works on a full disk. Nothing happens when there is none."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.unlink(os.path.join(self.receipts_directory, store_name(name) + RECORD))
            sync_names(self._fs, self.receipts_directory)

    def write_pin(self, name: str, reason: str) -> None:
        self._write(self.pins_directory, store_name(name), encode_pin(name, reason))

    def drop_pin(self, name: str) -> bool:
        """False when it was not pinned."""
        try:
            self._fs.unlink(os.path.join(self.pins_directory, store_name(name)))
        except FileNotFoundError:
            return False
        sync_names(self._fs, self.pins_directory)
        return True

    def _read_record(self, name: str, suffix: str) -> Record | None:
        data = self._read(self.records_directory, store_name(name) + suffix)
        return None if data is None else _named(decode_record(data), name)

    def _read(self, directory: str, name: str) -> bytes | None:
        try:
            return read_file(self._fs, os.path.join(directory, name), _LIMIT)
        except FileNotFoundError:
            return None

    def _write(self, directory: str, name: str, data: bytes) -> None:
        write_small_file(self._fs, directory, name, data, pid=self._pid)


def _named(value: _Named, name: str) -> _Named:
    if value.name != name:
        raise ValueError(f"it is about {value.name!r}")
    return value


def _require_place(file_name: str, name: str, *, is_pin: bool) -> None:
    stored = store_name(name)
    if file_name not in ((stored,) if is_pin else (stored + RECORD, stored + NEXT)):
        raise ValueError(f"it is about {name!r}, which is stored elsewhere")


def _contents(
    kept: Mapping[str, Mapping[str, Kept]], opened: int, unsettled: Mapping[str, frozenset[str]]
) -> ManifestContents:
    records: dict[str, Record] = {}
    next_records: dict[str, Record] = {}
    receipts: dict[str, Receipt] = {}
    pins: dict[str, str] = {}
    damaged: list[Damaged] = []
    for files in kept.values():
        for file, one in files.items():
            value = one.value
            if isinstance(value, Record):
                (next_records if file.endswith(NEXT) else records)[one.name] = value
            elif isinstance(value, Receipt):
                receipts[one.name] = value
            elif isinstance(value, str):
                pins[one.name] = value
            else:
                damaged.append(value)
    return ManifestContents(records, next_records, receipts, pins, tuple(damaged), kept, opened, unsettled)
