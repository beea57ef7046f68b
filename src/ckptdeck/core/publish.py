"""The rule of the product: an artifact exists only when it is whole; until then it has no name.

    part      .part beside the target, exclusive, flocked            (part.py)
    write     hashed on the way                                       "
    fsync     once; any error is final for this inode                 settle
    announce  manifest/<name>.json.next, durable                      name
    prove     size; read back past the page cache                     settle
    rename    one atomic step, no clobber or explicit replace         name
    fsync     the directory: only now is the name durable             name
    record    next record → record, by rename; receipt                name

The trainer's library, mirror, restore, repair and recover all go through `settle` and `name_part`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Protocol

from ckptdeck.core.announcement import announce, withdraw
from ckptdeck.core.checkpoint_set import CheckpointSet, from_condition
from ckptdeck.core.errors import (
    ContentMismatch,
    Refused,
    UsageError,
    VolumeSuspect,
    from_os_error,
)
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.hashing import Share, digest_descriptor
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.naming import NameRole, read_name
from ckptdeck.core.page_cache import evidence_now
from ckptdeck.core.part import Part, open_part
from ckptdeck.core.policy import DEFAULT_POLICY, MINIMUM_AGE
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Receipt, Record, RecordMember, Stamp, Volume, Warning
from ckptdeck.core.states import Evidence, Kind, Origin, Role
from ckptdeck.core.unit import unit_digest
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import fsync_directory, in_memory, sync_data, volume_of

log = logging.getLogger("ckptdeck")
_BUFFER = 1 << 20
_LONGEST_NAME = 255
_COARSEST_TIME_NS = 2_000_000_000
"""FAT keeps every second second."""
READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""How files of others are opened: never through a link, never waiting for a pipe."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What is to be published, and how."""

    name: str
    origin: Origin = Origin.PUBLISHED
    step: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    replace: bool = False
    readback: bool = False
    mode: int | None = None
    mtime_ns: int | None = None
    """Kept from the source of a copy; None takes what writing it gave."""
    must_record: bool = False
    """A failing announcement fails the publish (copies); else it only warns (a trainer's save)."""


@dataclasses.dataclass(slots=True)
class Published:
    """What came of it; filled when the publish has ended."""

    path: str
    record: Record | None = None
    receipt: Receipt | None = None
    warnings: tuple[Warning, ...] = ()


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One durable file of what is staged, and the hash of what was written into it."""

    path: str
    inode: int
    size: int
    digest: str
    name: str
    """Of the checkpoint."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is staged is durable and, if asked for, proven; it has no name yet."""

    record: Record
    evidence: Evidence
    warnings: tuple[Warning, ...] = ()


class Nameable(Protocol):
    """Something staged that can get its name: a part or a tree."""

    @property
    def path(self) -> str: ...
    @property
    def half_named(self) -> bool: ...
    def give_name(self, host: Host, volume: Volume, final: str, *, replace: bool) -> tuple[Warning, ...]: ...
    def stamps_as(self, final: str) -> tuple[Stamp, ...] | None: ...
    def leave(self) -> None: ...
    def release(self) -> None: ...


@contextlib.contextmanager
def publish(
    host: Host, target: CheckpointSet, intent: Intent, effort: Effort = UNHURRIED
) -> Iterator[tuple[io.BufferedRandom, Published]]:
    """Yields a binary file to write and the result that is complete once the block has ended.

    An exception in the block, a kill, or a full disk leave nothing under the final name. Raises Refused or
    UsageError before anything is written, NoSpace, VolumeSuspect or ItemFailed when it could not be made durable.
    """
    require_publishable(host, target, intent, Kind.FILE)
    result = Published(target.path_of(intent.name))
    try:
        volume = volume_of(host.fs, target.root)
        part = open_part(host, target.root, intent.name, volume, minimum_age=MINIMUM_AGE)
    except OSError as error:
        raise from_os_error(error, f"Staging {visible(result.path)}") from error
    stream = io.BufferedRandom(part, _BUFFER)
    try:
        yield stream, result
        if not stream.closed:
            stream.flush()
        settled = settle(host, target, volume, part, intent, effort)
        name_part(host, target, volume, part, settled, intent, result)
    except OSError as error:
        raise from_os_error(error, f"Publishing {visible(result.path)}") from error
    finally:
        # After a success the part's name is gone and only the descriptor is left to give back.
        part.discard()
        _abandon(stream)


