"""A machine in pretended time with small disks that fill, fail, and come and go."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from tests.monitor.making import StandingClock

BOOKKEEPING = (".json", ".next", ".jsonl", ".toml", "lock")


def tells_nothing(
    _roots: Sequence[str], _wanted: Callable[[str, str], bool], _stop: threading.Event
) -> Iterator[Collection[str]]:
    raise OSError(errno.ENOSPC, "no watches left")


class PretendedKernel(FileSystem):
    """Stamps what is written with the pretended time, as a kernel whose clock that is would, and keeps small disks."""

    def __init__(self, clock: StandingClock) -> None:
        self._clock = clock
        self.capacity: dict[str, int] = {}
        """Bytes of checkpoints that fit below a directory; elsewhere the real disk counts."""
        self.refused = 0
        """Writes that found no room."""
        self.failing: dict[str, int] = {}
        """Beginning of paths → errno of every open for writing there."""
        self.unreadable: set[str] = set()
        """Paths that cannot be opened for reading: EIO."""
        self.written: Callable[[str], object] = lambda _path: None
        """Called with the path after every write."""
        self.changed: Callable[[], None] = lambda: None
        """Called after every change of a name."""

    def _stamp(self, target: int | str) -> None:
        now = int(self._clock.now() * 1e9)
        os.utime(target, ns=(now, now))

    def _named(self, *paths: str) -> None:
        for path in paths:
            self._stamp(os.path.dirname(path))
        self.changed()

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            for beginning, code in self.failing.items():
                if path.startswith(beginning):
                    raise OSError(code, os.strerror(code), path)
        elif path in self.unreadable:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        fd = super().open(path, flags, mode)
        if flags & os.O_CREAT and os.fstat(fd).st_size == 0:
            self._stamp(fd)
            self._stamp(os.path.dirname(path))
        return fd

    def write(self, fd: int, data: memoryview) -> int:
        self._require_room(fd, len(data))
        count = super().write(fd, data)
        self._stamp(fd)
        return count

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        self._require_room(fd, len(data))
        count = super().pwrite(fd, data, offset)
        self._stamp(fd)
        self.written(os.readlink(f"/proc/self/fd/{fd}"))
        return count

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self._named(source, target)

    def rename_no_replace(self, source: str, target: str) -> None:
        super().rename_no_replace(source, target)
        self._named(source, target)

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        self._named(target)

    def unlink(self, path: str) -> None:
        super().unlink(path)
        self._named(path)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        super().make_directory(path, mode)
        self._stamp(path)
        self._named(path)

    def remove_directory(self, path: str) -> None:
        super().remove_directory(path)
        self._named(path)

    def statvfs(self, path: str) -> os.statvfs_result:
        real = super().statvfs(path)
        top = self._disk_of(path)
        if top is None:
            return real
        free = self.capacity[top] - used(Path(top))
        blocks = (self.capacity[top], free, free)
        return os.statvfs_result((1, 1, *blocks, *real[5:]))

    def _disk_of(self, path: str) -> str | None:
        return next((top for top in self.capacity if path == top or path.startswith(top + "/")), None)

    def _require_room(self, fd: int, size: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        top = self._disk_of(path)
        if top is not None and not path.endswith(BOOKKEEPING) and used(Path(top)) + size > self.capacity[top]:
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def used(top: Path) -> int:
    """Bytes of checkpoints below `top`, wherever they lie; bookkeeping is not counted."""
    total = 0
    for directory, _, files in os.walk(top):
        for name in files:
            if not name.endswith(BOOKKEEPING):
                with contextlib.suppress(FileNotFoundError):
                    total += os.lstat(os.path.join(directory, name)).st_size
    return total


@dataclass(slots=True)
class Disks:
    """Where both sides lie, and how the mirror comes and goes."""

    primary: Path
    mirror: Path
    away: Path
    """Where the mirror's content is reached while it is not mounted."""
    unmount: Callable[[], None]
    mount: Callable[[], None]
    mounted: bool = True

    @property
    def mirror_now(self) -> Path:
        return self.mirror if self.mounted else self.away


def directories(base: Path) -> Disks:
    """Plain directories; "not mounted" is an empty one in the mirror's place."""
    primary, mirror, away = base / "disk1" / "run", base / "disk2" / "mirror", base / "disk2" / "away"
    primary.mkdir(parents=True)
    mirror.mkdir(parents=True)

    def unmount() -> None:
        mirror.rename(away)
        mirror.mkdir()

    def mount() -> None:
        mirror.rmdir()
        away.rename(mirror)

    return Disks(primary, mirror, away, unmount, mount)


@contextlib.contextmanager
def volumes(base: Path, size: int) -> Iterator[Disks]:
    """Two real file systems in memory of `size` bytes each; the mirror is really unmounted."""
    first, second, mirror = base / "disk1", base / "disk2", base / "mirror"
    for place in (first, second, mirror):
        place.mkdir()
    try:
        for place in (first, second):
            _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
        (first / "run").mkdir()
        (second / "mirror").mkdir()

        def mount() -> None:
            _run("mount", "--bind", str(second / "mirror"), str(mirror))

        mount()
        yield Disks(first / "run", mirror, second / "mirror", lambda: _run("umount", str(mirror)), mount)
    finally:
        for place in (mirror, first, second):
            subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
