"""Copying a checkpoint to the other side: mirror, restore and repair are this, in one direction or the other.

The copy is staged and proven before anything happens to a name. One read of the source hashes it, writes the copy
and, where the source was not recorded or not proven yet, is the source's own proof.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from ckptdeck.core.adoption import record_in_place
from ckptdeck.core.amounts import size_text
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.comparison import compare_members
from ckptdeck.core.errors import Cancelled, ContentMismatch, NoSpace, RottenSource
from ckptdeck.core.hashing import Reading, Share, require_still
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.naming import part_name
from ckptdeck.core.page_cache import leave_nothing
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.pour import open_source, pour, staged_part
from ckptdeck.core.progress import Effort
from ckptdeck.core.publish import Intent, Nameable, Published, Settled, name_part, settle
from ckptdeck.core.recheck import require_source, unit_of
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Record, RecordMember, Volume, Warning
from ckptdeck.core.states import Kind, Origin, Role
from ckptdeck.core.transfer_tree import copy_tree, tree_for
from ckptdeck.core.unit import Unit, unit_digest
from ckptdeck.core.values import dataclass
from ckptdeck.core.verify import known_records, receipt_of, write_bad_receipt
from ckptdeck.core.volume import fsync_directory, volume_of


class _Stage(Nameable, Protocol):
    def discard(self) -> None: ...


@dataclasses.dataclass(slots=True)
class Staged:
    """A proven copy that has no name yet."""

    part: Nameable
    settled: Settled
    intent: Intent
    volume: Volume
    target: CheckpointSet

    def give_name(self, host: Host) -> Published:
        """Announce, rename, record. Raises as `name_part` does."""
        result = Published(self.target.path_of(self.intent.name))
        name_part(host, self.target, self.volume, self.part, self.settled, self.intent, result)
        return result


@dataclass(frozen=True, slots=True)
class _Copying:
    """One copy under way: from where, to where, and how far the source is proven already."""

    host: Host
    source: CheckpointSet
    target: CheckpointSet
    item: PlanItem
    policy: Policy
    effort: Effort
    unit: Unit
    before: Identity
    trusted: bool
    """A receipt stands: the source need not be proven by this read."""


@contextlib.contextmanager
def staged_copy(
    host: Host, source: CheckpointSet, target: CheckpointSet, item: PlanItem, policy: Policy, effort: Effort
) -> Iterator[Staged]:
    """Stages and proves a copy of `item` on `target`; the block gives it its name, or it is discarded.

    Cancelled, or killed, it leaves what is staged, and the next run continues it. Raises SourceChanged, RottenSource,
    ContentMismatch (the device returned other bytes), NoSpace, Refused, OSError.
    """
    volume = volume_of(host.fs, target.root)
    _require_room(volume, item, policy)
    unit = unit_of(source, item)
    before = require_source(host, unit, item)
    trusted = _stands(host, source, item)
    copying = _Copying(host, source, target, item, policy, effort, unit, before, trusted)
    copy = _copy_file if item.kind is Kind.FILE else _copy_tree
    with copy(copying, volume) as (stage, reading, settled, intent, record):
        if settled.record.digest != reading.digest:
            raise ContentMismatch(
                f"The staged copy of {visible(item.name)} holds other bytes than were read",
                next_step="It was not given its final name; check the target's disk",
            )
        if record is None:
            record_in_place(host, source, item, reading)
        yield Staged(stage, settled, intent, volume, target)


_Copied = tuple[Nameable, Reading, Settled, Intent, Record | None]


@contextlib.contextmanager
def _copy_file(copying: _Copying, volume: Volume) -> Iterator[_Copied]:
    host, item, effort = copying.host, copying.item, copying.effort
    member = copying.before.members[0]
    with _source_volume(copying) as from_volume:
        with open_source(host, copying.unit.path, member, from_volume, trusted=copying.trusted) as file:
            path = os.path.join(copying.target.root, part_name(item.name))
            part = staged_part(host, path, volume, file, minimum_age=copying.policy.min_age)
            with _discarded_unless_cancelled(part):
                share = Share(0, member.size)
                digest = pour(host, file, part, volume, name=item.name, side=item.side, effort=effort, share=share)
                still = require_still(host.fs, copying.unit, copying.before, times=False)
                members = (RecordMember("", member.size, digest),)
                reading = Reading(digest, members, copying.before, file.evidence)
                record = _judge_source(copying, reading)
                intent = _intent(copying, record, mode=member.mode, mtime_ns=member.mtime_ns)
                moved = _require_known(copying, record, still=still)
                settled = settle(host, copying.target, volume, part, intent, effort)
                leave_nothing(host.fs, part.descriptor, volume)
                settled = replace(settled, warnings=settled.warnings + moved)
                yield part, reading, settled, intent, record


@contextlib.contextmanager
def _copy_tree(copying: _Copying, volume: Volume) -> Iterator[_Copied]:
    host, item, before = copying.host, copying.item, copying.before
    tree = tree_for(host, copying.target, item.name, item.kind, volume, before, minimum_age=copying.policy.min_age)
    with _discarded_unless_cancelled(tree), _source_volume(copying) as from_volume:
        copied = copy_tree(
            host,
            copying.unit,
            before,
            from_volume,
            tree,
            volume,
            trusted=copying.trusted,
            side=item.side,
            readback=copying.policy.readback,
            minimum_age=copying.policy.min_age,
            effort=copying.effort,
        )
        still = require_still(host.fs, copying.unit, before, times=False)
        reading = Reading(unit_digest(copied.members), copied.members, before, copied.evidence)
        record = _judge_source(copying, reading)
        intent = _intent(copying, record)
        moved = _require_known(copying, record, still=still)
        settled = copied.settle(host, copying.target, volume, tree, intent, copying.effort)
        settled = replace(settled, warnings=settled.warnings + moved)
        yield tree, reading, settled, intent, record


@contextlib.contextmanager
def _discarded_unless_cancelled(stage: _Stage) -> Iterator[None]:
    try:
        yield
    except Cancelled:
        stage.leave()
        raise
    finally:
        stage.discard()


@contextlib.contextmanager
def _source_volume(copying: _Copying) -> Iterator[Volume]:
    """The source's volume; names of a source that is not proven yet are made durable before it is read."""
    volume = volume_of(copying.host.fs, copying.source.root)
    if not copying.trusted and not volume.read_only:
        fsync_directory(copying.host.fs, copying.source.root, volume)
    yield volume