def require_publishable(host: Host, target: CheckpointSet, intent: Intent, kind: Kind) -> None:
    """Raises UsageError for a name that cannot be a checkpoint's, Refused when the name is taken."""
    name = intent.name
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UsageError(f"{visible(name)!r} is not a file name", next_step="Give a name without slashes")
    if len(os.fsencode(name)) > _LONGEST_NAME:
        raise UsageError(
            f"{visible(name, 60)} has {len(os.fsencode(name))} bytes",
            next_step=f"Give a name of at most {_LONGEST_NAME} bytes",
        )
    if read_name(name, kind is Kind.DIRECTORY, DEFAULT_POLICY).role in (NameRole.IN_FLIGHT, NameRole.OURS):
        raise UsageError(
            f"{visible(name)} is a name for unfinished files",
            why="A checkpoint of that name would never be seen as whole",
            next_step="Choose another name",
        )
    if not target.condition.readable:
        raise from_condition(target)
    try:
        status = host.fs.lstat(target.path_of(name))
    except FileNotFoundError:
        return
    except OSError as error:
        raise from_os_error(error, f"Looking at {visible(target.path_of(name))}") from error
    if not (stat.S_ISDIR if kind is Kind.DIRECTORY else stat.S_ISREG)(status.st_mode):
        what = "directory" if kind is Kind.DIRECTORY else "regular file"
        raise Refused(
            f"{visible(target.path_of(name))} exists and is not a {what}",
            guard="symlink" if stat.S_ISLNK(status.st_mode) else "not-a-file",
            next_step="Move it away, or publish under another name",
        )
    if not intent.replace:
        raise _exists(target.path_of(name))


def settle(
    host: Host, target: CheckpointSet, volume: Volume, part: Part, intent: Intent, effort: Effort = UNHURRIED
) -> Settled:
    """Makes the part durable, then proves it as far as asked. Nothing has a new name afterwards.

    Raises NoSpace, VolumeSuspect or ItemFailed when it could not be made durable (then the inode is never used
    again: no second fsync, R5), OSError for other calls, ContentMismatch when the device gives back other bytes
    than were written.
    """
    fd = part.descriptor
    if part.lost is not None:
        raise from_os_error(part.lost, f"Sending {visible(part.path)} to its device") from part.lost
    warnings = keep_mode_and_time(host.fs, fd, intent.mode, intent.mtime_ns)
    sync_data(host.fs, fd, part.path)
    status = host.fs.fstat(fd)
    evidence = Evidence.STREAM
    digest = part.digest
    if digest is None:
        digest = digest_descriptor(
            host, fd, status.st_size, name=intent.name, side=target.role, phase="hash", effort=effort, drop=False
        )
    else:
        require_size(part.path, part.hashed, status.st_size)
    if intent.readback:
        staged = StagedFile(part.path, part.inode, status.st_size, digest, intent.name)
        evidence = read_back(host, target.role, volume, staged, effort)
    members = (RecordMember("", status.st_size, digest),)
    return Settled(record_for(host, target, intent, Kind.FILE, members, status.st_mtime_ns), evidence, warnings)


def require_size(path: str, written: int, there: int) -> None:
    """Raises ContentMismatch when a staged file is shorter or longer than what was written into it (R8)."""
    if written != there:
        raise _mismatch(path, f"{written} bytes were written and {there} are there")


def keep_mode_and_time(fs: FileSystem, fd: int, mode: int | None, mtime_ns: int | None) -> tuple[Warning, ...]:
    """What a copy keeps of its source. W7: some servers keep no modes or times; the data is what counts (R9)."""
    lost = []
    if mode is not None:
        try:
            fs.set_mode(fd, mode)
        except OSError:
            lost.append("mode")
    if mtime_ns is not None:
        with contextlib.suppress(OSError):
            fs.set_times(fd, mtime_ns, mtime_ns)
        if abs(fs.fstat(fd).st_mtime_ns - mtime_ns) > _COARSEST_TIME_NS:
            lost.append("mtime")
    return (Warning("W7", f"the copy does not keep the {' and the '.join(lost)} of its source"),) if lost else ()


def record_for(
    host: Host,
    target: CheckpointSet,
    intent: Intent,
    kind: Kind,
    members: tuple[RecordMember, ...],
    mtime_ns: int,
) -> Record:
    """What will be recorded of bytes that are staged and durable."""
    return Record(
        name=intent.name,
        step=intent.step,
        kind=kind,
        size=sum(member.size for member in members),
        mtime_ns=mtime_ns,
        digest=unit_digest(members),
        members=members,
        recorded_at=host.clock.now(),
        origin=intent.origin,
        run_id=target.document.run_id if target.document is not None else None,
        host=host.name,
        metrics=dict(intent.metrics),
    )


