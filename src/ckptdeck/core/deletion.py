"""Deleting a checkpoint: it loses its name before it is taken apart, as a publish names only what is whole.

    record → removing/<id>.json     the intent; a rename, so it works with no byte free
    data   → removing/<id>          one rename; a group name by name, its marker first
    fsync, take apart, drop the intent

The set lock is held by the caller. `publish` takes no lock: what was moved is compared with what was planned, and goes
back, no clobber, when it is something else. After a crash the intent tells: data still named gets its record back,
anything else is finished.
"""

from __future__ import annotations

import contextlib
import errno
import os

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.dismantle import KeptForReader, dismantle
from ckptdeck.core.errors import Refused
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem, is_there, read_file
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import RECORD, Manifest, store_name
from ckptdeck.core.naming import markers_last
from ckptdeck.core.record_format import decode_record
from ckptdeck.core.removal import move_aside, new_id
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Record, Volume
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import Unit, look_at, unit_of_record
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import fsync_directory, rename_into_place, sync_names

INTENT = ".json"
_READER = "somebody still reads it, and `ckptdeck recover` takes the rest away once it is closed"
_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class _Removal:
    """One deletion under way."""

    host: Host
    checkpoint_set: CheckpointSet
    volume: Volume
    entry: str

    @property
    def place(self) -> str:
        return self.checkpoint_set.control_path("removing")

    @property
    def intent(self) -> str:
        return os.path.join(self.place, self.entry + INTENT)

    def aside(self, index: int | None = None) -> str:
        """Where the data goes; of a group each file has a number, so that no directory has to be made."""
        return os.path.join(self.place, self.entry if index is None else f"{self.entry}-{index}")


def delete(host: Host, checkpoint_set: CheckpointSet, volume: Volume, unit: Unit, found: Identity) -> str:
    """Deletes the recorded checkpoint `unit`, whose identity was just compared with the plan's; says how it went.

    Raises Refused when it was replaced in this very moment (it is then where it was, with its record), OSError.
    """
    removal = _Removal(host, checkpoint_set, volume, new_id(host, unit.name))
    manifest = Manifest(host.fs, checkpoint_set, pid=host.pid)
    record = os.path.join(manifest.records_directory, store_name(unit.name) + RECORD)
    host.fs.rename(record, removal.intent)
    sync_names(host.fs, removal.place)
    sync_names(host.fs, manifest.records_directory)
    try:
        _take_name(removal, unit, found)
    except (Refused, OSError):
        _give_record_back(removal, manifest, unit.name)
        raise
    fsync_directory(host.fs, unit.root, volume)
    sync_names(host.fs, removal.place)
    with contextlib.suppress(OSError):  # it speaks of what is gone; an old one counts for nothing
        manifest.drop_receipt(unit.name)
    return "deleted" if _take_apart(removal) else f"deleted; {_READER}"


def finish_removal(host: Host, checkpoint_set: CheckpointSet, volume: Volume, entry: str) -> str:
    """Brings an interrupted deletion to its end; returns what was done in one clause. Raises Refused, OSError."""
    removal = _Removal(host, checkpoint_set, volume, entry)
    manifest = Manifest(host.fs, checkpoint_set, pid=host.pid)
    try:
        record = decode_record(read_file(host.fs, removal.intent, _LIMIT))
    except ValueError as error:
        raise Refused(
            f"{visible(removal.intent)} cannot be read: {error}",
            guard="damaged",
            why="It says what was being deleted; nothing is guessed about that",
            next_step="Look at what lies beside it, and remove both by hand",
        ) from None
    moved = any(not entry.name.endswith(INTENT) for entry in _beside(removal))
    if not moved and _is_named(host.fs, checkpoint_set.root, record):
        _give_record_back(removal, manifest, record.name)
        return "its name was not taken yet: it has its record back"
    if record.kind is Kind.GROUP:
        _finish_names(removal, record)
    with contextlib.suppress(OSError):
        manifest.drop_receipt(record.name)
    if not _take_apart(removal):
        return f"it had lost its name; {_READER}"
    return "it had lost its name: taken apart"


