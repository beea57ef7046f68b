"""Copying the bytes of one file: read once, hashed on the way, pushed out behind the cursor; a leftover goes on."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

import xxhash

from ckptdeck.core.errors import CkptdeckError, SourceChanged
from ckptdeck.core.filesystem import opened
from ckptdeck.core.hashing import Share
from ckptdeck.core.host import Host
from ckptdeck.core.page_cache import ReadTrail, WriteTrail, evidence_now, hot_windows
from ckptdeck.core.part import Part, claim_part, open_staged
from ckptdeck.core.progress import Effort, Pacer, Progress
from ckptdeck.core.publish import READ_ONLY
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Member, Volume
from ckptdeck.core.states import Evidence, Role
from ckptdeck.core.turns import BLOCK, each_block
from ckptdeck.core.values import dataclass
from ckptdeck.core.volume import in_memory, sync_data


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One open file that is copied."""

    fd: int
    path: str
    size: int
    evidence: Evidence
    hot: frozenset[int] | None
    """Windows whose pages stay in the cache, as somebody else has them there; None where there is no cache."""


@contextlib.contextmanager
def open_source(host: Host, path: str, member: Member, volume: Volume, *, trusted: bool) -> Iterator[SourceFile]:
    """The file of `member`, made durable and out of the cache unless a receipt stands already (`trusted`).

    Raises SourceChanged when another file has its name, OSError.
    """
    with opened(host.fs, path, READ_ONLY) as fd:
        status = host.fs.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) != (member.device, member.inode):
            raise SourceChanged(f"{visible(path)} was replaced in this very moment", next_step="Try again")
        evidence, hot = Evidence.CACHE, frozenset[int]()
        if not trusted:
            if not volume.read_only:
                sync_data(host.fs, fd, path)
            evidence = evidence_now(host.fs, fd, member.size, volume)
        elif not in_memory(volume):
            hot = hot_windows(host.fs, fd, member.size)
        yield SourceFile(fd, path, member.size, evidence, None if in_memory(volume) else hot)


def staged_part(host: Host, path: str, volume: Volume, source: SourceFile, *, minimum_age: float) -> Part:
    """A file at `path` to write the copy into: a leftover whose prefix is proven, else a new inode (R13)."""
    leftover = claim_part(host, path, volume, minimum_age=minimum_age)
    if leftover is not None:
        try:
            size = host.fs.fstat(leftover.descriptor).st_size
            state = _proven_prefix(host, leftover, volume, source, size)
            if state is not None:
                leftover.continue_from(size, state)
                return leftover
        except BaseException:
            leftover.leave()
            leftover.discard()
            raise
        leftover.discard()
    return open_staged(host, path, volume, minimum_age=minimum_age)


def pour(
    host: Host, source: SourceFile, part: Part, volume: Volume, *, name: str, side: Role, effort: Effort, share: Share
) -> str:
    """Copies what `part` does not hold yet and returns the digest of all of it; `side` gets the copy.

    Raises SourceChanged when the source ends early, Cancelled, OSError.
    """
    pacer = Pacer(host.clock, effort)
    done = part.hashed
    behind_reader = None if source.hot is None else ReadTrail(host.fs, source.fd, done, source.hot)
    behind_writer = None if in_memory(volume) else WriteTrail(host.fs, part.descriptor, done)
    part.seek(done)

    def read(buffer: memoryview, offset: int) -> int:
        return host.fs.read_into(source.fd, buffer, offset)

    def handle(block: memoryview) -> None:
        nonlocal done
        effort.check()
        part.write(block)
        done += len(block)
        if behind_reader is not None:
            behind_reader.follow(done)
        if behind_writer is not None:
            behind_writer.follow(done)
        effort.report(Progress("copy", name, side, share.before + done, share.total))
        pacer.spend(len(block))

    each_block(read, handle, done, source.size, pair=host.pairs)
    if behind_reader is not None:
        behind_reader.finish()
    digest = part.digest
    if digest is None or done != source.size:
        raise SourceChanged(
            f"Only {done} of {source.size} bytes of {visible(source.path)} could be read", next_step="Try again"
        )
    return digest


def _proven_prefix(host: Host, part: Part, volume: Volume, source: SourceFile, size: int) -> xxhash.xxh3_128 | None:
    """The hash state behind `size` bytes if part and source agree on all of them, read from the device."""
    if not 0 < size <= source.size:
        return None
    try:
        sync_data(host.fs, part.descriptor, part.path)
    except CkptdeckError:
        return None  # final for this inode (R5): a new one is begun
    if not evidence_now(host.fs, part.descriptor, size, volume).outlives_boot:
        return None  # the cache would vouch for itself
    state = xxhash.xxh3_128()
    ours, theirs = memoryview(bytearray(BLOCK)), memoryview(bytearray(BLOCK))
    done = 0
    while done < size:
        want = min(BLOCK, size - done)
        count = host.fs.read_into(part.descriptor, ours[:want], done)
        other = host.fs.read_into(source.fd, theirs[:want], done)
        if count == 0 or count != other or ours[:count] != theirs[:count]:
            return None
        state.update(ours[:count])
        done += count
    return state


def open_directory(host: Host, path: str) -> contextlib.AbstractContextManager[int]:
    """A descriptor of a directory, for its mode."""
    return opened(host.fs, path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
