"""What a listing alone cannot tell of one checkpoint: whether somebody writes it, and what its own format says.

Only what is new, changed, young or in doubt is opened; where nothing is, no format has to be known at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from ckptdeck.core.comparison import compare_unread
from ckptdeck.core.errors import describe_os_error
from ckptdeck.core.filesystem import FileSystem, once_more, opened
from ckptdeck.core.flight import Trace
from ckptdeck.core.naming import FOREIGN_FAMILY
from ckptdeck.core.sighting import Identity, Member, Sighting, StructureFinding
from ckptdeck.core.standing import record_in_force, speaks_of
from ckptdeck.core.states import Kind, Role
from ckptdeck.core.times import BELIEVED_FROM_NS, is_quiet
from ckptdeck.core.unit import OddThing, Unit, look_at


def may_be_written(sighting: Sighting, before: Sighting | None, now: float, min_age: float) -> tuple[Member, ...]:
    """The files worth asking who writes them: young by any of their times (a copy may have set the mtime back) and
    not already seen at rest like this; all of them when it was held the last time."""
    if not _is_checkpoint(sighting) or sighting.identity is None:
        return ()
    if before is not None and (before.held or before.moved):
        return sighting.identity.files
    if before is not None and before.identity == sighting.identity:
        return ()
    youngest_quiet = int((now - min_age) * 1e9)
    if all(
        BELIEVED_FROM_NS <= member.mtime_ns <= youngest_quiet and BELIEVED_FROM_NS <= member.ctime_ns <= youngest_quiet
        for member in sighting.identity.members
    ):
        return ()
    return tuple(member for member in sighting.identity.files if _is_young(member, now, min_age))


def _is_young(member: Member, now: float, min_age: float) -> bool:
    return not (is_quiet(member.mtime_ns, now, min_age) and is_quiet(member.ctime_ns, now, min_age))


def moved_since(sighting: Sighting, before: Sighting | None) -> bool:
    """The same inodes with another size or mtime, or one directory with other files: written in place.

    Another inode was renamed here, which is no harm.
    """
    if before is None or sighting.identity is None or before.identity is None or not _is_checkpoint(sighting):
        return False
    if before.error is not None or sighting.error is not None:
        return False  # what could not be looked at is not known to have changed
    now, then = sighting.identity, before.identity
    earlier = {member.path: member for member in then.files}
    for member in now.files:
        known = earlier.pop(member.path, None)
        if known is not None and (known.device, known.inode) == (member.device, member.inode):
            if (known.size, known.mtime_ns) != (member.size, member.mtime_ns):
                return True
        elif known is None and now.directory is not None and now.node == then.node:
            return True
    return bool(earlier) and now.directory is not None and now.node == then.node


def with_traces(sighting: Sighting, traces: Iterable[Trace]) -> Sighting:
    """The sighting with its writer. A publish that has renamed and still records is no writer of a final name."""
    held = [trace for trace in traces if trace.held and not _is_being_recorded(sighting, trace)]
    if not held:
        return sighting
    writer = next((trace.writer for trace in held if trace.writer is not None), None)
    return replace(sighting, writer=writer, held=True)


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
    if identity is None or not _is_checkpoint(sighting) or sighting.structure is not None:
        return False
    if sighting.held or sighting.moved or sighting.error is not None:
        return False
    record = record_in_force(sighting)
    if record is None:
        return sighting.family != FOREIGN_FAMILY
    if role is not Role.PRIMARY:
        return False
    receipt = sighting.receipt
    found_other = receipt is not None and receipt.digest != record.digest and speaks_of(receipt, identity)
    return found_other or bool(compare_unread(record, identity))


def with_structure(fs: FileSystem, root: str, sighting: Sighting) -> Sighting:
    """The sighting with what its format says; an error when it cannot be read, moved when it did not hold still."""
    identity = sighting.identity
    if identity is None:
        return sighting
    path = os.path.join(root, sighting.name)
    try:
        if sighting.kind is Kind.FILE:
            finding = once_more(partial(_probe_file, fs, path, identity.members[0], sighting.name))
        else:
            finding = once_more(partial(_probe_tree, fs, root, sighting, identity))
    except OSError as error:
        return replace(sighting, error=describe_os_error(error, os.fsdecode(error.filename or path)))
    return replace(sighting, moved=True) if finding is None else replace(sighting, structure=finding)


def _probe_file(fs: FileSystem, path: str, member: Member, name: str) -> StructureFinding | None:
    """None when it did not hold still."""
    from ckptdeck.core.probes import probe_file

    with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        if not _still(fs, fd, member):
            return None
        finding = probe_file(fs, fd, member.size, name)
        return finding if _still(fs, fd, member) else None


def _probe_tree(fs: FileSystem, root: str, sighting: Sighting, identity: Identity) -> StructureFinding | None:
    """None when it did not hold still."""
    from ckptdeck.core.probes.directory import probe_tree
    from ckptdeck.core.probes.tree import LostInTree, Tree

    unit = Unit(root, sighting.name, sighting.kind, tuple(member.path for member in identity.members))
    try:
        finding = probe_tree(Tree(fs, unit.base, sighting.name, identity.members))
        after = look_at(fs, unit)
    except (LostInTree, FileNotFoundError, OddThing):
        return None
    return finding if after.stamps == identity.stamps else None


def _is_checkpoint(sighting: Sighting) -> bool:
    """Anything that is looked at more closely: no link, and no directory of somebody else's."""
    return sighting.link is None and not (sighting.kind is Kind.DIRECTORY and sighting.family == FOREIGN_FAMILY)


def _still(fs: FileSystem, fd: int, member: Member) -> bool:
    now = fs.fstat(fd)
    return (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) == (
        member.device,
        member.inode,
        member.size,
        member.mtime_ns,
    )