def name_part(
    host: Host,
    target: CheckpointSet,
    volume: Volume,
    part: Nameable,
    settled: Settled,
    intent: Intent,
    result: Published,
) -> None:
    """Announces, renames, makes the name durable, records. The order is the promise."""
    warnings = [*settled.warnings]
    manifest = Manifest(host.fs, target, pid=host.pid) if target.control is not None else None
    announced = manifest is not None and announce(
        host, manifest, result.path, settled.record, must_record=intent.must_record, warnings=warnings
    )
    if volume.fs_class != "local":
        # Such servers refuse to rename a file that anybody, we included, holds open (R11), and some say only at the
        # close that the data did not arrive (R6).
        try:
            part.release()
        except OSError:
            withdraw(manifest, intent.name, announced=announced)
            raise
    try:
        warnings += part.give_name(host, volume, result.path, replace=intent.replace)
    except OSError as error:
        taken = isinstance(error, FileExistsError) and not (intent.replace and volume.fs_class in ("smb", "win"))
        if announced and (part.half_named or (volume.fs_class in ("smb", "win") and not taken)):
            part.leave()  # W9: proven bytes the server refuses to rename today; `recover` gives them their name
        else:
            withdraw(manifest, intent.name, announced=announced)
        if taken:
            raise _exists(result.path) from None
        raise
    try:
        warnings += _make_name_durable(host, target, volume, result)
    except VolumeSuspect:
        part.leave()  # what was replaced is all there is where the new name does not survive
        raise
    if manifest is not None and announced:
        result.record = _record(host, manifest, volume, part, settled, intent, result, warnings)
    elif manifest is None:
        warnings.append(Warning("unrecorded", f"{visible(target.root)} is no initialised set: named, not recorded"))
    result.warnings = tuple(warnings)
    for warning in warnings:
        log.warning("%s: %s (%s)", visible(result.path), warning.text, warning.code)


def _make_name_durable(host: Host, target: CheckpointSet, volume: Volume, result: Published) -> tuple[Warning, ...]:
    try:
        return fsync_directory(host.fs, target.root, volume)
    except OSError as error:
        raise VolumeSuspect(
            f"{visible(result.path)} has its name, and the name may not survive a power cut: "
            f"fsync of the directory failed ({os.strerror(error.errno or 0)})",
            why="The volume reports errors",
            next_step="Check it (dmesg); `ckptdeck recover` finishes the record once it is well",
        ) from error


def receipt_for(
    host: Host, record: Record, stamps: tuple[Stamp, ...], evidence: Evidence, volume: Volume, *, digest: str
) -> Receipt:
    """What `digest`, just read, says about `record`."""
    good = digest == record.digest and record.marked_bad != digest
    return Receipt(
        name=record.name,
        good=good,
        digest=digest,
        stamps=stamps,
        evidence=evidence,
        verified_at=host.clock.now(),
        boot_id=host.boot_id,
        mount=volume.mount,
    )


def _record(
    host: Host,
    manifest: Manifest,
    volume: Volume,
    part: Nameable,
    settled: Settled,
    intent: Intent,
    result: Published,
    warnings: list[Warning],
) -> Record | None:
    """The data is named and durable: from here on only our bookkeeping can fail, and it can be made up for."""
    try:
        manifest.promote_next_record(intent.name)
        stamps = part.stamps_as(result.path)  # after the rename, which moves ctime
        if stamps is not None and settled.evidence is not Evidence.STREAM:
            result.receipt = receipt_for(
                host, settled.record, stamps, settled.evidence, volume, digest=settled.record.digest
            )
            manifest.write_receipt(result.receipt)
    except OSError as error:
        warnings.append(
            Warning("unrecorded", f"its record could not be finished: {os.strerror(error.errno or 0)}; `recover` will")
        )
        return None
    return settled.record


def read_back(
    host: Host,
    side: Role,
    volume: Volume,
    staged: StagedFile,
    effort: Effort,
    share: Share | None = None,
) -> Evidence:
    """Reads a staged file again, from the device where that can be had, and compares (R7, R8).

    Raises ContentMismatch when the storage returned other bytes than were written.
    """
    with opened(host.fs, staged.path, os.O_RDONLY | os.O_NOFOLLOW) as fd:
        if host.fs.fstat(fd).st_ino != staged.inode:
            raise _mismatch(staged.path, "another file took its name")
        evidence = evidence_now(host.fs, fd, staged.size, volume)
        found = digest_descriptor(
            host,
            fd,
            staged.size,
            name=staged.name,
            side=side,
            phase="read back",
            effort=effort,
            drop=not in_memory(volume),
            share=share,
        )
    if found != staged.digest:
        raise _mismatch(
            staged.path, f"the storage returned other bytes than were written ({found} for {staged.digest})"
        )
    return evidence


def _mismatch(path: str, what: str) -> ContentMismatch:
    return ContentMismatch(
        f"{visible(path)} is not what was written: {what}",
        why="The device, its driver or the memory changed it",
        next_step="It was not given its final name. Check the disk (dmesg, SMART) before trusting it with more",
    )


def _exists(path: str) -> Refused:
    return Refused(
        f"{visible(path)} exists already",
        guard="exists",
        why="It would have been replaced",
        next_step="Publish under another name, or ask for the replacement explicitly (--replace)",
    )


def _abandon(stream: io.BufferedRandom) -> None:
    """The stream's buffer may hold bytes of a part that is gone; they are dropped, not written."""
    with contextlib.suppress(OSError, ValueError):
        stream.detach()
