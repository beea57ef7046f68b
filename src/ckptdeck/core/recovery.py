"""After a crash: bringing what was interrupted to its end, from names alone (2-core.md "After a crash").

Every step may be killed again; what is left is again a state this module knows. The set lock is held by the caller.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

from ckptdeck.core.announcement import finish_earlier, is_announced
from ckptdeck.core.checkpoint_set import SUBDIRECTORIES, CheckpointSet
from ckptdeck.core.deletion import finish_removal
from ckptdeck.core.filesystem import is_there
from ckptdeck.core.hashing import digest_descriptor, read_for_proof
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.naming import part_name
from ckptdeck.core.page_cache import evidence_now
from ckptdeck.core.part import Part, claim_part
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort
from ckptdeck.core.publish import receipt_for
from ckptdeck.core.recheck import moved_on, require_same
from ckptdeck.core.recovery_tree import discard_tree, finish_tree
from ckptdeck.core.removal import quarantine
from ckptdeck.core.sighting import Record, Stamp, Volume
from ckptdeck.core.small_file import SUFFIX
from ckptdeck.core.staging import staging_place
from ckptdeck.core.states import Evidence
from ckptdeck.core.unit import OddThing, Unit, look_at, unit_of_record
from ckptdeck.core.verify import receipt_of, write_bad_receipt
from ckptdeck.core.volume import fsync_directory, in_memory, rename_into_place, sync_data, volume_of


def finish(host: Host, target: CheckpointSet, item: PlanItem, policy: Policy, effort: Effort) -> str:
    """Brings one interrupted publish to its end; returns what was done in one clause.

    Raises Refused when it is not what the plan saw (a live writer, other content); nothing is then touched.
    """
    manifest = Manifest(host.fs, target, pid=host.pid)
    volume = volume_of(host.fs, target.root)
    match item.details.get("mode"):
        case "removal":
            return finish_removal(host, target, volume, item.details["id"])
        case "tree":
            return finish_tree(host, target, manifest, volume, item, policy, effort)
        case "roll-forward":
            return _roll_forward(host, target, manifest, volume, item, policy, effort)
        case "linked-part":
            _drop_linked_part(host, target, volume, item, policy)
            if manifest.next_record(item.name) is None:
                return "removed the second name of a finished checkpoint"
    return _finish_record(host, target, manifest, volume, item, effort)


def discard(host: Host, target: CheckpointSet, item: PlanItem, policy: Policy) -> str:
    """Removes a leftover that can become nothing: an unfinished part nobody owns, or a next record without data."""
    manifest = Manifest(host.fs, target, pid=host.pid)
    if item.details.get("mode") == "next-record":
        _drop_orphan(host, target, manifest, item, policy)
        return "withdrew the announcement of data that never came"
    if item.details.get("mode") == "tree":
        discard_tree(host, target, manifest, item, policy)
        return "removed what was staged of it"
    part = _claim(host, target, item, policy)
    try:
        # The announcement may be of an earlier publish whose rename had happened: then it becomes the record.
        finish_earlier(host, manifest, target.path_of(item.name), item.name)
    except BaseException:
        part.leave()
        raise
    finally:
        part.discard()
    fsync_directory(host.fs, target.root, volume_of(host.fs, target.root))
    return "removed the unfinished part"


def sweep_temporaries(host: Host, target: CheckpointSet, minimum_age: float) -> int:
    """Removes temporary files of our own that a crash left in the control directory. Returns how many."""
    swept = 0
    for directory in ("", *SUBDIRECTORIES):
        path = target.control_path(directory) if directory else target.control_path()
        for entry in host.fs.list_directory(path):
            if not entry.name.startswith(".") or not entry.name.endswith(SUFFIX) or entry.stat is None:
                continue
            if host.clock.now() - entry.stat.st_mtime >= minimum_age:
                with contextlib.suppress(FileNotFoundError):
                    host.fs.unlink(os.path.join(path, entry.name))
                    swept += 1
    return swept


def _roll_forward(
    host: Host,
    target: CheckpointSet,
    manifest: Manifest,
    volume: Volume,
    item: PlanItem,
    policy: Policy,
    effort: Effort,
) -> str:
    """The part is whole if it is what the next record says: then the step is saved after all."""
    announced = _announced(manifest, item)
    part = _claim(host, target, item, policy)
    try:
        part.leave()
        evidence = _prove_part(host, part, volume, announced, item, effort)
        final = target.path_of(item.name)
        replaces = _may_replace(host, target, volume, announced, item, effort)
        if replaces is None:
            aside = Unit(target.root, os.path.basename(part.path))
            entry = quarantine(
                host, target, volume, aside, inode=part.inode, reason="its name is taken by another file"
            )
            manifest.drop_next_record(item.name)
            return f"the name holds something else: set the part aside as {entry}"
        if volume.fs_class != "local":
            part.release()
        rename_into_place(host, volume, part.path, final, replace=replaces, inode=part.inode)
        fsync_directory(host.fs, target.root, volume)
        manifest.promote_next_record(item.name)
        stamps = part.stamps_as(final)
        if stamps is not None:
            manifest.write_receipt(receipt_for(host, announced, stamps, evidence, volume, digest=announced.digest))
    finally:
        part.discard()
    return "whole after all: it has its name now"


def _announced(manifest: Manifest, item: PlanItem) -> Record:
    try:
        announced = manifest.next_record(item.name)
    except ValueError as error:
        raise moved_on(item, f"its next record is damaged: {error}") from None
    if announced is None:
        raise moved_on(item, "its next record is gone")
    return announced


def _claim(host: Host, target: CheckpointSet, item: PlanItem, policy: Policy) -> Part:
    """The part, flocked, if it is the planned one. Raises InUse while its writer lives, Refused otherwise."""
    unit = Unit(target.root, item.details.get("part", part_name(item.name)))
    require_same(host, unit, _as_file(item.stamps), item.inode)
    part = claim_part(host, unit.path, volume_of(host.fs, target.root), minimum_age=policy.min_age)
    if part is None:
        raise moved_on(item, "its part is gone")
    return part


def _prove_part(host: Host, part: Part, volume: Volume, announced: Record, item: PlanItem, effort: Effort) -> Evidence:
    """fsync first: what a dead process wrote may never have reached the disk; then evict, then hash."""
    sync_data(host.fs, part.descriptor, part.path)
    size = host.fs.fstat(part.descriptor).st_size
    evidence = evidence_now(host.fs, part.descriptor, size, volume)
    if size == announced.size:
        found = digest_descriptor(
            host,
            part.descriptor,
            size,
            name=item.name,
            side=item.side,
            phase="hash",
            effort=effort,
            drop=not in_memory(volume),
        )
        if found == announced.digest:
            return evidence
    raise moved_on(item, "its part does not hold the announced bytes")


def _may_replace(
    host: Host, target: CheckpointSet, volume: Volume, announced: Record, item: PlanItem, effort: Effort
) -> bool | None:
    """False: the name is free. True: it holds exactly what may be replaced. None: it holds something else."""
    unit = Unit(target.root, item.name)
    if not is_there(host.fs, unit.path):
        return False
    reading = read_for_proof(host, unit, volume, side=item.side, effort=effort)
    return True if reading.digest in (announced.replaces, announced.digest) else None


def _drop_linked_part(host: Host, target: CheckpointSet, volume: Volume, item: PlanItem, policy: Policy) -> None:
    """A rename that had to be a link and an unlink was cut between the two: one inode, two names."""
    path = target.path_of(item.details.get("part", part_name(item.name)))
    final = host.fs.lstat(target.path_of(item.name))
    part = claim_part(host, path, volume, minimum_age=policy.min_age)
    if part is None:
        return
    if part.inode != final.st_ino:
        part.leave()
    part.discard()
    fsync_directory(host.fs, target.root, volume)


def _finish_record(
    host: Host, target: CheckpointSet, manifest: Manifest, volume: Volume, item: PlanItem, effort: Effort
) -> str:
    """The rename had happened, the record had not: the file itself decides."""
    announced = _announced(manifest, item)
    unit = unit_of_record(target.root, announced)
    require_same(host, unit, item.stamps, item.inode)
    _require_no_part(host, target, item)
    reading = read_for_proof(host, unit, volume, side=item.side, effort=effort)
    if reading.digest == announced.digest:
        manifest.promote_next_record(item.name)
        manifest.write_receipt(receipt_of(host, target, announced, reading))
        return "the rename had happened: recorded"
    try:
        record = manifest.record(item.name)
    except ValueError:
        record = None
    _require_no_part(host, target, item)
    if record is not None and record.digest == reading.digest:
        manifest.drop_next_record(item.name)
        return "the old one is still there: withdrew the announcement"
    if is_announced(host.fs, target.root, announced):
        # It is what was renamed, and it broke since: without its record it would pass for something nobody recorded.
        manifest.promote_next_record(item.name)
        write_bad_receipt(host, target, manifest, announced, reading)
        return "the rename had happened, and its content broke since: recorded, so that it shows"
    manifest.drop_next_record(item.name)
    return "neither the old one nor the announced one is there: withdrew the announcement"


def _drop_orphan(host: Host, target: CheckpointSet, manifest: Manifest, item: PlanItem, policy: Policy) -> None:
    announced = _announced(manifest, item)
    _require_no_part(host, target, item)
    if host.clock.now() - announced.recorded_at < policy.min_age:
        raise moved_on(item, "its announcement is younger than the age guard")
    with contextlib.suppress(FileNotFoundError, OddThing):
        if look_at(host.fs, unit_of_record(target.root, announced)).size == announced.size:
            raise moved_on(item, "its data has come")
    manifest.drop_next_record(item.name)


def _require_no_part(host: Host, target: CheckpointSet, item: PlanItem) -> None:
    if is_there(host.fs, target.path_of(part_name(item.name))) or is_there(host.fs, staging_place(target, item.name)):
        raise moved_on(item, "a part for it has appeared")


def _as_file(stamps: tuple[Stamp, ...]) -> tuple[Stamp, ...]:
    """A part's stamp names the part; of a file that is looked at the path is ""."""
    return tuple(replace(stamp, path="") for stamp in stamps)
