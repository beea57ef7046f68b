"""What a trainer's own retention deletes: it loses its name before it is taken apart, and its record goes with it.

The trainer owns its directory, so no guard stands against it: not age, not pin, not the number of good copies.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Iterator

from ckptdeck.core.announcement import finish_earlier
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.deletion import delete
from ckptdeck.core.dismantle import dismantle
from ckptdeck.core.errors import CkptdeckError, LockHeld, from_os_error
from ckptdeck.core.host import Host
from ckptdeck.core.lock import set_lock
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.removal import purge, quarantine
from ckptdeck.core.safe_text import visible
from ckptdeck.core.staging import staging_place
from ckptdeck.core.states import Condition, Kind
from ckptdeck.core.unit import OddThing, Unit, look_at
from ckptdeck.core.volume import rename_into_place, volume_of
from ckptdeck.monitor.host import this_host
from ckptdeck.saving import find_own_set

log = logging.getLogger("ckptdeck")
_PATIENCE, _PAUSE = 300, 0.1
"""Times and seconds to wait for the set lock, which others hold for seconds."""


def remove_checkpoint(path: str) -> None:
    """Deletes the file, directory or link at `path`; nothing happens when there is none.

    Never raises for what is on disk: what could not be deleted stays as it is, whole and under its name, and the
    logger "ckptdeck" is told. A training does not end because an old checkpoint stays.
    """
    host = this_host()
    try:
        gone = _remove(host, path)
    except CkptdeckError as error:
        log.warning("%s stays, though the trainer wanted it removed: %s", visible(path), error)
    except OSError as error:
        why = from_os_error(error, f"Removing {visible(path)}")
        log.warning("%s stays, though the trainer wanted it removed: %s", visible(path), why)
    else:
        if gone:
            log.info("%s: removed by the trainer's own retention", visible(path))


def _remove(host: Host, path: str) -> bool:
    root, name = os.path.split(os.path.abspath(path))
    try:
        mode = host.fs.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(mode):
        host.fs.unlink(path)
        return True
    target = find_own_set(host, root)
    unit = Unit(target.root, name, Kind.DIRECTORY if stat.S_ISDIR(mode) else Kind.FILE)
    if target.control is None or target.condition is not Condition.OK:
        _remove_bare(host, target, unit)
        return True
    with _lock(host, target):
        return _remove_recorded(host, target, unit)


def _remove_bare(host: Host, target: CheckpointSet, unit: Unit) -> None:
    """Where no bookkeeping can be used: a file goes in one step, a directory first gets a name nobody resumes from."""
    if unit.kind is Kind.FILE:
        host.fs.unlink(unit.path)
        return
    aside = staging_place(target, unit.name)
    inode = host.fs.lstat(unit.path).st_ino
    rename_into_place(host, volume_of(host.fs, target.root), unit.path, aside, replace=False, inode=inode)
    dismantle(host.fs, aside)


def _remove_recorded(host: Host, target: CheckpointSet, unit: Unit) -> bool:
    volume = volume_of(host.fs, target.root)
    manifest = Manifest(host.fs, target, pid=host.pid)
    finish_earlier(host, manifest, unit.path, unit.name)
    try:
        found = look_at(host.fs, unit)
    except FileNotFoundError:
        return False
    except OddThing:
        found = None  # a pipe in it, say; what has no identity is taken apart all the same
    if found is not None and _is_recorded(manifest, unit.name):
        delete(host, target, volume, unit, found)
    else:
        reason = "the trainer's own retention removes it"
        entry = quarantine(host, target, volume, unit, inode=None, reason=reason, with_record=True)
        purge(host, target, entry)
    return True


def _is_recorded(manifest: Manifest, name: str) -> bool:
    try:
        return manifest.record(name) is not None
    except ValueError:
        return True  # damaged: it goes with its checkpoint all the same


@contextlib.contextmanager
def _lock(host: Host, target: CheckpointSet) -> Iterator[None]:
    """The set lock, waited for. Raises LockHeld when another holds it for half a minute."""
    with contextlib.ExitStack() as held:
        for attempt in range(_PATIENCE):
            try:
                held.enter_context(set_lock(host, target))
                break
            except LockHeld:
                if attempt == _PATIENCE - 1:
                    raise
            host.clock.sleep(_PAUSE)
        yield
