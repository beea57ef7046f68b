"""What our work leaves in the page cache (nothing), and what it may take from there (nothing that others put in)."""

from __future__ import annotations

import contextlib

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.sighting import Volume
from ckptdeck.core.states import Evidence
from ckptdeck.core.volume import in_memory

WINDOW = 8 << 20
"""Bytes after which pages are given back: small enough to stay in few pages, which are used again and again
(performance.md 2.1)."""


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


def leave_nothing(fs: FileSystem, fd: int, volume: Volume) -> None:
    """Gives back all pages of a copy that is durable: nobody reads it soon."""
    if not in_memory(volume):
        drop_pages(fs, fd)


class ReadTrail:
    """Behind the cursor of a reader: the pages it brought in go, window by window."""

    def __init__(self, fs: FileSystem, fd: int, start: int = 0, hot: frozenset[int] = frozenset()) -> None:
        self._fs = fs
        self._fd = fd
        self._hot = hot
        self._dropped = start - start % WINDOW

    def follow(self, done: int) -> None:
        """The reader has come to `done`."""
        while done - self._dropped >= WINDOW:
            if self._dropped not in self._hot:
                drop_pages(self._fs, self._fd, self._dropped, WINDOW)
            self._dropped += WINDOW

    def finish(self) -> None:
        """The reader reads no further."""
        if not self._hot:
            drop_pages(self._fs, self._fd)  # all: the kernel may have read ahead
        elif self._dropped not in self._hot:
            drop_pages(self._fs, self._fd, self._dropped, WINDOW)


def hot_windows(fs: FileSystem, fd: int, size: int) -> frozenset[int]:
    """Starts of the windows of a file of which somebody else keeps pages in memory; all when that cannot be told."""
    starts = range(0, size, WINDOW)
    try:
        return frozenset(start for start in starts if fs.resident_pages(fd, min(WINDOW, size - start), start))
    except OSError:
        return frozenset(starts)


class WriteTrail:
    """Behind the cursor of a writer: what is written leaves the cache once it is on the device.

    An error of the device on the way is kept by the kernel for the fsync at the end of the same descriptor (R5).
    """

    def __init__(self, fs: FileSystem, fd: int, start: int = 0) -> None:
        self._fs = fs
        self._fd = fd
        self._sent = start

    def follow(self, done: int) -> None:
        """The writer has come to `done`."""
        if done - self._sent >= WINDOW:
            # From the start: what was on its way at the last call has arrived by now.
            drop_pages(self._fs, self._fd, 0, done)
            self._sent = done
