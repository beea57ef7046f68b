"""The one seam through which every system call that matters goes.

Tests wrap `FileSystem` to kill, fail, shorten or lie at any call, and to play file systems this machine does not
have (T7). Every method is one kernel operation and raises plain OSError; policy about errors lives above.
What needs `libc` loads it when it is called: a look at a set at rest calls none of it.
Paths are `str` from `os.fsdecode`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from typing import TypeVar

from ckptdeck.core.values import dataclass

_T = TypeVar("_T")

_RESIDENCY_WINDOW = 1 << 30  # mapped at once while counting resident pages; nothing in it is ever touched


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """One name in a directory, with its lstat or the errno that lstat gave."""

    name: str
    stat: os.stat_result | None
    error: int | None


class FileSystem:
    """The real thing."""

    # --- descriptors

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        """An error here means the data may be lost; never close again (R6)."""
        os.close(fd)

    def write(self, fd: int, data: memoryview) -> int:
        return os.write(fd, data)

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        """One pread; fewer bytes than asked for is normal, 0 is the end."""
        return os.preadv(fd, [buffer], offset)

    def seek(self, fd: int, offset: int, whence: int) -> int:
        """Moves the descriptor's own offset, which only matters where the descriptor is given away."""
        return os.lseek(fd, offset, whence)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def send(self, fd: int, offset: int, length: int) -> None:
        """Starts sending written bytes to the device and does not wait for them (sync_file_range).

        An error is about bytes written before, and as final as one of fsync (R5); it takes none away from fsync.
        """
        from ckptdeck.core.libc import start_sending

        start_sending(fd, offset, length)

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def set_times(self, fd: int, atime_ns: int, mtime_ns: int) -> None:
        os.utime(fd, ns=(atime_ns, mtime_ns))

    def set_mode(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def try_lock(self, fd: int) -> bool:
        """Exclusive flock without waiting; False when somebody else holds it."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True

    def open_for_writing_elsewhere(self, fd: int) -> bool | None:
        """Whether anyone on this host has the file open for writing, by asking for a read lease.

        None when the kernel will not say (not the owner, no leases on this file system). The lease is given back
        at once; `fd` must be read-only. A writer that opens the file in that instant waits for it;
        one that opens with O_NONBLOCK gets EWOULDBLOCK and has to try again.
        """
        try:
            # Such a writer makes the kernel signal us; SIGIO would end the process, SIGURG is ignored by default.
            fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError as error:
            return True if error.errno == errno.EAGAIN else None
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False

    def evict(self, fd: int, offset: int = 0, length: int = 0) -> None:
        """Asks the kernel to drop clean cached pages (length 0: to the end of the file)."""
        os.posix_fadvise(fd, offset, length, os.POSIX_FADV_DONTNEED)

    def next_data(self, fd: int, offset: int) -> int:
        """The first byte at or after `offset` that is stored and not a hole; ENXIO when only a hole follows.

        A file system that keeps no holes calls everything data; EINVAL where the question is unknown.
        """
        return os.lseek(fd, offset, os.SEEK_DATA)

    def next_hole(self, fd: int, offset: int) -> int:
        """The first byte at or after `offset` that lies in a hole; the end of the file counts as one."""
        return os.lseek(fd, offset, os.SEEK_HOLE)

    def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
        """How many pages of `size` bytes from `offset` (a multiple of a page) are in the page cache (mincore).

        Raises OSError when it cannot be told.
        """
        from ckptdeck.core.libc import resident_pages

        resident = 0
        for start in range(offset, offset + size, _RESIDENCY_WINDOW):
            resident += resident_pages(fd, start, min(_RESIDENCY_WINDOW, offset + size - start))
        return resident

    def lock_table(self) -> str:
        """The text of /proc/locks: who holds which lock, as far as this process id namespace reaches."""
        with open("/proc/locks", encoding="ascii", errors="replace") as table:
            return table.read()

    # --- names

    def rename(self, source: str, target: str) -> None:
        """Replaces `target` when it is there."""
        os.rename(source, target)

    def rename_no_replace(self, source: str, target: str) -> None:
        """Raises FileExistsError when `target` is there; EINVAL, ENOSYS or ENOTSUP where the kernel cannot."""
        from ckptdeck.core.libc import RENAME_NOREPLACE, rename

        rename(source, target, RENAME_NOREPLACE)

    def exchange(self, one: str, other: str) -> None:
        """Both names change places in one step; EINVAL, ENOSYS or ENOTSUP where the kernel cannot."""
        from ckptdeck.core.libc import RENAME_EXCHANGE, rename

        rename(one, other, RENAME_EXCHANGE)

    def symlink(self, target: str, path: str) -> None:
        os.symlink(target, path)

    def link(self, source: str, target: str) -> None:
        os.link(source, target, follow_symlinks=False)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        os.mkdir(path, mode)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def unlink_in(self, directory: int, name: str) -> None:
        """Of the directory behind a descriptor, whatever its path leads to meanwhile."""
        os.unlink(name, dir_fd=directory)

    def remove_directory_in(self, directory: int, name: str) -> None:
        os.rmdir(name, dir_fd=directory)

    # --- looking

    def lstat(self, path: str) -> os.stat_result:
        return os.lstat(path)

    def read_link(self, path: str) -> str:
        return os.readlink(path)

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        """Every name in `path` with its lstat; an entry that cannot be stat'ed carries the errno instead."""
        return _entries(path)

    def list_open_directory(self, fd: int) -> list[DirectoryEntry]:
        """The same of the directory behind `fd`."""
        return _entries(fd)

    def statvfs(self, path: str) -> os.statvfs_result:
        return os.statvfs(path)

    def mount_table(self) -> str:
        """The text of /proc/self/mountinfo."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            return table.read()

    def planned_mounts(self) -> str:
        """The text of /etc/fstab, "" where there is none: what ought to be mounted."""
        with contextlib.suppress(FileNotFoundError):
            with open("/etc/fstab", encoding="utf-8", errors="surrogateescape") as table:
                return table.read()
        return ""


def _entries(directory: str | int) -> list[DirectoryEntry]:
    entries = []
    with os.scandir(directory) as listing:
        for entry in listing:
            try:
                entries.append(DirectoryEntry(entry.name, entry.stat(follow_symlinks=False), None))
            except OSError as error:
                entries.append(DirectoryEntry(entry.name, None, error.errno or errno.EIO))
    return entries


@contextlib.contextmanager
def opened(fs: FileSystem, path: str, flags: int, mode: int = 0o666) -> Iterator[int]:
    """A descriptor that is closed on every way out; a failing close is an error only when all else went well."""
    fd = fs.open(path, flags, mode)
    try:
        yield fd
    except BaseException:
        with contextlib.suppress(OSError):
            fs.close(fd)
        raise
    fs.close(fd)


def once_more(call: Callable[[], _T]) -> _T:
    """`call`, and again when a server says that the handle it was given is stale: by path it is found anew (R28)."""
    try:
        return call()
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
    return call()


def is_there(fs: FileSystem, path: str) -> bool:
    """Whether anything, also a dangling link, has this name. Raises OSError when that cannot be told."""
    try:
        fs.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_file(fs: FileSystem, path: str, limit: int) -> bytes:
    """All bytes of a small regular file; OSError(EFBIG) when it holds more than `limit`, ELOOP for a link."""
    with opened(fs, path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        buffer = bytearray(min(fs.fstat(fd).st_size, limit) + 1)
        filled = 0
        while filled <= limit:
            if filled == len(buffer):  # it grew since fstat
                buffer.extend(bytes(len(buffer)))
            count = fs.read_into(fd, memoryview(buffer)[filled:], filled)
            if count == 0:
                return bytes(buffer[:filled])
            filled += count
    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)


def write_all(fs: FileSystem, fd: int, data: memoryview, offset: int) -> None:
    """Writes all of `data` at `offset`, whatever the kernel takes at a time (R2)."""
    done = 0
    while done < len(data):
        count = fs.pwrite(fd, data[done:], offset + done)
        if count <= 0:
            raise OSError(errno.EIO, "write took no bytes")
        done += count
