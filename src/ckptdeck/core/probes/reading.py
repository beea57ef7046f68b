"""How probes read: little, never past the end of the file, never mapped, and never more than a bounded amount.

A length found in a file is a claim. `Reader` turns it into at most as many bytes as the file holds, so that no field
can size a buffer (formats.md F10).
"""

from __future__ import annotations

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

PAGE = 4096
MIB = 1 << 20
MOST_BYTES = 256 * MIB
"""Read by one probe at most; only a file whose own tables are absurdly large comes near."""
_AHEAD = 256


class Damage(Exception):
    """What a parser found wrong: a finding on its way up, never an error of the program."""

    def __init__(self, structure: Structure, text: str, *, expected: int | None = None, loader_says: str = "") -> None:
        self.structure = structure
        self.text = text
        self.expected = expected
        self.loader_says = loader_says
        self.further = 0
        """How many others were found besides, none of them worse."""
        self.judged: frozenset[str] = frozenset()
        """Files of a tree that whoever raises this answers for."""
        super().__init__(text)

    def finding(self, format_name: str, *, loader_says: str | None = None) -> StructureFinding:
        """What the probe of that format answers; `loader_says` in place of what the parser knew."""
        return StructureFinding(
            self.structure,
            format_name,
            self.text,
            expected_size=self.expected,
            proof="none" if self.expected is None else "exact-size",
            loader_says=self.loader_says if loader_says is None else loader_says,
        )


class TooLarge(Exception):
    """The tables of the file are beyond what a quick look may read; says nothing about the file."""


class Reader:
    """Positional reads of one open file of `size` bytes. OSError of the file system passes through."""

    def __init__(
        self, fs: FileSystem, fd: int, size: int, effort: Effort = UNHURRIED, *, most: int = MOST_BYTES
    ) -> None:
        self.fs = fs
        self.fd = fd
        self.size = size
        self.effort = effort
        self.bytes_read = 0
        self._most = most
        self._window = b""
        self._window_at = 0

    def at(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only where the file ends."""
        length = min(length, self.size - offset)
        if offset < 0 or length <= 0:
            return b""
        if self.bytes_read + length > self._most:
            raise TooLarge
        self.effort.check()
        buffer = bytearray(length)
        view = memoryview(buffer)
        filled = 0
        while filled < length:
            count = self.fs.read_into(self.fd, view[filled:], offset + filled)
            if count <= 0:
                break
            filled += count
        self.bytes_read += filled
        return bytes(view[:filled])

    def near(self, offset: int, length: int, ahead: int = _AHEAD) -> bytes:
        """Like `at`, reading a little further, for small things that lie close together."""
        start = offset - self._window_at
        if start < 0 or start + length > len(self._window):
            self._window = self.at(offset, max(length, ahead))
            self._window_at = offset
            start = 0
        return self._window[start : start + length]


class Section(Reader):
    """A part of a file, from `begin` up to `end`, as if it were a file of its own."""

    def __init__(self, outer: Reader, begin: int, end: int) -> None:
        super().__init__(outer.fs, outer.fd, end - begin, outer.effort)
        self._outer = outer
        self._begin = begin

    def at(self, offset: int, length: int) -> bytes:
        length = min(length, self.size - offset)
        return self._outer.at(self._begin + offset, length) if offset >= 0 and length > 0 else b""


def is_zero(data: bytes) -> bool:
    return data.count(0) == len(data)


def zeros_at_end(data: bytes) -> int:
    return len(data) - len(data.rstrip(b"\0"))
