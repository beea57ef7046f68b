"""Taking something out of a set: one rename into the control directory, which works at 0 bytes free.

The set lock is held by the caller. What was moved is compared with what was planned, and goes back, no clobber, when
it is something else: publish takes no lock, so a trainer may have replaced it in between.
"""

from __future__ import annotations

import contextlib
import json
import os

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import Refused
from ckptdeck.core.host import Host
from ckptdeck.core.naming import markers_last
from ckptdeck.core.record_format import iso
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.core.sighting import Volume
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.states import Kind
from ckptdeck.core.unit import Unit, look_at
from ckptdeck.core.volume import fsync_directory, rename_into_place

QUARANTINE_SCHEMA = "ckptdeck.quarantined/1"


def quarantine(
    host: Host, checkpoint_set: CheckpointSet, volume: Volume, unit: Unit, *, inode: int | None, reason: str
) -> str:
    """Moves `unit` out of its directory by one rename and returns its quarantine id; a group name by name.

    Frees nothing. The note beside it is best effort, so that it works on a full disk. Raises Refused when the name
    leads to another inode than `inode` (it is then where it was), OSError when it cannot be moved.
    """
    entry = _new_id(host, unit.name)
    aside = checkpoint_set.control_path("quarantine", entry)
    if unit.kind is Kind.GROUP:
        size = _move_members(host, volume, unit, aside)
    else:
        if inode is None:
            inode = host.fs.lstat(unit.path).st_ino
        _move(host, volume, unit.path, aside, inode)
        size = look_at(host.fs, Unit(os.path.dirname(aside), entry, unit.kind)).size
    fsync_directory(host.fs, checkpoint_set.control_path("quarantine"), volume)
    fsync_directory(host.fs, unit.root, volume)
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


def _move_members(host: Host, volume: Volume, unit: Unit, aside: str) -> int:
    """A group goes marker first: what a crash leaves behind looks incomplete, as it is. Returns its bytes."""
    found = look_at(host.fs, unit)
    host.fs.make_directory(aside)
    by_name = {member.path: member for member in found.members}
    for name in reversed(markers_last(by_name)):
        _move(host, volume, unit.path_of(name), os.path.join(aside, name), by_name[name].inode)
    fsync_directory(host.fs, aside, volume)
    return found.size


def _new_id(host: Host, name: str) -> str:
    """Time first, so that a listing is in order; the hash keeps two names of one microsecond apart."""
    stamp = iso(host.clock.now()).replace("-", "").replace(":", "").replace(".", "")
    return f"{stamp}-{xxhash.xxh3_64(os.fsencode(name)).hexdigest()[:8]}"


def _move(host: Host, volume: Volume, source: str, aside: str, inode: int) -> None:
    rename_into_place(host, volume, source, aside, replace=False, inode=inode)
    if host.fs.lstat(aside).st_ino == inode:
        return
    rename_into_place(host, volume, aside, source, replace=False, inode=host.fs.lstat(aside).st_ino)
    raise Refused(
        f"{visible(source)} was replaced by somebody in this very moment",
        guard="changed-since-plan",
        why="What was planned to go is gone already; the new file was left alone",
        next_step="Look again and plan anew",
    )
