"""Streaming xxh3_128 with progress, cancel and rate, adding nothing to the page cache; and what a read proves."""

from __future__ import annotations

import os
import stat

import xxhash

from ckptdeck.core.errors import SourceChanged
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.page_cache import ReadTrail, evidence_now
from ckptdeck.core.progress import Effort, Pacer, Progress
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Identity, Member, RecordMember, Volume
from ckptdeck.core.states import Evidence, Kind, MemberKind
from ckptdeck.core.turns import each_block
from ckptdeck.core.unit import OddThing, Unit, directories_of, look_at, record_of_link, unit_digest
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import fsync_directory, in_memory, sync_data


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of one checkpoint."""

    digest: str
    members: tuple[RecordMember, ...]
    identity: Identity
    """The same before and after."""
    evidence: Evidence
    """The weakest of its files."""


@dataclass(frozen=True, slots=True)
class Share:
    """Where one file stands in a checkpoint of several, for progress: bytes before it, and of all."""

    before: int
    total: int


def digest_descriptor(
    host: Host,
    fd: int,
    size: int,
    *,
    name: str,
    side: str,
    phase: str,
    effort: Effort,
    drop: bool = True,
    share: Share | None = None,
) -> str:
    """Hashes the `size` bytes behind `fd` from its start.

    With `drop` the pages read are given back behind the cursor (R7). Raises SourceChanged when the file is
    shorter, Cancelled, or the OSError of a read.
    """
    digest = xxhash.xxh3_128()
    pacer = Pacer(host.clock, effort)
    trail = ReadTrail(host.fs, fd) if drop else None
    share = share or Share(0, size)
    done = 0

    def read(buffer: memoryview, offset: int) -> int:
        return host.fs.read_into(fd, buffer, offset)

    def handle(block: memoryview) -> None:
        nonlocal done
        effort.check()
        digest.update(block)
        done += len(block)
        if trail is not None:
            trail.follow(done)
        effort.report(Progress(phase, name, side, share.before + done, share.total))
        pacer.spend(len(block))

    # A pair helps with what lies in memory. What is dropped behind the cursor comes from a device, which it would
    # only ask out of order.
    each_block(read, handle, 0, size, pair=host.pairs and not drop)
    if done < size:
        raise SourceChanged(
            f"{visible(name)} on {side} became shorter while it was read: {done} of {size} bytes",
            next_step="It is looked at again once it holds still",
        )
    if trail is not None:
        trail.finish()
    return digest.hexdigest()


def read_for_proof(host: Host, unit: Unit, volume: Volume, *, side: str, effort: Effort) -> Reading:
    """Reads a checkpoint somebody else wrote, so that the result may become a receipt.

    First its files and directories are made durable (a read-only descriptor can; otherwise a receipt could outlive
    the bytes it speaks of), then the cache is emptied, then it is hashed. It must hold still (R3): the same inodes
    under the same names, same sizes and mtimes before and after. Raises SourceChanged, Cancelled or OSError.
    """
    before = look_still(host.fs, unit)
    if not volume.read_only:
        _sync_names(host, unit, before, volume)
    evidence = Evidence.DEVICE
    members = []
    done = 0
    for member in before.members:
        if member.kind is not MemberKind.FILE:
            members.append(record_of_link(member))
            continue
        share = Share(done, before.size)
        digest, of_it = _read_member(host, unit, member, volume, share, side=side, effort=effort)
        members.append(RecordMember(member.path, member.size, digest))
        evidence = min(evidence, of_it, key=lambda each: each.rank)
        done += member.size
    require_still(host.fs, unit, before)
    return Reading(unit_digest(members), tuple(members), before, evidence)


def look_still(fs: FileSystem, unit: Unit) -> Identity:
    """`look_at` for a reader. Raises SourceChanged for what is no checkpoint any more, OSError."""
    try:
        return look_at(fs, unit)
    except OddThing as odd:
        raise SourceChanged(
            f"{visible(unit.path)} is {odd}", why="Only regular files, links and directories can be read and copied"
        ) from None


def _sync_names(host: Host, unit: Unit, identity: Identity, volume: Volume) -> None:
    if unit.kind is Kind.DIRECTORY:
        for directory in directories_of(member.path for member in identity.members):
            fsync_directory(host.fs, unit.path_of(directory), volume)
        fsync_directory(host.fs, unit.path, volume)
    fsync_directory(host.fs, unit.root, volume)


def _read_member(
    host: Host, unit: Unit, member: Member, volume: Volume, share: Share, *, side: str, effort: Effort
) -> tuple[str, Evidence]:
    path = unit.path_of(member.path)
    with opened(host.fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        status = host.fs.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) != (member.device, member.inode):
            raise _replaced(path)
        if not volume.read_only:
            sync_data(host.fs, fd, path)
        evidence = evidence_now(host.fs, fd, member.size, volume)
        drop = not in_memory(volume)
        digest = digest_descriptor(
            host, fd, member.size, name=unit.name, side=side, phase="hash", effort=effort, drop=drop, share=share
        )
    return digest, evidence


def require_still(fs: FileSystem, unit: Unit, before: Identity, *, times: bool = True) -> bool:
    """Raises SourceChanged unless every member and its name are what they were (R3).

    Without `times` mtimes alone may move, as replicas of one file may disagree about them; False then.
    """
    try:
        after = look_at(fs, unit)
    except (FileNotFoundError, OddThing):
        raise _replaced(unit.path) from None
    known = {member.path: member for member in before.members}
    still = True
    for member in after.members:
        earlier = known.pop(member.path, None)
        path = unit.path_of(member.path)
        if earlier is None or (earlier.device, earlier.inode) != (member.device, member.inode):
            raise _replaced(path)
        moved = earlier.mtime_ns != member.mtime_ns
        still = still and not moved
        if earlier.size != member.size or (moved and times):
            raise SourceChanged(
                f"{visible(path)} changed while it was read ({earlier.size} → {member.size} bytes)",
                why="Somebody is still writing it",
                next_step="It is tried again once it is quiet",
            )
    for path in known:
        raise _replaced(unit.path_of(path))
    return still


def _replaced(path: str) -> SourceChanged:
    return SourceChanged(
        f"{visible(path)} was replaced or removed while it was read",
        next_step="Nothing was written under its name elsewhere; it is looked at again at the next scan",
    )
