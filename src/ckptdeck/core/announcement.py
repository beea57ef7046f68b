"""Saying in advance what is about to get a name (publish step 4), and clearing up what an earlier publish said.

The announcement is the next record. It lies there from before the rename until the record is written, so that a crash
in between loses nothing: the file itself then tells how far it came.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

from ckptdeck.core.comparison import compare_members, unread
from ckptdeck.core.errors import InUse
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Record, Warning
from ckptdeck.core.states import Kind, State
from ckptdeck.core.unit import OddThing, look_at, unit_of_record
from ckptdeck.core.volume import lock_if_free

_PATIENCE, _PATIENCE_PAUSE = 20, 0.1
"""Times and seconds to wait for another publisher of the same name, which needs milliseconds."""


def announce(
    host: Host, manifest: Manifest, final: str, record: Record, *, must_record: bool, warnings: list[Warning]
) -> bool:
    """Writes the next record of what is about to get the name `final`, durably. True when it is there.

    A failure is raised (OSError) when `must_record`; else it becomes a warning, since it must not fail a save.
    """
    name = record.name
    try:
        finish_earlier(host, manifest, final, name)
        try:
            current = manifest.record(name)
        except ValueError:
            current = None  # a damaged record names no file that may be replaced
        manifest.write_next_record(replace(record, replaces=current.digest if current is not None else None))
    except OSError as error:
        if must_record:
            raise
        warnings.append(Warning("unrecorded", f"its record could not be written: {os.strerror(error.errno or 0)}"))
        return False
    return True


def withdraw(manifest: Manifest | None, name: str, *, announced: bool) -> None:
    """Takes an announcement back whose data did not get the name."""
    if manifest is not None and announced:
        with contextlib.suppress(OSError):  # recover drops a next record without data
            manifest.drop_next_record(name)


def finish_earlier(host: Host, manifest: Manifest, final: str, name: str) -> None:
    """Brings the announcement of an earlier, interrupted publish of `name` to its end.

    Where its rename had happened (sizes and mtime of what is there are the announced ones, which nothing else has)
    it becomes the record; else its data never got the name, and it is withdrawn. Raises OSError, and InUse while
    that publisher lives.
    """
    earlier = _earlier(manifest, name)
    if earlier is None:
        return
    if earlier.kind is not Kind.GROUP:  # of a group the caller holds the staging place, which its publisher would
        _await_publisher(host, final)
    earlier = _earlier(manifest, name)
    if earlier is None:
        return
    if is_announced(host.fs, os.path.dirname(final), earlier):
        manifest.promote_next_record(name)
    else:
        manifest.drop_next_record(name)


def is_announced(fs: FileSystem, root: str, record: Record) -> bool:
    """Whether what lies below `root` has the sizes and the mtime of `record`. Raises OSError."""
    try:
        found = look_at(fs, unit_of_record(root, record))
    except (FileNotFoundError, OddThing):
        return False
    return found.mtime_ns == record.mtime_ns and not any(
        difference.state is not State.SUSPECT for difference in compare_members(record.members, unread(found))
    )


def _earlier(manifest: Manifest, name: str) -> Record | None:
    try:
        return manifest.next_record(name)
    except ValueError:
        manifest.drop_next_record(name)  # a damaged announcement announces nothing
        return None


def _await_publisher(host: Host, final: str) -> None:
    """A publisher keeps the flock of its inode until its record is written: only then may the next announce.

    Otherwise it would turn our announcement into the record of its own bytes.
    """
    for _ in range(_PATIENCE):
        try:
            with opened(host.fs, final, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
                if lock_if_free(host.fs, fd, final):
                    return
        except FileNotFoundError:
            return
        host.clock.sleep(_PATIENCE_PAUSE)
    raise InUse(
        f"{visible(final)} is being published by another process",
        why="Its file is in place and its record is not written yet",
        next_step="Try again in a moment",
    )
