"""Copying a checkpoint to the other side: mirror, restore and repair are this, in one direction or the other.

The copy is staged and proven before anything happens to a name. One read of the source hashes it, writes the copy
and, where the source was not recorded or not proven yet, is the source's own proof.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import xxhash

from ckptdeck.core.adoption import record_in_place
from ckptdeck.core.amounts import size_text
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import Cancelled, CkptdeckError, ContentMismatch, NoSpace, RottenSource, SourceChanged
from ckptdeck.core.filesystem import opened
from ckptdeck.core.hashing import CHUNK, DROP_WINDOW, Reading, drop_pages, evidence_now, member_of, require_still
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.naming import part_name
from ckptdeck.core.part import Part, claim_part, open_part
from ckptdeck.core.plans.plan import PlanItem
from ckptdeck.core.policy import Policy
from ckptdeck.core.progress import Effort, Pacer, Progress
from ckptdeck.core.publish import Intent, Published, Settled, name_part, settle
from ckptdeck.core.recheck import require_source
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Record, Volume
from ckptdeck.core.states import Evidence, Origin, Role
from ckptdeck.core.verify import known_records, receipt_of, write_bad_receipt
from ckptdeck.core.volume import fsync_directory, in_memory, sync_data, volume_of


@dataclass(slots=True)
class Staged:
    """A proven copy that has no name yet."""

    part: Part
    settled: Settled
    intent: Intent
    volume: Volume
    target: CheckpointSet

    def give_name(self, host: Host) -> Published:
        """Announce, rename, record. Raises as `name_part` does."""
        result = Published(self.target.path_of(self.intent.name))
        name_part(host, self.target, self.volume, self.part, self.settled, self.intent, result)
        return result


@contextlib.contextmanager
def staged_copy(
    host: Host, source: CheckpointSet, target: CheckpointSet, item: PlanItem, policy: Policy, effort: Effort
) -> Iterator[Staged]:
    """Stages and proves a copy of `item` on `target`; the block gives it its name, or it is discarded.

    Cancelled, or killed, it leaves a part that the next run continues. Raises SourceChanged, RottenSource,
    ContentMismatch (the device returned other bytes), NoSpace, Refused, OSError.
    """
    name = item.name
    volume = volume_of(host.fs, target.root)
    _require_room(volume, item, policy)
    with _open_source(host, source, item) as source_file:
        part = _part_for(host, target, volume, name, source_file, policy)
        try:
            reading = _pour(host, source_file, part, volume, name, effort)
            record = _judge_source(host, source, name, reading, source_file)
            intent = Intent(
                name=name,
                origin=Origin.MIRRORED if target.role is Role.MIRROR else Origin.RESTORED,
                step=record.step if record is not None else item.step,
                metrics=dict(record.metrics) if record is not None else {},
                readback=policy.readback,
                mode=source_file.before.st_mode & 0o7777,
                mtime_ns=reading.member.mtime_ns,
                must_record=True,
            )
            settled = settle(host, target, volume, part, intent, effort)
            if settled.record.digest != reading.digest:
                raise ContentMismatch(
                    f"The staged copy of {visible(name)} holds other bytes than were read",
                    next_step="It was not given its final name; check the target's disk",
                )
            if record is None:
                record_in_place(host, source, item, reading)
            yield Staged(part, settled, intent, volume, target)
        except Cancelled:
            part.leave()
            raise
        finally:
            part.discard()


# --- the source


@dataclass(frozen=True, slots=True)
class _Source:
    fd: int
    path: str
    before: os.stat_result
    evidence: Evidence
    trusted: bool
    """A receipt stands already: it need not be proven by this read, and its hot pages stay hot."""
    drop: bool
    side: Role


@contextlib.contextmanager
def _open_source(host: Host, source: CheckpointSet, item: PlanItem) -> Iterator[_Source]:
    path = source.path_of(item.name)
    require_source(host, path, item)
    volume = volume_of(host.fs, source.root)
    trusted = _stands(host, source, item)
    with opened(host.fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        before = host.fs.fstat(fd)
        evidence = Evidence.CACHE
        if not trusted:
            if not volume.read_only:
                sync_data(host.fs, fd, path)
                fsync_directory(host.fs, source.root, volume)
            evidence = evidence_now(host.fs, fd, before.st_size, volume)
        drop = not in_memory(volume) and not trusted
        yield _Source(fd, path, before, evidence, trusted, drop, source.role)
        require_still(host.fs, fd, path, before)


def _stands(host: Host, source: CheckpointSet, item: PlanItem) -> bool:
    if source.control is None:
        return False
    try:
        receipt = Manifest(host.fs, source).receipt(item.name)
    except (OSError, ValueError):
        return False
    return receipt is not None and receipt.good and receipt.evidence.outlives_boot and receipt.stamps == item.stamps


def _judge_source(
    host: Host, source: CheckpointSet, name: str, reading: Reading, source_file: _Source
) -> Record | None:
    """The source's record if it has one that fits; None for a candidate. Raises RottenSource."""
    if source.control is None:
        return None
    manifest = Manifest(host.fs, source, pid=host.pid)
    records = known_records(manifest, name)
    if not records:
        return None
    match = next((record for record in records if record.digest == reading.digest), None)
    if match is None:
        # Bad only if the records read just now are about the file that was read (2-core.md "Readers").
        require_still(host.fs, source_file.fd, source_file.path, source_file.before)
        write_bad_receipt(host, source, manifest, records[0], reading)
        raise RottenSource(
            f"{visible(source.path_of(name))} is not what its record says: {reading.digest} for {records[0].digest}",
            why=f"The {source.role} copy changed since it was recorded",
            next_step="Nothing was copied. `ckptdeck status` shows whether the other side still has the good one",
        )
    if not source_file.trusted:
        with contextlib.suppress(OSError):  # a receipt is a by-product here; the copy is what was asked for
            manifest.write_receipt(receipt_of(host, source, match, reading))
    return match


