"""A place in bytes that claim what follows them: integers of variable length, pieces of a stated length.

A claim that goes beyond the bytes raises, it never sizes anything.
"""

from __future__ import annotations

_MOST_VARINT_BYTES = 10


class Misread(ValueError):
    """The bytes are not what they should be; the text says where."""


class Ended(Misread):
    """The bytes end before what they promise does."""


class Cursor:
    """Goes through `data` from `at` up to, not including, `end`."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else min(end, len(data))

    @property
    def left(self) -> int:
        return self.end - self.at

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises Ended where they are not."""
        if not 0 <= count <= self.left:
            raise Ended(f"byte {self.at:,} asks for {count:,} bytes, {self.left:,} are left")
        start = self.at
        self.at += count
        return self.data[start : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self, width: int) -> int:
        """Little-endian, `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def varint(self) -> int:
        """Seven bits a byte, the lowest first, at most 64. Raises Misread."""
        start = self.at
        if start < self.end and self.data[start] < 0x80:
            self.at = start + 1
            return self.data[start]
        value = 0
        for position in range(_MOST_VARINT_BYTES):
            byte = self.byte()
            value |= (byte & 0x7F) << 7 * position
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF
        raise Misread(f"byte {start:,} begins a number of more than 64 bits")
