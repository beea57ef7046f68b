"""P13: xz. Every stream ends in an index of its blocks and a footer, so its length can be added up without unpacking.

Proves the exact size. Blind to the content, whose checksums only unpacking can compare.
"""

from __future__ import annotations

import struct
import zlib

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages, zero_tail
from ckptdeck.core.probes.reading import MIB, PAGE, Damage, Reader, TooLarge, zeros_at_end
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "xz"
MAGIC = b"\xfd7zXZ\0"

_FOOTER = struct.Struct("<LL2s2s")
_FOOTER_MAGIC = b"YZ"
_HEADER_BYTES = 12
_ALIGNMENT = 4
_LARGEST_INDEX = 16 * MIB
_MOST_STREAMS = 1024
_LONGEST_NUMBER = 9
_SEARCHED_FOR_FOOTER = 64 * 1024

_CUT_MESSAGE = 'lzma and joblib.load say "Compressed file ended before the end-of-stream marker was reached"'
_DAMAGED_MESSAGE = 'lzma and joblib.load say "Corrupt input data"'
_APPENDED_MESSAGE = "lzma says nothing and loads the right values; something else was appended"


def looks_like_xz(head: bytes) -> bool:
    return head.startswith(MAGIC)


def probe_xz(reader: Reader) -> StructureFinding:
    """Whether its streams, from the last back to the first, fill the file. Raises TooLarge."""
    try:
        zeros = _zeros_at_end(reader, reader.size)
        end = _end_of_last_stream(reader, zeros)
        blocks = _check_streams(reader, end)
        whole = Span("the stream", 0, end)
        if lost := find_lost_pages(reader, 0, end, lambda _: whole):
            raise Damage(Structure.SUSPECT, lost, expected=end, loader_says=_DAMAGED_MESSAGE)
        if end + zeros != reader.size or zeros % _ALIGNMENT:
            raise Damage(
                Structure.SUSPECT,
                f"{counted(reader.size - end, 'byte')} too many: its last stream ends at byte {end:,}, the file at "
                f"{reader.size:,}",
                expected=end,
                loader_says=_APPENDED_MESSAGE,
            )
    except Damage as damage:
        return damage.finding(FORMAT)
    padding = f", with {zeros:,} of padding" if zeros else ""
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, exactly what its index of {counted(blocks, 'compressed block')} adds up to{padding}; "
        "values not checked",
        expected_size=reader.size,
        proof="exact-size",
    )


def _end_of_last_stream(reader: Reader, zeros: int) -> int:
    """After the last footer: before the zeros that may follow by right, or further up when something was appended."""
    end = reader.size - zeros
    if _index_bytes(reader, end) is not None:
        return end
    back = min(reader.size, _SEARCHED_FOR_FOOTER)
    tail = reader.at(reader.size - back, back)
    position = tail.rfind(_FOOTER_MAGIC)
    while position >= 0:
        end = reader.size - back + position + len(_FOOTER_MAGIC)
        if _index_bytes(reader, end) is not None:
            return end
        position = tail.rfind(_FOOTER_MAGIC, 0, position)
    if zeros >= PAGE:
        raise Damage(
            Structure.BROKEN,
            f"the footer is gone: the last {zeros:,} of {reader.size:,} bytes read as zeros",
            loader_says=_DAMAGED_MESSAGE,
        )
    raise Damage(
        Structure.CUT,
        f"cut off at {reader.size:,} bytes: the footer that closes it is not there",
        loader_says=_CUT_MESSAGE,
    )


def _check_streams(reader: Reader, end: int) -> int:
    """How many blocks the streams have that end at `end`, one right after the other or with zeros between them."""
    blocks = 0
    for _ in range(_MOST_STREAMS):
        length = _index_bytes(reader, end)
        if length is None:
            raise _misfit(f"a stream should end at byte {end:,}, and no footer is there")
        index_at = end - _HEADER_BYTES - length
        count, packed = _read_index(reader, index_at, length)
        start = index_at - packed - _HEADER_BYTES
        if start < 0 or reader.at(start, len(MAGIC)) != MAGIC:
            raise _misfit(
                f"the index at byte {index_at:,} says that {packed:,} bytes of blocks precede it, and no stream begins "
                f"{_HEADER_BYTES} bytes before those"
            )
        blocks += count
        if start == 0:
            return blocks
        end = start - _zeros_at_end(reader, start)
    raise TooLarge


def _index_bytes(reader: Reader, end: int) -> int | None:
    """The length of the index before the footer that ends at `end`, None when no footer does."""
    raw = reader.at(end - _HEADER_BYTES, _HEADER_BYTES) if end % _ALIGNMENT == 0 else b""
    if len(raw) < _HEADER_BYTES:
        return None
    checksum, length, _, magic = _FOOTER.unpack(raw)
    if magic != _FOOTER_MAGIC or zlib.crc32(raw[4:10]) != checksum:
        return None
    return (int(length) + 1) * _ALIGNMENT


def _read_index(reader: Reader, place: int, length: int) -> tuple[int, int]:
    """(blocks, bytes they take), from the index at `place`."""
    if length > _LARGEST_INDEX:
        raise TooLarge
    raw = reader.at(place, length)
    if len(raw) < length or raw[0] or zlib.crc32(raw[:-4]) != int.from_bytes(raw[-4:], "little"):
        raise _misfit(f"the index of {length:,} bytes at byte {place:,} does not fit its checksum")
    count, position = _number(raw, 1)
    if count > length:
        raise _misfit(f"the index at byte {place:,} cannot hold {count:,} blocks")
    packed = 0
    for _ in range(count):
        bytes_of_block, position = _number(raw, position)
        _, position = _number(raw, position)
        packed += bytes_of_block + -bytes_of_block % _ALIGNMENT
    return count, packed


def _number(raw: bytes, position: int) -> tuple[int, int]:
    """Seven bits in each byte, the lowest first; the last byte has its highest bit clear."""
    value = 0
    for index, byte in enumerate(raw[position : position + _LONGEST_NUMBER]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, position + index + 1
    raise _misfit("a number of its index has no end")


def _zeros_at_end(reader: Reader, end: int) -> int:
    """How many bytes before `end` are zeros."""
    start = zero_tail(reader, 0, end)
    start = end if start is None else start
    before = reader.at(max(0, start - PAGE), min(PAGE, start))
    return end - start + zeros_at_end(before)


def _misfit(text: str) -> Damage:
    return Damage(Structure.BROKEN, text, loader_says=_DAMAGED_MESSAGE)