# --- the copy


def _require_room(volume: Volume, item: PlanItem, policy: Policy) -> None:
    already = int(item.details.get("part_size", "0"))
    headroom = int(volume.total * policy.reserve_fraction)
    if volume.free - headroom < item.size - already:
        raise NoSpace(
            f"{visible(item.name)} needs {size_text(item.size - already)} on the {item.side}, "
            f"{size_text(max(volume.free - headroom, 0))} are free beside the reserve of {size_text(headroom)}",
            next_step="Nothing was written. Free space there, or mirror fewer steps by name",
        )


def _part_for(host: Host, target: CheckpointSet, volume: Volume, name: str, source: _Source, policy: Policy) -> Part:
    """A part to write into: a leftover whose prefix is proven, else a new inode (R13)."""
    leftover = claim_part(host, os.path.join(target.root, part_name(name)), volume, minimum_age=policy.min_age)
    if leftover is not None:
        size = host.fs.fstat(leftover.descriptor).st_size
        state = _proven_prefix(host, leftover, volume, source, size)
        if state is not None:
            leftover.continue_from(size, state)
            return leftover
        leftover.discard()
    return open_part(host, target.root, name, volume, minimum_age=policy.min_age)


def _proven_prefix(host: Host, part: Part, volume: Volume, source: _Source, size: int) -> xxhash.xxh3_128 | None:
    """The hash state behind `size` bytes if part and source agree on all of them, read from the device."""
    if not 0 < size <= source.before.st_size:
        return None
    try:
        sync_data(host.fs, part.descriptor, part.path)
    except CkptdeckError:
        return None  # final for this inode (R5): a new one is begun
    if not evidence_now(host.fs, part.descriptor, size, volume).outlives_boot:
        return None  # the cache would vouch for itself
    state = xxhash.xxh3_128()
    ours, theirs = memoryview(bytearray(CHUNK)), memoryview(bytearray(CHUNK))
    done = 0
    while done < size:
        want = min(CHUNK, size - done)
        count = host.fs.read_into(part.descriptor, ours[:want], done)
        other = host.fs.read_into(source.fd, theirs[:want], done)
        if count == 0 or count != other or ours[:count] != theirs[:count]:
            return None
        state.update(ours[:count])
        done += count
    return state


def _pour(host: Host, source: _Source, part: Part, volume: Volume, name: str, effort: Effort) -> Reading:
    """Reads, hashes and writes chunk by chunk; written pages are pushed out behind the cursor and not kept."""
    buffer = memoryview(bytearray(CHUNK))
    pacer = Pacer(host.clock, effort.bytes_per_second)
    size = source.before.st_size
    done = dropped = part.hashed
    keep_cache = in_memory(volume)
    part.seek(done)
    while done < size:
        effort.check()
        count = host.fs.read_into(source.fd, buffer[: min(CHUNK, size - done)], done)
        if count == 0:
            break  # it became shorter: require_still says so
        part.write(buffer[:count])
        done += count
        if done - dropped >= DROP_WINDOW:
            if source.drop:
                drop_pages(host.fs, source.fd, dropped, done - dropped)
            if not keep_cache:
                drop_pages(host.fs, part.descriptor, dropped, done - dropped)
            dropped = done
        effort.report(Progress("copy", name, source.side.other, done, size))
        pacer.spend(count)
    if source.drop:
        drop_pages(host.fs, source.fd)
    require_still(host.fs, source.fd, source.path, source.before)
    digest = part.digest
    if digest is None or done != size:
        raise SourceChanged(f"Only {done} of {size} bytes of {visible(name)} could be read", next_step="Try again")
    return Reading(digest, member_of("", source.before), source.evidence)
