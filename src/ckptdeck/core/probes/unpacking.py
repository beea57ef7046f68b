"""Streams that prove themselves once they are unpacked to their end: gzip, zlib, bzip2, LZMA and xz.

What comes out is counted and thrown away, a mebibyte at most at a time, so a stream that unpacks to terabytes costs
time, which can be stopped, and never memory.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Protocol

from ckptdeck.core.probes.compressed import LATE_MESSAGE
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.reading import MIB, Damage
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

_MOST_MEMORY = 256 * MIB
"""For the window of an LZMA stream; `xz -9` needs 65 MiB."""
_ERRORS = (zlib.error, lzma.LZMAError, OSError, EOFError)
"""What the decompressors raise for their content; bz2 raises OSError."""
_MEMORY_MESSAGE = "Memory usage limit"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Streams that were unpacked to the end of the last one."""

    content: int
    """Bytes that came out."""
    end: int
    """Offset after the last stream."""
    streams: int
    checksum: str
    """"CRC-32", ..., "" where the streams hold none."""


class _Machine(Protocol):
    """One stream's decompressor, as bz2 and lzma have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Zlib:
    """zlib's decompressor behind the same interface."""

    def __init__(self, window_bits: int) -> None:
        self._machine = zlib.decompressobj(window_bits)
        self._drained = True

    @property
    def eof(self) -> bool:
        return self._machine.eof

    @property
    def needs_input(self) -> bool:
        return self._drained and not self._machine.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._machine.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        content = self._machine.decompress(data or self._machine.unconsumed_tail, max_length)
        self._drained = len(content) < max_length
        return content


@dataclass(frozen=True, slots=True)
class _Kind:
    make: Callable[[], _Machine]
    checksum: str
    """What every stream of this kind holds; of xz each stream says it."""
    begins: bytes
    """What another stream after the first begins with; b"" where only one can be."""
    filler: bool = False
    """Zeros may stand between streams."""


_KINDS = {
    "gzip": _Kind(lambda: _Zlib(16 + zlib.MAX_WBITS), "CRC-32", b"\x1f\x8b"),
    "zlib": _Kind(lambda: _Zlib(zlib.MAX_WBITS), "Adler-32", b""),
    "bzip2": _Kind(bz2.BZ2Decompressor, "CRC-32 of each block", b"BZh"),
    "lzma": _Kind(lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, _MOST_MEMORY), "", b""),
    "xz": _Kind(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY), "", b"\xfd7zXZ\0", filler=True),
}
_CHECKS_OF_XZ = {lzma.CHECK_CRC32: "CRC-32", lzma.CHECK_CRC64: "CRC-64", lzma.CHECK_SHA256: "SHA-256"}


def can_unpack(kind: str) -> bool:
    return kind in _KINDS


def unpack(reader: LongReader, kind: str) -> Unpacked:
    """Unpacks all streams from the start of the file on.

    Raises Damage: CUT when the file ends before a stream does, BROKEN where a checksum or the packing itself does not
    fit, UNKNOWN where unpacking would take too much memory.
    """
    rules, feed = _KINDS[kind], Feed(reader, reader.size)
    content, checksums = 0, list[str]()
    another = True
    while another:
        machine = rules.make()
        content += _drain(reader, machine, feed)
        feed.give_back(machine.unused_data)
        checksums.append(_checksum(machine) or rules.checksum)
        end = feed.place
        another = bool(rules.begins) and feed.begins_with(rules.begins, filler=rules.filler)
    return Unpacked(content, end, len(checksums), checksums[0] if all(checksums) else "")


class Feed:
    """The bytes of the file up to `end`, piece by piece, of which the rest that was not used comes again."""

    def __init__(self, reader: LongReader, end: int) -> None:
        self._pieces = reader.pieces(0, end)
        self._again = b""
        self.place = 0
        """Offset of what is taken next."""

    def take(self) -> bytes:
        """b"" at the end of the file."""
        data = self._again or bytes(next(self._pieces, b""))
        self._again = b""
        self.place += len(data)
        return data

    def give_back(self, data: bytes) -> None:
        self._again = data
        self.place -= len(data)

    def begins_with(self, magic: bytes, *, filler: bool) -> bool:
        """Whether `magic` comes next, after zeros where those may be filler."""
        data = b""
        while len(data) < len(magic) and (more := self.take()):
            data = (data + more).lstrip(b"\0") if filler else data + more
        self.give_back(data)
        return data.startswith(magic)


def _drain(reader: LongReader, machine: _Machine, feed: Feed) -> int:
    """Bytes that came out of one stream, up to its end. Raises Damage."""
    content = 0
    while not machine.eof:
        reader.effort.check()
        data = feed.take() if machine.needs_input else b""
        if machine.needs_input and not data:
            raise Damage(
                Structure.CUT,
                f"cut off at {reader.size:,} bytes: unpacked, they are {content:,} bytes, and the stream goes on",
                loader_says=LATE_MESSAGE,
            )
        try:
            content += len(machine.decompress(data, MIB))
        except _ERRORS as error:
            raise _failed(reader, feed, error) from error
    return content


def _failed(reader: LongReader, feed: Feed, error: Exception) -> Damage:
    if _MEMORY_MESSAGE in str(error):
        return Damage(Structure.UNKNOWN, f"unpacking it takes more than {_MOST_MEMORY:,} bytes of memory; not judged")
    return Damage(
        Structure.BROKEN,
        f"unpacking fails before byte {feed.place:,} of {reader.size:,}: {error}",
        loader_says=LATE_MESSAGE,
    )


def _checksum(machine: _Machine) -> str:
    return _CHECKS_OF_XZ.get(machine.check, "") if isinstance(machine, lzma.LZMADecompressor) else ""
