"""Streaming xxh3_128 with progress, cancel and rate, adding nothing to the page cache; and what a read proves."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass

import xxhash

from ckptdeck.core.errors import SourceChanged
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.progress import Effort, Pacer, Progress
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Member, Volume
from ckptdeck.core.states import Evidence
from ckptdeck.core.volume import fsync_directory, in_memory, sync_data

CHUNK = 1 << 20
"""Bytes read at a time: larger ones fall out of the processor's cache and are slower (performance.md 1.1)."""
DROP_WINDOW = 8 * CHUNK


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one file."""

    digest: str
    member: Member
    """The file's stat, the same before and after."""
    evidence: Evidence


def member_of(path: str, status: os.stat_result) -> Member:
    return Member(
        path=path,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        device=status.st_dev,
        inode=status.st_ino,
        mode=stat.S_IMODE(status.st_mode),
        links=status.st_nlink,
        blocks=status.st_blocks,
    )


def digest_descriptor(
    host: Host, fd: int, size: int, *, name: str, side: str, phase: str, effort: Effort, drop: bool = True
) -> str:
    """Hashes the `size` bytes behind `fd` from its start.

    With `drop` the pages read are given back behind the cursor (R7). Raises SourceChanged when the file is
    shorter, Cancelled, or the OSError of a read.
    """
    digest = xxhash.xxh3_128()
    buffer = memoryview(bytearray(CHUNK))
    pacer = Pacer(host.clock, effort.bytes_per_second)
    done = dropped = 0
    while done < size:
        effort.check()
        count = host.fs.read_into(fd, buffer[: min(CHUNK, size - done)], done)
        if count == 0:
            raise SourceChanged(
                f"{visible(name)} on {side} became shorter while it was read: {done} of {size} bytes",
                next_step="It is looked at again once it holds still",
            )
        digest.update(buffer[:count])
        done += count
        if drop and done - dropped >= DROP_WINDOW:
            drop_pages(host.fs, fd, dropped, done - dropped)
            dropped = done
        effort.report(Progress(phase, name, side, done, size))
        pacer.spend(count)
    if drop:
        drop_pages(host.fs, fd)
    return digest.hexdigest()


def drop_pages(fs: FileSystem, fd: int, offset: int = 0, length: int = 0) -> None:
    """Gives cached pages back (length 0: all). Where the file system cannot, that costs cache, never the work (R7)."""
    with contextlib.suppress(OSError):
        fs.evict(fd, offset, length)


def evidence_now(fs: FileSystem, fd: int, size: int, volume: Volume) -> Evidence:
    """Drops the file's clean pages and tells what a read that starts now will prove (R7)."""
    if in_memory(volume):
        return Evidence.DEVICE
    try:
        fs.evict(fd)
        resident = fs.resident_pages(fd, size) if size else 0
    except OSError:
        return Evidence.CACHE
    if resident:
        return Evidence.CACHE
    return Evidence.DEVICE if volume.fs_class == "local" else Evidence.SERVER


def read_for_proof(host: Host, path: str, volume: Volume, *, name: str, side: str, effort: Effort) -> Reading:
    """Reads a file somebody else wrote, so that the result may become a receipt.

    First file and directory are made durable (a read-only descriptor can; otherwise a receipt could outlive the
    bytes it speaks of), then the cache is emptied, then it is hashed. The file must hold still (R3): same inode
    under the same name, same size and mtime before and after. Raises SourceChanged, Cancelled or OSError.
    """
    with opened(host.fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        before = host.fs.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise SourceChanged(f"{visible(path)} is not a regular file any more")
        if not volume.read_only:
            sync_data(host.fs, fd, path)
            fsync_directory(host.fs, os.path.dirname(path), volume)
        evidence = evidence_now(host.fs, fd, before.st_size, volume)
        digest = digest_descriptor(
            host, fd, before.st_size, name=name, side=side, phase="hash", effort=effort, drop=not in_memory(volume)
        )
        require_still(host.fs, fd, path, before)
    return Reading(digest, member_of("", before), evidence)


def require_still(fs: FileSystem, fd: int, path: str, before: os.stat_result) -> None:
    """Raises SourceChanged unless the open file and its name are what they were (R3)."""
    after = fs.fstat(fd)
    named: os.stat_result | None = None
    with contextlib.suppress(FileNotFoundError):
        named = fs.lstat(path)
    if named is None or named.st_ino != before.st_ino or named.st_dev != before.st_dev:
        raise SourceChanged(
            f"{visible(path)} was replaced or removed while it was read",
            next_step="Nothing was written under its name elsewhere; it is looked at again at the next scan",
        )
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise SourceChanged(
            f"{visible(path)} changed while it was read ({before.st_size} → {after.st_size} bytes)",
            why="Somebody is still writing it",
            next_step="It is tried again once it is quiet",
        )
