"""Taking something out of a set: one rename into the control directory, which works at 0 bytes free.

The set lock is held by the caller. What was moved is compared with what was planned, and goes back, no clobber, when
it is something else: publish takes no lock, so a trainer may have replaced it in between.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.dismantle import dismantle
from ckptdeck.core.errors import Refused
from ckptdeck.core.filesystem import is_there
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import RECORD, Manifest, store_name
from ckptdeck.core.naming import markers_last
from ckptdeck.core.record_format import iso
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.core.sighting import Volume
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import OddThing, Unit, look_at
from ckptdeck.core.volume import fsync_directory, rename_into_place, sync_names

KEPT_RECORD = ".record"
"""Beside an artifact in quarantine: the record it had."""
QUARANTINE_SCHEMA = "ckptdeck.quarantined/1"


def quarantine(
    host: Host,
    checkpoint_set: CheckpointSet,
    volume: Volume,
    unit: Unit,
    *,
    inode: int | None,
    reason: str,
    with_record: bool = False,
) -> str:
    """Moves `unit` out of its directory by one rename and returns its quarantine id; a group name by name.

    Frees nothing. The note beside it is best effort, so that it works on a full disk. Raises Refused when the name
    leads to another inode than `inode` (it is then where it was), OSError when it cannot be moved.
    `with_record` takes its record along, so that it is not missed afterwards and can be put back as it was.
    """
    entry = new_id(host, unit.name)
    while is_there(host.fs, checkpoint_set.control_path("quarantine", entry)):
        entry += "x"  # two of one name at one time, or a clock that was set back
    aside = checkpoint_set.control_path("quarantine", entry)
    if unit.kind is Kind.GROUP:
        size = _move_members(host, volume, unit, aside)
    else:
        if inode is None:
            inode = host.fs.lstat(unit.path).st_ino
        move_aside(host, volume, unit.path, aside, inode)
        size = _size_of(host, Unit(os.path.dirname(aside), entry, unit.kind))
    fsync_directory(host.fs, checkpoint_set.control_path("quarantine"), volume)
    fsync_directory(host.fs, unit.root, volume)
    if with_record:
        _take_record(host, checkpoint_set, unit.name, aside)
    note = {
        "schema": QUARANTINE_SCHEMA,
        "id": entry,
        **json_name(unit.name),
        "kind": unit.kind.value,
        "reason": reason,
        "side": checkpoint_set.role.value,
        "size": size,
        "at": iso(host.clock.now()),
        "command": host.command,
    }
    with contextlib.suppress(OSError):
        data = (json.dumps(note, indent=1) + "\n").encode()
        write_small_file(host.fs, checkpoint_set.control_path("quarantine"), entry + ".json", data, pid=host.pid)
    return entry


def _size_of(host: Host, aside: Unit) -> int:
    """Bytes of what was moved; 0 when it cannot be told, as with a pipe in it, which keeps nobody from moving it."""
    try:
        return look_at(host.fs, aside).size
    except (OSError, OddThing):
        return 0


def _take_record(host: Host, checkpoint_set: CheckpointSet, name: str, aside: str) -> None:
    """After the data, so that a crash in between shows it as missing and never as a candidate without a record."""
    manifest = Manifest(host.fs, checkpoint_set, pid=host.pid)
    with contextlib.suppress(FileNotFoundError):
        host.fs.rename(os.path.join(manifest.records_directory, store_name(name) + RECORD), aside + KEPT_RECORD)
        sync_names(host.fs, manifest.records_directory)
    with contextlib.suppress(OSError):
        manifest.drop_receipt(name)


def put_back(host: Host, checkpoint_set: CheckpointSet, volume: Volume, entry: str, unit: Unit) -> None:
    """From quarantine to its name, no clobber, with the record it had. Raises FileExistsError when a name is taken.

    The record comes first: a crash in between shows it as missing, never as something nobody recorded.
    """
    aside = checkpoint_set.control_path("quarantine", entry)
    manifest = Manifest(host.fs, checkpoint_set, pid=host.pid)
    record = os.path.join(manifest.records_directory, store_name(unit.name) + RECORD)
    returned = _rename_if_free(host, volume, aside + KEPT_RECORD, record)
    sync_names(host.fs, manifest.records_directory)
    try:
        if unit.kind is Kind.GROUP:
            _put_members_back(host, volume, unit, aside)
        else:
            inode = host.fs.lstat(aside).st_ino
            rename_into_place(host, volume, aside, unit.path, replace=False, inode=inode)
    except OSError:
        if returned:
            _rename_if_free(host, volume, record, aside + KEPT_RECORD)
        raise
    fsync_directory(host.fs, unit.root, volume)
    _drop_notes(host, aside)


def _rename_if_free(host: Host, volume: Volume, source: str, target: str) -> bool:
    """False where there is nothing to rename, or the name is taken: a newer record counts more than the kept one."""
    try:
        rename_into_place(host, volume, source, target, replace=False, inode=host.fs.lstat(source).st_ino)
    except (FileNotFoundError, FileExistsError):
        return False
    return True


def purge(host: Host, checkpoint_set: CheckpointSet, entry: str) -> None:
    """Takes an artifact in quarantine apart. Raises KeptForReader, OSError."""
    aside = checkpoint_set.control_path("quarantine", entry)
    if stat.S_ISDIR(host.fs.lstat(aside).st_mode):
        dismantle(host.fs, aside)
    else:
        host.fs.unlink(aside)
    _drop_notes(host, aside)


def _put_members_back(host: Host, volume: Volume, unit: Unit, aside: str) -> None:
    """The marker last, as in a publish; when a name is taken everything stays in quarantine."""
    names = markers_last(entry.name for entry in host.fs.list_directory(aside))
    for name in names:
        if is_there(host.fs, unit.path_of(name)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), unit.path_of(name))
    for name in names:
        inode = host.fs.lstat(os.path.join(aside, name)).st_ino
        rename_into_place(host, volume, os.path.join(aside, name), unit.path_of(name), replace=False, inode=inode)
    host.fs.remove_directory(aside)


def _drop_notes(host: Host, aside: str) -> None:
    for suffix in (".json", KEPT_RECORD):
        with contextlib.suppress(FileNotFoundError):
            host.fs.unlink(aside + suffix)
    sync_names(host.fs, os.path.dirname(aside))


def _move_members(host: Host, volume: Volume, unit: Unit, aside: str) -> int:
    """A group goes marker first: what a crash leaves behind looks incomplete, as it is. Returns its bytes."""
    found = look_at(host.fs, unit)
    host.fs.make_directory(aside)
    by_name = {member.path: member for member in found.members}
    for name in reversed(markers_last(by_name)):
        move_aside(host, volume, unit.path_of(name), os.path.join(aside, name), by_name[name].inode)
    fsync_directory(host.fs, aside, volume)
    return found.size


def new_id(host: Host, name: str) -> str:
    """Time first, so that a listing is in order; the hash keeps two names of one microsecond apart."""
    stamp = iso(host.clock.now()).replace("-", "").replace(":", "").replace(".", "")
    return f"{stamp}-{xxhash.xxh3_64(os.fsencode(name)).hexdigest()[:8]}"


def move_aside(host: Host, volume: Volume, source: str, aside: str, inode: int) -> None:
    """One rename, no clobber. What turns out to be something else than `inode` goes back, and Refused is raised.

    Some FUSE file systems number by path: there the same size and mtime before and after have to do.
    """
    before = host.fs.lstat(source) if volume.fs_class == "fuse" else None
    rename_into_place(host, volume, source, aside, replace=False, inode=inode)
    moved = host.fs.lstat(aside)
    if moved.st_ino == inode or (before is not None and before.st_ino == inode and _is_renumbered(before, moved)):
        return
    rename_into_place(host, volume, aside, source, replace=False, inode=moved.st_ino)
    raise Refused(
        f"{visible(source)} was replaced by somebody in this very moment",
        guard="changed-since-plan",
        why="What was planned to go is gone already; the new one was left alone",
        next_step="Look again and plan anew",
    )


def _is_renumbered(before: os.stat_result, moved: os.stat_result) -> bool:
    return (before.st_size, before.st_mtime_ns) == (moved.st_size, moved.st_mtime_ns)