def _intent(copying: _Copying, record: Record | None, mode: int | None = None, mtime_ns: int | None = None) -> Intent:
    return Intent(
        name=copying.item.name,
        origin=Origin.MIRRORED if copying.target.role is Role.MIRROR else Origin.RESTORED,
        step=record.step if record is not None else copying.item.step,
        metrics=dict(record.metrics) if record is not None else {},
        readback=copying.policy.readback,
        mode=mode,
        mtime_ns=mtime_ns,
        must_record=True,
    )


def _stands(host: Host, source: CheckpointSet, item: PlanItem) -> bool:
    if source.control is None:
        return False
    try:
        receipt = Manifest(host.fs, source).receipt(item.name)
    except (OSError, ValueError):
        return False
    return receipt is not None and receipt.good and receipt.evidence.outlives_boot and receipt.stamps == item.stamps


def _judge_source(copying: _Copying, reading: Reading) -> Record | None:
    """The source's record if it has one that fits; None for a candidate. Raises RottenSource."""
    host, source, name = copying.host, copying.source, copying.item.name
    if source.control is None:
        return None
    manifest = Manifest(host.fs, source, pid=host.pid)
    records = known_records(manifest, name)
    if not records:
        return None
    match = next((record for record in records if record.digest == reading.digest), None)
    if match is None:
        # Bad only if the records read just now are about what was read (2-core.md "Readers").
        require_still(host.fs, copying.unit, copying.before)
        write_bad_receipt(host, source, manifest, records[0], reading)
        differences = compare_members(records[0].members, reading.members)
        how = differences[0].text if differences else f"{reading.digest} for {records[0].digest}"
        raise RottenSource(
            f"{visible(source.path_of(name))} is not what its record says: {how}",
            why=f"The {source.role} copy changed since it was recorded",
            next_step="Nothing was copied. `ckptdeck status` shows whether the other side still has the good one",
        )
    if not copying.trusted:
        with contextlib.suppress(OSError):  # a receipt is a by-product here; the copy is what was asked for
            manifest.write_receipt(receipt_of(host, source, match, reading))
    return match


def _require_known(copying: _Copying, record: Record | None, *, still: bool) -> tuple[Warning, ...]:
    """W5: where only mtimes moved while it was read, its record proves that it is what was saved all the same (R3)."""
    if still:
        return ()
    if record is None:
        require_still(copying.host.fs, copying.unit, copying.before)
    return (Warning("W5", "the mtime of its source moved while it was read; the content is what was recorded"),)


def _require_room(volume: Volume, item: PlanItem, policy: Policy) -> None:
    already = int(item.details.get("part_size", "0"))
    headroom = int(volume.total * policy.reserve_fraction)
    if volume.free - headroom < item.size - already:
        raise NoSpace(
            f"{visible(item.name)} needs {size_text(item.size - already)} on the {item.side}, "
            f"{size_text(max(volume.free - headroom, 0))} are free beside the reserve of {size_text(headroom)}",
            next_step="Nothing was written. Free space there, or mirror fewer steps by name",
        )
