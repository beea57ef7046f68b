"""What the control directory holds, read for a scan: records, receipts and pins, and what was set aside."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace

from ckptdeck.core.checkpoint_set import CheckpointSet, sibling_control
from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.manifest import RACY_NS, Manifest
from ckptdeck.core.record_format import seconds_of
from ckptdeck.core.safe_text import name_from_json
from ckptdeck.core.sighting import Quarantined, ReadBefore, Record
from ckptdeck.core.states import Condition, Role

_LIMIT = 1 << 20


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
    contents = manifest.read_all(now_ns, before.contents if before is not None else None)
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
    reasons = {entry.name for entry in listed if entry.name.endswith(".json")}
    found = []
    for entry in listed:
        if entry.stat is None or entry.name.startswith(".") or entry.name in reasons:
            continue
        name, reason, at = entry.name, "no reason was kept", entry.stat.st_ctime
        if entry.name + ".json" in reasons:
            name, reason, at = _why(fs, os.path.join(directory, entry.name + ".json"), (name, reason, at))
        found.append(Quarantined(entry.name, name, reason, entry.stat.st_size, at))
    return tuple(sorted(found, key=lambda one: (-one.at, one.id)))


def _why(fs: FileSystem, path: str, otherwise: tuple[str, str, float]) -> tuple[str, str, float]:
    try:
        document = json.loads(read_file(fs, path, _LIMIT))
        reason = document["reason"]
        if not isinstance(reason, str):
            raise ValueError("reason is not text")
        return name_from_json(document), reason, seconds_of(document["at"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return otherwise
