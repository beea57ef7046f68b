"""A staged file: what a checkpoint is until it is whole. It has a `.part` name that no reader takes for a checkpoint.

Exclusive (nobody else writes it), flocked while its writer lives (so that a leftover can be told from a live one),
and hashed as it grows.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import weakref
from typing import TYPE_CHECKING, Protocol

import xxhash

from ckptdeck.core.errors import InUse, Refused
from ckptdeck.core.filesystem import FileSystem, opened, write_all
from ckptdeck.core.host import Host
from ckptdeck.core.naming import part_name
from ckptdeck.core.page_cache import WINDOW
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Stamp, Volume, Warning
from ckptdeck.core.turns import BLOCK
from ckptdeck.core.volume import HELD_OPEN, NOT_SUPPORTED, lock_if_free, rename_into_place

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class Holder(Protocol):
    """Something staged whose flock proves that its writer lives."""

    def release(self) -> None: ...
    def leave(self) -> None: ...


_holders: weakref.WeakSet[Holder] = weakref.WeakSet()


def keep_from_children(holder: Holder) -> None:
    """A forked child gives it back at once: it must not keep a flock alive after its writer is dead.

    Nor does it remove what its parent still writes when it leaves the parent's block by an exception.
    """
    _holders.add(holder)


class Part(io.RawIOBase):
    """A writable, seekable binary file with a `.part` name.

    `digest` is ready when all bytes came in order; a writer that seeks back, truncates, or takes the descriptor for
    itself (zip, HDF5 and numpy writers do) makes it None, and the hash is then taken from disk at the end.
    """

    def __init__(self, fs: FileSystem, fd: int, path: str) -> None:
        super().__init__()
        self.path = path
        self._fs = fs
        self._fd: int | None = fd
        self._position = 0
        self._sent = 0
        self.lost: OSError | None = None
        """What the device said of bytes on their way, whether or not the writer took notice."""
        self._hashed = 0
        self._hash: xxhash.xxh3_128 | None = xxhash.xxh3_128()
        self._shared = False
        self._given_up = False
        self._left = False
        status = fs.fstat(fd)
        self.inode = status.st_ino
        self.device = status.st_dev
        keep_from_children(self)

    # --- what a publisher uses

    @property
    def descriptor(self) -> int:
        """The open descriptor. Raises ValueError when closed."""
        if self._fd is None:
            raise ValueError("the part is closed")
        return self._fd

    @property
    def digest(self) -> str | None:
        """Hex digest of everything written, if it could be taken on the way."""
        return self._hash.hexdigest() if self._hash is not None else None

    @property
    def hashed(self) -> int:
        """How many bytes the digest covers."""
        return self._hashed

    def continue_from(self, size: int, digest: xxhash.xxh3_128) -> None:
        """Goes on behind a proven prefix of `size` bytes whose hash state is `digest`."""
        self._fs.truncate(self.descriptor, size)
        self._position = self._hashed = self._sent = size
        self._hash = digest

    def release(self) -> None:
        """Closes the descriptor, which gives the flock back. Raises the OSError of close, once (R6)."""
        fd, self._fd = self._fd, None
        if fd is not None:
            self._fs.close(fd)

    @property
    def half_named(self) -> bool:
        """A file has its name or has it not."""
        return False

    def give_name(self, host: Host, volume: Volume, final: str, *, replace: bool) -> tuple[Warning, ...]:
        """One atomic step from the part's name to `final`. Raises FileExistsError without `replace`, OSError."""
        return rename_into_place(host, volume, self.path, final, replace=replace, inode=self.inode)

    def stamps_as(self, final: str) -> tuple[Stamp, ...] | None:
        """Size and times of this inode, which has just got the name `final`; None when the name has moved on.

        Asked of the descriptor while it is open, so that another publisher's file is never taken for ours.
        """
        status = self._fs.lstat(final) if self._fd is None else self._fs.fstat(self._fd)
        if status.st_ino != self.inode:
            return None
        return (Stamp("", status.st_size, status.st_mtime_ns, status.st_ctime_ns),)

    def leave(self) -> None:
        """What is staged stays, for the next run to continue or to roll forward; `discard` then only closes it."""
        self._left = True

    def discard(self) -> None:
        """Removes the staged file. What cannot be removed stays behind as a stale part, which is no harm."""
        self._given_up = True
        removed = self._left or self._remove()
        with contextlib.suppress(OSError):
            self.release()
        if not removed:
            self._remove()

    def _remove(self) -> bool:
        """False where a server removes nothing that is open, as it is here: then it has to be closed first."""
        try:
            # Only what still is ours: the name may have been taken over after the flock was lost.
            if self._fs.lstat(self.path).st_ino == self.inode:
                self._fs.unlink(self.path)
        except OSError as error:
            return error.errno not in HELD_OPEN
        return True

    # --- what the caller's writer uses

    def write(self, data: ReadableBuffer, /) -> int:
        view = memoryview(data).cast("B")
        if not view or self._given_up:
            return len(view)  # a buffer above us may still hold bytes of a part that is gone
        position = self.tell()
        if position != self._hashed:
            self._hash = None
        for start in range(0, len(view), BLOCK):  # hashed while it is in the processor's cache
            block = view[start : start + BLOCK]
            write_all(self._fs, self.descriptor, block, position + start)
            if self._hash is not None:
                self._hash.update(block)
                self._hashed += len(block)
            self._send_up_to(position + start + len(block))
        self._move_to(position + len(view))
        return len(view)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        position = self.tell()
        count = self._fs.read_into(self.descriptor, memoryview(buffer).cast("B"), position)
        self._move_to(position + count)
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = 0
        if whence == os.SEEK_CUR:
            base = self.tell()
        elif whence == os.SEEK_END:
            base = self._fs.fstat(self.descriptor).st_size
        if base + offset < 0:
            raise OSError(errno.EINVAL, "negative seek position")
        self._move_to(base + offset)
        return self._position

    def tell(self) -> int:
        if self._shared:
            self._position = self._fs.seek(self.descriptor, 0, os.SEEK_CUR)
        return self._position

    def truncate(self, size: int | None = None, /) -> int:
        size = self.tell() if size is None else size
        if size != self._hashed:
            self._hash = None
        self._fs.truncate(self.descriptor, size)
        return size

    def fileno(self) -> int:
        """The raw descriptor, at our position.

        Whoever has it may write past us, so the running hash is given up, and from here on the descriptor's own
        offset is the position, as with any other file.
        """
        self._hash = None
        if not self._shared:
            self._shared = True
            self._move_to(self._position)
        return self.descriptor

    def _send_up_to(self, end: int) -> None:
        """What was written starts on its way to the device, so that the fsync at the end finds little left to do.

        Where a file system cannot, that costs time only; any other error is final, as that of fsync (R5).
        """
        if end - self._sent < WINDOW:
            return
        try:
            self._fs.send(self.descriptor, self._sent, end - self._sent)
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                self.lost = error
                raise
        self._sent = end

    def _move_to(self, position: int) -> None:
        self._position = position
        if self._shared:
            self._fs.seek(self.descriptor, position, os.SEEK_SET)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False


