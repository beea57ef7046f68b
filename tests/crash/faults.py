"""A file system that dies, fails, shortens or lies at the n-th call, and remembers every call it was asked for.

A run without a fault counts the calls; a sweep then repeats the run with one fault at each of them (T7).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ckptdeck.core.filesystem import DirectoryEntry, FileSystem

T = TypeVar("T")

ERRNOS = (
    errno.EIO,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EINVAL,
    errno.EACCES,
    errno.EBUSY,
    errno.ESTALE,
    errno.EROFS,
)

WRITES = frozenset({"write", "pwrite"})
CHANGES = WRITES | {
    "create",
    "truncate",
    "fsync",
    "send",
    "close",
    "set_times",
    "set_mode",
    "rename",
    "rename_no_replace",
    "exchange",
    "link",
    "symlink",
    "unlink",
    "make_directory",
    "remove_directory",
}
"""Calls after which the disk, or what is promised about it, may differ. `create` is `open` with O_CREAT."""

SENDS_NOTHING = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""What a file system says that cannot start sending; it takes nothing from the fsync that follows."""

NAMING = frozenset({"rename", "rename_no_replace", "exchange", "link"})
"""Calls that give something a name it did not have."""

_MEANS_FALSE = {("try_lock", errno.EACCES): False}
_MEANS_NOTHING_KNOWN = frozenset({"open_for_writing_elsewhere"})


class Killed(BaseException):
    """The process is gone. No handler of the code under test may catch it and go on."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call through the seam. `inode` is that of the descriptor, or of the first path before the call."""

    number: int
    name: str
    paths: tuple[str, ...]
    inode: tuple[int, int] | None
    regular: bool
    error: int | None = None

    @property
    def changes(self) -> bool:
        return self.name in CHANGES

    def __str__(self) -> str:
        outcome = f" = {errno.errorcode[self.error]}" if self.error else ""
        return f"#{self.number} {self.name}({', '.join(self.paths)}){outcome}"


@dataclass(frozen=True, slots=True)
class Kill:
    """Death at call `at`: of a write half is done first when `torn`; everything is when `executed`."""

    at: int
    executed: bool = False
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Fail:
    """Call `at` gives `code`; with `lasting`, so does every later call that changes something."""

    at: int
    code: int
    lasting: bool = False
    executed: bool = False
    """The call takes effect and reports the error all the same (a retransmitted rename on NFS, R12)."""


@dataclass(frozen=True, slots=True)
class Short:
    """Write or read `at` takes half of the bytes and says so."""

    at: int


@dataclass(frozen=True, slots=True)
class Lie:
    """Write `at` takes half of the bytes and claims all of them."""

    at: int


Fault = Kill | Fail | Short | Lie
Hook = Callable[[Call], None]


def _ignore(_call: Call) -> None:
    """A hook nobody needs."""


