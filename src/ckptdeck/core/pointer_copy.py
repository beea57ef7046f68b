"""Copying a pointer file (`latest`, trackers) once what it names is whole on the other side."""

from __future__ import annotations

import os

from ckptdeck.core.announcement import is_announced
from ckptdeck.core.checkpoint_set import CheckpointSet, Pair
from ckptdeck.core.errors import Refused
from ckptdeck.core.filesystem import is_there, read_file
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.part import open_part
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.pointers import POINTER_LIMIT
from ckptdeck.core.policy import MINIMUM_AGE
from ckptdeck.core.recheck import moved_on, require_same
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Role
from ckptdeck.core.unit import Unit
from ckptdeck.core.volume import fsync_directory, sync_data, volume_of


def copy_pointer(host: Host, pair: Pair, item: PlanItem) -> str:
    """Copies one pointer, atomically; on the primary only where there is none. Raises Refused, OSError."""
    source, target = pair.on(item.side.other), pair.on(item.side)
    unit = Unit(source.root, item.name)
    require_same(host, unit, item.stamps, item.inode)
    content = read_file(host.fs, unit.path, POINTER_LIMIT)
    for name in item.details["targets"].split("\0"):
        _require_whole(host, target, name, item)
    final = target.path_of(item.name)
    if target.role is Role.PRIMARY and is_there(host.fs, final):
        raise moved_on(item, "the trainer has written one")
    volume = volume_of(host.fs, target.root)
    part = open_part(host, target.root, item.name, volume, minimum_age=MINIMUM_AGE)
    try:
        part.write(content)
        sync_data(host.fs, part.descriptor, part.path)
        part.give_name(host, volume, final, replace=target.role is Role.MIRROR)
        fsync_directory(host.fs, os.path.dirname(final), volume)
    finally:
        part.discard()
    return "points to the same as on the other side"


def _require_whole(host: Host, target: CheckpointSet, name: str, item: PlanItem) -> None:
    manifest = Manifest(host.fs, target)
    try:
        record, receipt = manifest.record(name), manifest.receipt(name)
    except ValueError:
        record = receipt = None
    if record is None or receipt is None or not receipt.good or not is_announced(host.fs, target.root, record):
        raise Refused(
            f"{visible(item.name)} names {visible(name)}, which is not proven whole on the {item.side}",
            guard="pointer-target",
            why="A pointer follows its checkpoint, never the other way round",
            next_step=f"`ckptdeck verify {visible(name)}`, then try again",
        )
