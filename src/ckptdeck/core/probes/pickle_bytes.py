"""The bytes a pickle walk goes over: read in small windows, payloads stepped over without being read."""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.core.probes.reading import PAGE

Fetch = Callable[[int, int], bytes]
"""Up to so many bytes from an offset; fewer only where the pickle's bytes end."""

_FIRST_WINDOW = 512
_LARGEST_WINDOW = 64 * 1024


class PickleDamage(ValueError):
    """Not a pickle from its first byte to its STOP; the text says where and why."""


class PickleEnds(PickleDamage):
    """The bytes end before the pickle does."""

    def __init__(self, text: str, needed: int) -> None:
        self.needed = needed
        """The offset the bytes reach at the very least, when what they say of themselves is true."""
        super().__init__(text)


class PickleBytes:
    """A place in the bytes from `start` up to, not including, `end`; offsets are those of the file."""

    def __init__(self, fetch: Fetch, start: int, end: int) -> None:
        self.fetch = fetch
        self.end = end
        self.window = b""
        self.at = 0
        """Index of the next byte in the window."""
        self.payloads: list[tuple[int, int]] = []
        """(begin, end) of what was stepped over and holds a page or more."""
        self._window_start = start
        self._next_window = _FIRST_WINDOW

    @property
    def position(self) -> int:
        """Offset of the next byte."""
        return self._window_start + self.at

    def fill(self) -> None:
        """Puts the next byte into the window. Raises PickleEnds where there is none."""
        self._window_start += self.at
        self.at = 0
        self.window = self.fetch(self._window_start, min(self._next_window, self.end - self._window_start))
        self._next_window = min(2 * self._next_window, _LARGEST_WINDOW)
        if not self.window:
            raise PickleEnds(f"it ends at byte {self._window_start:,} without STOP", self._window_start + 1)

    def take(self, count: int) -> bytes:
        """The next `count` bytes; meant for few."""
        start = self.at
        if start + count <= len(self.window):
            self.at = start + count
            return self.window[start : self.at]
        place = self.position
        self.require(count)
        data = self.fetch(place, count)
        if len(data) < count:
            raise PickleEnds(f"byte {place:,} asks for {count:,} bytes, {len(data):,} are left", place + count)
        self._jump(place + count)
        return data

    def skip(self, count: int) -> None:
        """Steps over `count` bytes, unread where they are many."""
        place = self.position
        self.require(count)
        if count >= PAGE:
            self.payloads.append((place, place + count))
        if self.at + count <= len(self.window):
            self.at += count
        else:
            self._jump(place + count)
            self._next_window = _FIRST_WINDOW

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def line(self, longest: int) -> bytes:
        """What stands before the next line end, cut to `longest` bytes; all of it has to be read."""
        start = self.position
        kept = b""
        while True:
            if self.at >= len(self.window):
                self._fill_line(start)
            end = self.window.find(b"\n", self.at)
            stop = len(self.window) if end < 0 else end
            kept += self.window[self.at : min(stop, self.at + longest - len(kept))]
            self.at = stop if end < 0 else end + 1
            if end >= 0:
                return kept

    def _fill_line(self, start: int) -> None:
        try:
            self.fill()
        except PickleEnds as error:
            raise PickleEnds(f"the text at byte {start:,} has no end", error.needed) from error

    def require(self, count: int) -> None:
        """Raises PickleEnds unless `count` bytes are left."""
        place = self.position
        if count > self.end - place:
            raise PickleEnds(f"byte {place:,} asks for {count:,} bytes, {self.end - place:,} are left", place + count)

    def _jump(self, place: int) -> None:
        self._window_start, self.at, self.window = place, 0, b""
