"""Walks what stands before the values of a GGUF file, window by window: metadata, then one entry per tensor.

Arrays of numbers are stepped over; arrays of texts, a vocabulary and its merges, have to be walked text by text.
"""

from __future__ import annotations

import struct

from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

_WINDOW = 64 * 1024
_MOST_STEPS = 4_000_000
_LONGEST_NAME = 65535
_MOST_DIMENSIONS = 4
_DEEPEST = 8
_LARGEST_TABLES = 128 * MIB
"""Walked, whether or not all of it is read."""
_LARGEST_NUMBER = 1 << 63
DEFAULT_ALIGNMENT = 32

_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_UNSIGNED_32, _TEXT, _ARRAY = 4, 8, 9

_CUT_MESSAGE = 'gguf says "cannot reshape array" or "index 0 is out of bounds", llama.cpp "failed to read"'
_BAD_MESSAGE = 'gguf says "is not a valid GGUFValueType" or another error of its own parser'


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """What the tables say of one tensor; `offset` counts from the start of the values."""

    name: str
    kind: int
    row: int
    """Values along the dimension that blocks go along."""
    values: int
    offset: int


class Tables:
    """Reads on from byte `position`, in the byte order `order` ("<" or ">"). Raises Damage and TooLarge."""

    def __init__(self, reader: Reader, position: int, order: str) -> None:
        self._reader = reader
        self._window = b""
        self._window_at = position
        self._place = 0
        self._steps = 0
        self._small = struct.Struct(order + "L")
        self._large = struct.Struct(order + "Q")
        self.alignment = DEFAULT_ALIGNMENT

    @property
    def position(self) -> int:
        return self._window_at + self._place

    def large(self) -> int:
        return int(self._large.unpack(self._take(8))[0])

    def skip_metadata(self, count: int) -> None:
        """Steps over `count` pairs of key and value, keeping only the alignment."""
        for number in range(1, count + 1):
            key = self._name(f"key {number:,} of {count:,}")
            if not key:
                raise _bad(f"key {number:,} of {count:,} is empty, before byte {self.position:,}")
            kind = self._number()
            if key == "general.alignment" and kind == _UNSIGNED_32:
                self.alignment = self._number()
            else:
                self._skip_value(kind, key, 0)

    def tensor(self, number: int, count: int) -> TensorEntry:
        what = f"tensor {number:,} of {count:,}"
        name = self._name(what)
        dimensions = self._number()
        if dimensions > _MOST_DIMENSIONS:
            raise _bad(f"{what}, {name!r}, has {dimensions:,} dimensions, no more than {_MOST_DIMENSIONS} are possible")
        shape = [self.large() for _ in range(dimensions)]
        kind, offset = self._number(), self.large()
        values = 1
        for length in shape:
            values *= length
        if max(values, offset, *shape) >= _LARGEST_NUMBER:
            raise _bad(f"{what}, {name!r}, has an impossible shape or place")
        return TensorEntry(name, kind, shape[0] if shape else 1, values, offset)

    def _number(self) -> int:
        return int(self._small.unpack(self._take(4))[0])

    def _name(self, what: str) -> str:
        length = self.large()
        if length > _LONGEST_NAME:
            raise _bad(f"the name of {what} would be {length:,} bytes long, at byte {self.position:,}")
        return self._take(length).decode("utf-8", "surrogateescape")

    def _skip_value(self, kind: int, key: str, depth: int) -> None:
        self._step()
        if width := _WIDTHS.get(kind):
            self._place += width
        elif kind == _TEXT:
            self._skip_texts(1)
        elif kind == _ARRAY:
            self._skip_array(key, depth)
        else:
            raise _bad(f"{key!r} is of type {kind:,}, which there is not, before byte {self.position:,}")

    def _skip_array(self, key: str, depth: int) -> None:
        kind, count = self._number(), self.large()
        if width := _WIDTHS.get(kind):
            self._place += count * width
        elif kind == _TEXT:
            self._skip_texts(count)
        elif depth >= _DEEPEST:
            raise TooLarge
        else:
            for _ in range(count):
                self._skip_value(kind, key, depth + 1)

    def _skip_texts(self, count: int) -> None:
        if count * self._large.size > self._reader.size - self.position:
            raise self._cut()
        self._step(count)
        length_at = self._large.unpack_from
        for _ in range(count):
            if self._place + 8 > len(self._window):
                self._load(8)
            self._place += 8 + length_at(self._window, self._place)[0]

    def _take(self, length: int) -> bytes:
        if self._place + length > len(self._window):
            self._load(length)
        data = self._window[self._place : self._place + length]
        self._place += length
        return data

    def _load(self, length: int) -> None:
        """Moves the window to the position, so that `length` bytes from there are in it."""
        position = self.position
        if position + length > self._reader.size:
            raise self._cut()
        if position > _LARGEST_TABLES:
            raise TooLarge
        self._step()
        self._window = self._reader.at(position, max(length, _WINDOW))
        self._window_at, self._place = position, 0
        if len(self._window) < length:  # it became shorter while it was read
            raise self._cut()

    def _step(self, count: int = 1) -> None:
        self._steps += count
        if self._steps > _MOST_STEPS:
            raise TooLarge

    def _cut(self) -> Damage:
        return Damage(
            Structure.CUT,
            f"cut off at {self._reader.size:,} bytes, within its tables, which come before any values",
            loader_says=_CUT_MESSAGE,
        )


def _bad(text: str) -> Damage:
    return Damage(Structure.BROKEN, text, loader_says=_BAD_MESSAGE)
