"""What a listing alone cannot tell of one checkpoint: whether somebody writes it, and what its own format says.

Only what is new, changed, young or in doubt is opened.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ckptdeck.core.errors import describe_os_error
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.flight import Trace
from ckptdeck.core.hashing import member_of
from ckptdeck.core.naming import FOREIGN_FAMILY
from ckptdeck.core.probes import probe_file
from ckptdeck.core.sighting import Identity, Member, Sighting
from ckptdeck.core.standing import record_in_force, speaks_of
from ckptdeck.core.states import Kind, Role
from ckptdeck.core.times import known_age


def may_be_written(sighting: Sighting, before: Sighting | None, now: float, min_age: float) -> bool:
    """Worth asking who writes it: young by any of its times (a copy may have set the mtime back) and not already seen
    at rest like this, or held the last time."""
    if not _is_file(sighting) or sighting.identity is None:
        return False
    if before is not None and (before.held or before.moved):
        return True
    if before is not None and before.identity == sighting.identity:
        return False
    member = sighting.identity.members[0]
    ages = [known_age(time, now) for time in (member.mtime_ns, member.ctime_ns)]
    return any(age is None or age < min_age for age in ages)


def moved_since(sighting: Sighting, before: Sighting | None) -> bool:
    """The same inode with another size or mtime: written in place. Another inode was renamed here, which is no harm."""
    if before is None or sighting.identity is None or before.identity is None or not _is_file(sighting):
        return False
    one, other = before.identity.members[0], sighting.identity.members[0]
    same = (one.device, one.inode) == (other.device, other.inode)
    return same and (one.size, one.mtime_ns) != (other.size, other.mtime_ns)


def with_trace(sighting: Sighting, trace: Trace) -> Sighting:
    """The sighting with its writer. A publish that has renamed and still records is no writer of a final name."""
    if not trace.held or _is_being_recorded(sighting, trace):
        return sighting
    return replace(sighting, writer=trace.writer, held=True)


def _is_being_recorded(sighting: Sighting, trace: Trace) -> bool:
    announced = sighting.next_record
    if sighting.identity is None:
        return False
    renamed = announced is not None and (announced.size, announced.mtime_ns) == (
        sighting.identity.size,
        sighting.identity.mtime_ns,
    )
    return renamed or (trace.flocked and sighting.record is not None)


def needs_probe(sighting: Sighting, role: Role) -> bool:
    """No record says what it should be; or it may be the trainer's newer save, and only its own format can tell."""
    identity = sighting.identity
    if identity is None or not _is_file(sighting) or sighting.structure is not None:
        return False
    if sighting.held or sighting.moved or sighting.error is not None:
        return False
    record = record_in_force(sighting)
    if record is None:
        return sighting.family != FOREIGN_FAMILY
    if role is not Role.PRIMARY:
        return False
    receipt = sighting.receipt
    found_other = receipt is not None and speaks_of(receipt, identity) and receipt.digest != record.digest
    return found_other or record.size != identity.size


def with_structure(fs: FileSystem, path: str, sighting: Sighting) -> Sighting:
    """The sighting with what its format says; an error when it cannot be read, moved when it did not hold still."""
    if sighting.identity is None:
        return sighting
    try:
        with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            member = sighting.identity.members[0]
            if not _still(fs, fd, member):
                return replace(sighting, moved=True)
            finding = probe_file(fs, fd, member.size, sighting.name)
            if not _still(fs, fd, member):
                return replace(sighting, moved=True)
    except OSError as error:
        return replace(sighting, error=describe_os_error(error, path))
    return replace(sighting, structure=finding)


def identity_of(status: os.stat_result) -> Identity:
    """The identity of something that is a single file, or of a name that is shown and not judged."""
    return Identity((member_of("", status),))


def is_same(identity: Identity, status: os.stat_result) -> bool:
    """`identity_of(status) == identity`, without building it."""
    member = identity.members[0]
    return (
        member.mtime_ns == status.st_mtime_ns
        and member.size == status.st_size
        and member.inode == status.st_ino
        and member.ctime_ns == status.st_ctime_ns
        and member.device == status.st_dev
        and member.blocks == status.st_blocks
    )


def _is_file(sighting: Sighting) -> bool:
    return sighting.kind is Kind.FILE and sighting.link is None


def _still(fs: FileSystem, fd: int, member: Member) -> bool:
    now = fs.fstat(fd)
    return (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) == (
        member.device,
        member.inode,
        member.size,
        member.mtime_ns,
    )