class FaultyFileSystem(FileSystem):
    """The real file system with one fault in it.

    `before` and `after` are called around every call that is really made. `largest_write` bounds what one write
    takes, so that a hook sees a file half written. Calls of several threads are taken one at a time. `real` is what
    lies below, where that is another one.
    """

    def __init__(
        self,
        fault: Fault | None = None,
        *,
        before: Hook = _ignore,
        after: Hook = _ignore,
        largest_write: int | None = None,
        real: FileSystem | None = None,
    ) -> None:
        self.log: list[Call] = []
        self.dead = False
        self._real = real or FileSystem()
        self._fault = fault
        self._before = before
        self._after = after
        self._largest_write = largest_write
        self._open: dict[int, str] = {}
        self._turn = threading.RLock()

    @property
    def fired(self) -> bool:
        """The fault's call was reached."""
        return self._fault is not None and len(self.log) > self._fault.at

    def die(self) -> None:
        """What the kernel does for a dead process: every descriptor is closed, and its locks with it."""
        with self._turn:
            self.dead = True
            for fd in self._open:
                with contextlib.suppress(OSError):
                    self._real.close(fd)
            self._open.clear()

    # --- descriptors

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        def run() -> int:
            fd = self._real.open(path, flags, mode)
            self._open[fd] = path
            return fd

        return self._perform("create" if flags & os.O_CREAT else "open", (path,), None, run)

    def close(self, fd: int) -> None:
        def run() -> None:
            self._open.pop(fd, None)
            self._real.close(fd)

        if self.dead:
            return  # destructors of a dead process do not run; here they must not touch a descriptor used again
        self._perform("close", (self._path(fd),), fd, run)

    def write(self, fd: int, data: memoryview) -> int:
        data = data[: self._largest_write]
        half = data[: len(data) // 2]
        return self._perform(
            "write",
            (self._path(fd),),
            fd,
            lambda: self._real.write(fd, data),
            half=lambda: self._real.write(fd, half),
            claim=len(data),
        )

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        data = data[: self._largest_write]
        half = data[: len(data) // 2]
        return self._perform(
            "pwrite",
            (self._path(fd),),
            fd,
            lambda: self._real.pwrite(fd, data, offset),
            half=lambda: self._real.pwrite(fd, half, offset),
            claim=len(data),
        )

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        half = buffer[: max(1, len(buffer) // 2)]
        return self._perform(
            "read_into",
            (self._path(fd),),
            fd,
            lambda: self._real.read_into(fd, buffer, offset),
            half=lambda: self._real.read_into(fd, half, offset),
        )

    def seek(self, fd: int, offset: int, whence: int) -> int:
        return self._perform("seek", (self._path(fd),), fd, lambda: self._real.seek(fd, offset, whence))

    def truncate(self, fd: int, size: int) -> None:
        self._perform("truncate", (self._path(fd),), fd, lambda: self._real.truncate(fd, size))

    def fsync(self, fd: int) -> None:
        self._perform("fsync", (self._path(fd),), fd, lambda: self._real.fsync(fd))

    def send(self, fd: int, offset: int, length: int) -> None:
        self._perform("send", (self._path(fd),), fd, lambda: self._real.send(fd, offset, length))

    def fstat(self, fd: int) -> os.stat_result:
        return self._perform("fstat", (self._path(fd),), fd, lambda: self._real.fstat(fd))

    def set_times(self, fd: int, atime_ns: int, mtime_ns: int) -> None:
        self._perform("set_times", (self._path(fd),), fd, lambda: self._real.set_times(fd, atime_ns, mtime_ns))

    def set_mode(self, fd: int, mode: int) -> None:
        self._perform("set_mode", (self._path(fd),), fd, lambda: self._real.set_mode(fd, mode))

    def try_lock(self, fd: int) -> bool:
        return self._perform("try_lock", (self._path(fd),), fd, lambda: self._real.try_lock(fd))

    def open_for_writing_elsewhere(self, fd: int) -> bool | None:
        return self._perform(
            "open_for_writing_elsewhere",
            (self._path(fd),),
            fd,
            lambda: self._real.open_for_writing_elsewhere(fd),
        )

    def evict(self, fd: int, offset: int = 0, length: int = 0) -> None:
        self._perform("evict", (self._path(fd),), fd, lambda: self._real.evict(fd, offset, length))

    def next_data(self, fd: int, offset: int) -> int:
        return self._perform("next_data", (self._path(fd),), fd, lambda: self._real.next_data(fd, offset))

    def next_hole(self, fd: int, offset: int) -> int:
        return self._perform("next_hole", (self._path(fd),), fd, lambda: self._real.next_hole(fd, offset))

    def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
        return self._perform(
            "resident_pages", (self._path(fd),), fd, lambda: self._real.resident_pages(fd, size, offset)
        )

    # --- names

    def rename(self, source: str, target: str) -> None:
        self._perform("rename", (source, target), None, lambda: self._real.rename(source, target))

    def rename_no_replace(self, source: str, target: str) -> None:
        self._perform("rename_no_replace", (source, target), None, lambda: self._real.rename_no_replace(source, target))

    def exchange(self, one: str, other: str) -> None:
        self._perform("exchange", (one, other), None, lambda: self._real.exchange(one, other))

    def symlink(self, target: str, path: str) -> None:
        self._perform("symlink", (path,), None, lambda: self._real.symlink(target, path))

    def link(self, source: str, target: str) -> None:
        self._perform("link", (source, target), None, lambda: self._real.link(source, target))

    def unlink(self, path: str) -> None:
        self._perform("unlink", (path,), None, lambda: self._real.unlink(path))

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        self._perform("make_directory", (path,), None, lambda: self._real.make_directory(path, mode))

    def remove_directory(self, path: str) -> None:
        self._perform("remove_directory", (path,), None, lambda: self._real.remove_directory(path))

    def unlink_in(self, directory: int, name: str) -> None:
        path = os.path.join(self._path(directory), name)
        self._perform("unlink", (path,), None, lambda: self._real.unlink_in(directory, name))

    def remove_directory_in(self, directory: int, name: str) -> None:
        path = os.path.join(self._path(directory), name)
        self._perform("remove_directory", (path,), None, lambda: self._real.remove_directory_in(directory, name))

    # --- looking

    def list_open_directory(self, fd: int) -> list[DirectoryEntry]:
        path = self._path(fd)
        return self._perform("list_directory", (path,), None, lambda: self._real.list_open_directory(fd))

    def lstat(self, path: str) -> os.stat_result:
        return self._perform("lstat", (path,), None, lambda: self._real.lstat(path))

    def read_link(self, path: str) -> str:
        return self._perform("read_link", (path,), None, lambda: self._real.read_link(path))

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        return self._perform("list_directory", (path,), None, lambda: self._real.list_directory(path))

    def statvfs(self, path: str) -> os.statvfs_result:
        return self._perform("statvfs", (path,), None, lambda: self._real.statvfs(path))

    def mount_table(self) -> str:
        return self._perform("mount_table", (), None, self._real.mount_table)

    def planned_mounts(self) -> str:
        return self._perform("planned_mounts", (), None, self._real.planned_mounts)

    def lock_table(self) -> str:
        return self._perform("lock_table", (), None, self._real.lock_table)

    # --- the fault

    def _path(self, fd: int) -> str:
        return self._open.get(fd, f"<{fd}>")

    def _perform(
        self,
        name: str,
        paths: tuple[str, ...],
        fd: int | None,
        run: Callable[[], T],
        *,
        half: Callable[[], T] | None = None,
        claim: T | None = None,
    ) -> T:
        with self._turn:
            if self.dead:
                raise Killed
            inode, regular = _inode_of(fd, paths)
            call = Call(len(self.log), name, paths, inode, regular)
            self.log.append(call)
            self._before(call)
            if self.dead:
                raise Killed
            try:
                result = self._faulted(call, run, half, claim)
            except OSError as error:
                self.log[call.number] = Call(call.number, name, paths, inode, regular, error.errno)
                raise
            self._after(call)
            return result

    def _faulted(self, call: Call, run: Callable[[], T], half: Callable[[], T] | None, claim: T | None) -> T:
        fault = self._fault
        match fault:
            case Kill() if call.number == fault.at:
                if fault.executed:
                    run()
                elif fault.torn and half is not None:
                    half()
                self.die()
                raise Killed
            case Fail() if call.number == fault.at or (fault.lasting and call.number > fault.at and call.changes):
                return self._failed(call, fault, run)
            case Short() if call.number == fault.at and half is not None:
                return half()
            case Lie() if call.number == fault.at and half is not None and claim is not None:
                half()
                return claim
        return run()

    def _failed(self, call: Call, fault: Fail, run: Callable[[], T]) -> T:
        if fault.executed or call.name == "close":
            run()  # the kernel lets the descriptor go even when close reports an error (R6)
        if call.name in _MEANS_NOTHING_KNOWN:
            return None  # type: ignore[return-value]  # the seam's own word for "the kernel will not say"
        if (call.name, fault.code) in _MEANS_FALSE:
            return False  # type: ignore[return-value]  # the seam's own word for "somebody holds it"
        raise OSError(fault.code, os.strerror(fault.code), *call.paths[:1])


def record_calls(run: Callable[[FaultyFileSystem], object]) -> list[Call]:
    """The calls of one undisturbed run."""
    fs = FaultyFileSystem()
    run(fs)
    return fs.log


def kills(calls: Sequence[Call]) -> Iterator[Kill]:
    """Death before every call that changes something, in the middle of every write, and after the last call.

    Death after a call is death before the next one, and death before one that only looks is death before the next
    that changes something: nothing on disk lies between them.
    """
    for call in calls:
        if call.changes:
            yield Kill(call.number)
        if call.name in WRITES:
            yield Kill(call.number, torn=True)
    if calls:
        yield Kill(len(calls) - 1, executed=True)


def failures(calls: Sequence[Call], codes: Sequence[int] = ERRNOS) -> Iterator[Fail]:
    """Every errno at every call, and then again with everything that changes the disk failing from there on."""
    for call in calls:
        for code in codes:
            yield Fail(call.number, code)
            if call.changes:
                yield Fail(call.number, code, lasting=True)


def failures_in_turn(calls: Sequence[Call], looking: Sequence[int]) -> Iterator[Fail]:
    """One errno at every call, another at the next one, where every one at each would take too long.

    A call that gives a checkpoint or a file of it a name fails with each. Of others that change something every second
    fails from there on. What looks fails with one of `looking`, once for everything it looks at.
    """
    seen = set()
    for call in calls:
        code = ERRNOS[call.number % len(ERRNOS)]
        if call.name in NAMING and not call.paths[1].endswith((".json", ".next")):
            yield from (Fail(call.number, each) for each in ERRNOS)
            yield Fail(call.number, code, lasting=True)
        elif call.changes:
            yield Fail(call.number, code, lasting=call.number // len(ERRNOS) % 2 == 0)
        elif (call.name, call.paths) not in seen:
            seen.add((call.name, call.paths))
            yield Fail(call.number, looking[call.number % len(looking)])


def fsync_offences(log: Sequence[Call]) -> list[str]:
    """What could not be synced and got a name all the same, alone or in its directory; files synced again (R5).

    The names in a directory are no pages that the kernel forgets: synced again without an error they are durable.
    """
    failed: set[tuple[int, int]] = set()
    lost: set[str] = set()
    offences = []
    for call in log:
        if call.inode in failed and call.regular and call.name in {"fsync", *NAMING}:
            offences.append(f"after a failed fsync of the same file: {call}")
        named = call.paths[:2] if call.name == "exchange" else call.paths[:1]
        if call.name in NAMING and not call.regular:
            below = [path for path in lost for top in named if path == top or path.startswith(f"{top}/")]
            offences += [f"after a failed fsync of {os.path.basename(path)} in it: {call}" for path in below]
        refused = call.name == "fsync" or (call.name == "send" and call.error not in SENDS_NOTHING)
        if refused and call.error is not None:
            if call.regular and call.inode is not None:
                failed.add(call.inode)
            lost.update(call.paths)
        if call.error is None and call.name in ("fsync", "unlink", "remove_directory"):
            lost.difference_update(call.paths)
    return offences


def _inode_of(fd: int | None, paths: tuple[str, ...]) -> tuple[tuple[int, int] | None, bool]:
    try:
        if fd is not None:
            found = os.fstat(fd)
        elif paths:
            found = os.lstat(paths[0])
        else:
            return None, False
    except OSError:
        return None, False
    return (found.st_dev, found.st_ino), stat.S_ISREG(found.st_mode)
