"""Reading a whole file once, gently: in bounded memory, at the rate asked for, leaving no pages cached.

A quick look is bounded by bytes (`Reader`); a full read is not, so it can be watched, slowed down and stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from ckptdeck.core.errors import SourceChanged
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.hashing import CHUNK, DROP_WINDOW, drop_pages
from ckptdeck.core.probes.reading import Reader
from ckptdeck.core.progress import Effort, Pacer

_SMALL = 64 * 1024
"""Reads of up to as much are served from the piece at hand: headers lie between the data."""


class LongReader(Reader):
    """A reader without a limit on its bytes, for one pass through the file.

    One piece of the file is held at a time. `tell` hears after each piece how many bytes have been read.
    """

    def __init__(
        self, fs: FileSystem, fd: int, size: int, effort: Effort, *, pacer: Pacer, tell: Callable[[int], None]
    ) -> None:
        super().__init__(fs, fd, size, effort, most=sys.maxsize)
        self._pacer = pacer
        self._tell = tell
        self._buffer = bytearray(min(CHUNK, max(1, size)))
        self._piece_at = 0
        self._piece_length = 0
        self._cached = range(0)
        """What was read and not yet given back."""

    def at(self, offset: int, length: int) -> bytes:
        """Small reads move the piece at hand along, larger ones leave it."""
        length = min(length, self.size - offset)
        if offset < 0 or length <= 0:
            return b""
        if length > _SMALL:
            return super().at(offset, length)
        start = offset - self._piece_at
        if start < 0 or start + length > self._piece_length:
            self._load(offset)
            start = 0
        return bytes(self._buffer[start : start + length])

    def pieces(self, begin: int, end: int) -> Iterator[memoryview]:
        """The bytes from `begin` up to `end`, a mebibyte at most at a time; each piece is gone once the next one comes.

        Raises SourceChanged when the file has become shorter, Cancelled, OSError.
        """
        place, end = begin, min(end, self.size)
        while place < end:
            start = place - self._piece_at
            if not 0 <= start < self._piece_length:
                self._load(place)
                start = 0
            stop = min(self._piece_length, start + end - place)
            yield memoryview(self._buffer)[start:stop]
            place += stop - start

    def apart(self) -> Reader:
        """Another reader of the same file, for small reads out of order; it has no limit either."""
        return Reader(self.fs, self.fd, self.size, self.effort, most=sys.maxsize)

    def close(self) -> None:
        """Gives back the pages that are still cached."""
        drop_pages(self.fs, self.fd)

    def _load(self, offset: int) -> None:
        """Reads the piece that begins at `offset`, which lies inside the file."""
        view = memoryview(self._buffer)[: self.size - offset]
        self._piece_length, filled = 0, 0
        while filled < len(view):
            self.effort.check()
            count = self.fs.read_into(self.fd, view[filled:], offset + filled)
            if count <= 0:
                raise SourceChanged(
                    f"The file became shorter while it was read: {offset + filled:,} of {self.size:,} bytes",
                    next_step="It is looked at again once it holds still",
                )
            filled += count
        self._piece_at, self._piece_length = offset, filled
        self.bytes_read += filled
        self._give_back(offset, offset + filled)
        self._tell(min(self.bytes_read, self.size))
        self._pacer.spend(filled)

    def _give_back(self, begin: int, end: int) -> None:
        """Drops pages behind the pass once they are many, and at once where it jumps."""
        cached = self._cached
        if not cached.start <= begin <= cached.stop + _SMALL:
            self._drop(cached)
            self._cached = range(begin, end)
        elif end - cached.start >= DROP_WINDOW:
            self._drop(range(cached.start, begin))
            self._cached = range(begin, end)
        else:
            self._cached = range(cached.start, end)

    def _drop(self, pages: range) -> None:
        if pages:
            drop_pages(self.fs, self.fd, pages.start, len(pages))


class Section(Reader):
    """A part of a file, from `begin` up to `end`, as if it were a file of its own."""

    def __init__(self, outer: Reader, begin: int, end: int) -> None:
        super().__init__(outer.fs, outer.fd, end - begin, outer.effort)
        self._outer = outer
        self._begin = begin

    def at(self, offset: int, length: int) -> bytes:
        length = min(length, self.size - offset)
        return self._outer.at(self._begin + offset, length) if offset >= 0 and length > 0 else b""