def open_part(host: Host, root: str, final: str, volume: Volume, *, minimum_age: float) -> Part:
    """A new, empty part for `root`/`final`; see `open_staged`."""
    return open_staged(host, os.path.join(root, part_name(final)), volume, minimum_age=minimum_age)


def open_staged(host: Host, path: str, volume: Volume, *, minimum_age: float) -> Part:
    """A new, empty file at `path` to be filled.

    A leftover that nobody owns is removed first. Raises InUse when a live writer owns it, Refused when the name is
    taken by something that is not a regular file, OSError otherwise.
    """
    while True:
        try:
            fd = host.fs.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
        except FileExistsError:
            leftover = claim_part(host, path, volume, minimum_age=minimum_age)
            if leftover is not None:
                leftover.discard()
            continue
        try:
            part = _claimed(host.fs, fd, path)
        except BaseException:
            # Ours and empty. Kept open it would hold the flock, and the name, for the rest of the process.
            with contextlib.suppress(OSError):
                host.fs.unlink(path)
            with contextlib.suppress(OSError):
                host.fs.close(fd)
            raise
        if part is not None:
            return part


def claim_part(host: Host, path: str, volume: Volume, *, minimum_age: float) -> Part | None:
    """Takes over a leftover part that nobody owns; None when there is none any more.

    Raises InUse while its writer lives (or may live: where flock does not reach, quiet for the age guard), Refused
    for anything that is not a regular file.
    """
    try:
        fd = _open_leftover(host.fs, path)
    except FileNotFoundError:
        return None
    except OSError as error:
        _refuse_odd(host, path, error)
        raise
    try:
        status = host.fs.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _not_regular(path)
        quiet_for = host.clock.now() - status.st_mtime
        if volume.fs_class != "local" and not quiet_for >= minimum_age:
            raise InUse(
                f"{visible(path)} was written {max(quiet_for, 0):.0f} s ago, maybe from another host",
                why=f"On {volume.fs_type} only silence for {minimum_age:.0f} s proves that its writer is gone",
                next_step="Wait, then try again",
            )
        part = _claimed(host.fs, fd, path, owned_is_error=True)
    except BaseException:
        with contextlib.suppress(OSError):
            host.fs.close(fd)
        raise
    return part


def _open_leftover(fs: FileSystem, path: str) -> int:
    """A copy has the mode of its source by the time it is durable: one that only may be read is opened up again."""
    # Not O_NONBLOCK: a scan may hold a read lease on it for two system calls, and we wait for those.
    flags = os.O_RDWR | os.O_NOFOLLOW
    try:
        return fs.open(path, flags)
    except PermissionError:
        with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            status = fs.fstat(fd)
            if stat.S_ISREG(status.st_mode):
                fs.set_mode(fd, stat.S_IMODE(status.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        return fs.open(path, flags)


def _claimed(fs: FileSystem, fd: int, path: str, *, owned_is_error: bool = False) -> Part | None:
    """The part behind `fd`, flocked; None when the name has gone to another inode meanwhile.

    Whoever removes a leftover holds its flock, so a name that still leads to our inode after we hold the flock
    cannot be taken away from us.
    """
    if not lock_if_free(fs, fd, path):
        if owned_is_error:
            raise InUse(
                f"{visible(path)} is being written by another process",
                why="It holds the file's lock, which the kernel takes away when it dies",
                next_step="Let it finish, or stop it; nothing was touched",
            )
        fs.close(fd)
        return None
    try:
        same = fs.lstat(path).st_ino == fs.fstat(fd).st_ino
    except FileNotFoundError:
        same = False
    if not same:
        fs.close(fd)
        return None
    return Part(fs, fd, path)


def _refuse_odd(host: Host, path: str, error: OSError) -> None:
    with contextlib.suppress(OSError):
        if not stat.S_ISREG(host.fs.lstat(path).st_mode):
            raise _not_regular(path) from error


def _not_regular(path: str) -> Refused:
    return Refused(
        f"{visible(path)} is not a regular file",
        guard="not-a-file",
        why="Something else uses the name under which a checkpoint would be staged; links are never followed",
        next_step="Move it away, then try again",
    )


def _close_inherited() -> None:
    for holder in list(_holders):
        holder.leave()
        with contextlib.suppress(OSError):
            holder.release()


os.register_at_fork(after_in_child=_close_inherited)
