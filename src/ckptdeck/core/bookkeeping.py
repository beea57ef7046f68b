"""What the control directory holds, read for a scan: records, receipts and pins, and what was set aside."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet, sibling_control
from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.freed import freed_together
from ckptdeck.core.manifest import RACY_NS, Manifest
from ckptdeck.core.reading_index import remembered
from ckptdeck.core.record_format import decode_record, seconds_of
from ckptdeck.core.safe_text import name_from_json
from ckptdeck.core.sighting import Member, Quarantined, ReadBefore, Record, Removing
from ckptdeck.core.states import Condition, Kind, Role
from ckptdeck.core.unit import OddThing, member_of, walk

_LIMIT = 64 << 20
BESIDE_QUARANTINED = (".json", ".record")
"""Of an artifact in quarantine: why it is there, and the record it had."""


def read_bookkeeping(
    fs: FileSystem, checkpoint_set: CheckpointSet, now: float, before: ReadBefore | None
) -> ReadBefore | None:
    """All records, next records, receipts and pins; None without a control directory. Raises OSError.

    Every file there gets its name by a rename, which moves the times of its directory: where none moved, nothing is
    read again.
    """
    if checkpoint_set.control is None:
        return None
    manifest = Manifest(fs, checkpoint_set)
    directories = (manifest.records_directory, manifest.receipts_directory, manifest.pins_directory)
    stats = [fs.lstat(directory) for directory in directories]
    stamps = tuple((one.st_ino, one.st_mtime_ns, one.st_ctime_ns) for one in stats)
    if before is not None and before.settled and before.stamps == stamps:
        return before
    now_ns = int(now * 1e9)
    seen = before.contents if before is not None else None
    contents = manifest.read_all(now_ns, seen, lambda: remembered(fs, checkpoint_set))
    settled = all(now_ns - one.st_mtime_ns > RACY_NS for one in stats)
    return ReadBefore(contents, stamps, settled)


def read_records_of_lost_root(fs: FileSystem, checkpoint_set: CheckpointSet, now: float) -> Mapping[str, Record]:
    """What a primary that cannot be listed should hold: its control directory lies beside it and may still be there."""
    if checkpoint_set.role is not Role.PRIMARY or checkpoint_set.condition is Condition.WRONG_SET:
        return {}
    control = checkpoint_set.control or sibling_control(checkpoint_set.root)
    try:
        found = read_bookkeeping(fs, replace(checkpoint_set, control=control), now, None)
    except OSError:
        return {}
    return found.contents.records if found is not None else {}


def list_quarantine(fs: FileSystem, checkpoint_set: CheckpointSet) -> tuple[Quarantined, ...]:
    """What was set aside, newest first. Raises OSError when the directory cannot be listed.

    The reason beside each is best effort: without one the artifact's id stands in for its name.
    """
    if checkpoint_set.control is None:
        return ()
    directory = checkpoint_set.control_path("quarantine")
    listed = fs.list_directory(directory)
    names = {entry.name for entry in listed}
    found = []
    for entry in listed:
        if entry.stat is None or entry.name.startswith(".") or entry.name.endswith(BESIDE_QUARANTINED):
            continue
        path = os.path.join(directory, entry.name)
        members = _members(fs, path, entry.stat)
        size, frees = sum(member.size for member in members), freed_together(members, None)
        bare = Quarantined(entry.name, entry.name, "no reason was kept", size, entry.stat.st_ctime, frees=frees)
        found.append(_with_note(fs, path + ".json", bare) if entry.name + ".json" in names else bare)
    return tuple(sorted(found, key=lambda one: (-one.at, one.id)))


def _members(fs: FileSystem, path: str, status: os.stat_result) -> tuple[Member, ...]:
    if stat.S_ISREG(status.st_mode):
        return (member_of("", status),)
    try:
        return walk(fs, path)
    except (OSError, OddThing):
        return ()


def _with_note(fs: FileSystem, path: str, bare: Quarantined) -> Quarantined:
    """What the note beside it says; a damaged one says nothing."""
    try:
        document = json.loads(read_file(fs, path, _LIMIT))
        reason, kind = document["reason"], Kind(document.get("kind", Kind.FILE.value))
        if not isinstance(reason, str):
            return bare
        return replace(
            bare,
            name=name_from_json(document),
            reason=reason,
            at=seconds_of(document["at"]),
            kind=kind,
            named=True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return bare


def list_removals(fs: FileSystem, checkpoint_set: CheckpointSet) -> tuple[Removing, ...]:
    """Deletions that were interrupted. Raises OSError when their place cannot be listed."""
    if checkpoint_set.control is None:
        return ()
    directory = checkpoint_set.control_path("removing")
    found = []
    for entry in fs.list_directory(directory):
        if not entry.name.endswith(".json") or entry.name.startswith("."):
            continue
        name = entry.name.removesuffix(".json")
        with contextlib.suppress(OSError, ValueError):
            found.append(Removing(name, decode_record(read_file(fs, os.path.join(directory, entry.name), _LIMIT)).name))
            continue
        found.append(Removing(name, name))
    return tuple(found)
