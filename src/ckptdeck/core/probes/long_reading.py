"""Reading a whole file once, gently: in bounded memory, at the rate asked for, leaving no pages cached.

A quick look is bounded by bytes (`Reader`); a full read is not, so it can be watched, slowed down and stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from ckptdeck.core.errors import SourceChanged
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.page_cache import WINDOW, drop_pages
from ckptdeck.core.probes.reading import Reader
from ckptdeck.core.progress import Effort, Pacer
from ckptdeck.core.turns import BLOCK

_GAP = 64 * 1024
"""What the pass may leave out, headers between the data, without being taken for a jump."""


class LongReader(Reader):
    """A reader without a limit on its bytes. `pieces` is the pass through the file, `at` is for small things beside it.

    `tell` hears after each piece how many bytes the pass has read.
    """

    def __init__(
        self, fs: FileSystem, fd: int, size: int, effort: Effort, *, pacer: Pacer, tell: Callable[[int], None]
    ) -> None:
        super().__init__(fs, fd, size, effort, most=sys.maxsize)
        self._pacer = pacer
        self._tell = tell
        self._passed = 0
        self._buffer = bytearray(min(BLOCK, max(1, size)))
        """The piece at hand."""
        self._piece = range(0)
        """Its place in the file."""
        self._cached = range(0)
        """What was read and not yet given back."""

    def pieces(self, begin: int, end: int) -> Iterator[memoryview]:
        """The bytes from `begin` up to `end`, a mebibyte at most at a time; each piece is gone once the next one comes.

        What the piece at hand still holds is not read again. Raises SourceChanged when the file has become shorter,
        Cancelled, OSError.
        """
        place, end = begin, min(end, self.size)
        while place < end:
            if place not in self._piece:
                self._load(place)
            start, stop = place - self._piece.start, min(end, self._piece.stop) - self._piece.start
            yield memoryview(self._buffer)[start:stop]
            place += stop - start

    def close(self) -> None:
        """Gives back the pages that are still cached."""
        drop_pages(self.fs, self.fd)

    def _load(self, offset: int) -> None:
        """Reads the piece that begins at `offset`, which lies inside the file."""
        view = memoryview(self._buffer)[: self.size - offset]
        self._piece, filled = range(0), 0
        while filled < len(view):
            self.effort.check()
            count = self.fs.read_into(self.fd, view[filled:], offset + filled)
            if count <= 0:
                raise SourceChanged(
                    f"The file became shorter while it was read: {offset + filled:,} of {self.size:,} bytes",
                    next_step="It is looked at again once it holds still",
                )
            filled += count
        self._piece = range(offset, offset + filled)
        self._passed += filled
        self._give_back(offset, offset + filled)
        self._tell(min(self._passed, self.size))
        self._pacer.spend(filled)

    def _give_back(self, begin: int, end: int) -> None:
        """Drops pages behind the pass once they are many, and at once where it jumps."""
        cached = self._cached
        if not cached.start <= begin <= cached.stop + _GAP:
            self._drop(cached)
            self._cached = range(begin, end)
        elif end - cached.start >= WINDOW:
            self._drop(range(cached.start, begin))
            self._cached = range(begin, end)
        else:
            self._cached = range(cached.start, end)

    def _drop(self, pages: range) -> None:
        if pages:
            drop_pages(self.fs, self.fd, pages.start, len(pages))