def _is_named(fs: FileSystem, root: str, record: Record) -> bool:
    """Something has the name, be it torn or saved anew: what that is, only its record can tell."""
    names = [member.path for member in record.members] if record.kind is Kind.GROUP else [record.name]
    return any(is_there(fs, os.path.join(root, name)) for name in names)


def _take_name(removal: _Removal, unit: Unit, found: Identity) -> None:
    if unit.kind is not Kind.GROUP:
        assert found.node is not None  # a file or a directory has one
        move_aside(removal.host, removal.volume, unit.path, removal.aside(), found.node[1])
        return
    by_name = {member.path: member for member in found.members}
    moved: list[tuple[str, str, int]] = []
    try:
        for index, name in enumerate(reversed(markers_last(by_name))):
            path, aside, inode = unit.path_of(name), removal.aside(index), by_name[name].inode
            move_aside(removal.host, removal.volume, path, aside, inode)
            moved.append((aside, path, inode))
    except (Refused, OSError):
        for aside, path, inode in reversed(moved):
            with contextlib.suppress(OSError):  # somebody took the name meanwhile; recover finishes the rest
                rename_into_place(removal.host, removal.volume, aside, path, replace=False, inode=inode)
        raise


def _finish_names(removal: _Removal, record: Record) -> None:
    """The files of a group that still have their names and are what the record says: the rest is gone already."""
    root = removal.checkpoint_set.root
    unit = unit_of_record(root, record)
    try:
        left = look_at(removal.host.fs, unit)
    except FileNotFoundError:
        return
    sizes = {member.path: member.size for member in record.members}
    taken = len([entry for entry in _beside(removal) if not entry.name.endswith(INTENT)])
    for index, member in enumerate(left.members, start=taken):
        if member.size == sizes[member.path] and member.mtime_ns <= record.mtime_ns:
            aside = removal.aside(index)
            rename_into_place(
                removal.host, removal.volume, unit.path_of(member.path), aside, replace=False, inode=member.inode
            )
    fsync_directory(removal.host.fs, root, removal.volume)


def _give_record_back(removal: _Removal, manifest: Manifest, name: str) -> None:
    """No clobber: a publisher may have written a newer record meanwhile, and then that one counts."""
    record = os.path.join(manifest.records_directory, store_name(name) + RECORD)
    inode = removal.host.fs.lstat(removal.intent).st_ino
    try:
        rename_into_place(removal.host, removal.volume, removal.intent, record, replace=False, inode=inode)
    except FileExistsError:
        removal.host.fs.unlink(removal.intent)
    sync_names(removal.host.fs, manifest.records_directory)
    sync_names(removal.host.fs, removal.place)


def _take_apart(removal: _Removal) -> bool:
    """False when a reader keeps something of it: the intent then stays, for `recover` to take away what is left."""
    fs = removal.host.fs
    gone = True
    for entry in _beside(removal):
        path = os.path.join(removal.place, entry.name)
        if entry.name.endswith(INTENT):
            continue
        try:
            fs.unlink(path)
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.EPERM, errno.ENOENT):
                raise
            if error.errno != errno.ENOENT:
                gone = _dismantle(fs, path) and gone
    sync_names(fs, removal.place)
    if not gone:
        return False
    if is_there(fs, removal.intent):
        fs.unlink(removal.intent)
        sync_names(fs, removal.place)
    return True


def _dismantle(fs: FileSystem, path: str) -> bool:
    try:
        dismantle(fs, path)
    except KeptForReader:
        return False
    return True


def _beside(removal: _Removal) -> list[DirectoryEntry]:
    """Everything of this deletion in the place for such."""
    entries = removal.host.fs.list_directory(removal.place)
    mine = (removal.entry, removal.entry + INTENT)
    return [e for e in entries if e.name in mine or e.name.startswith(removal.entry + "-")]
