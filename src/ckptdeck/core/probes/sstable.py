"""LevelDB's table of sorted keys, as TensorFlow's `.index` is one: blocks with CRC-32C, found from a footer."""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.core.probes.crc32c import crc32c, masked
from ckptdeck.core.probes.cursor import Cursor, Misread
from ckptdeck.core.probes.lost_pages import zero_tail
from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge
from ckptdeck.core.states import Structure

MAGIC = bytes.fromhex("57fb808b247547db")

_FOOTER = 48
_TRAILER = 5
"""Bytes after a block: how it is compressed, its checksum."""
_PLAIN = 0
_KINDS_OF_COMPRESSION = (1, 2, 3, 4)
_LARGEST_TABLE = 16 * MIB
_LONGEST_KEY = 4096
_MOST_KEYS = 500_000
_LOOK_BACK = 64 * 1024

_CUT_MESSAGE = 'TensorFlow says "not an sstable (bad magic number)": the end of the table is not there'
_DAMAGED_MESSAGE = 'TensorFlow says "DataLossError: Checksum does not match" or "bad block"'


def looks_like_table(reader: Reader) -> bool:
    """Whether a table ends where the file does."""
    return reader.size >= _FOOTER and reader.at(reader.size - len(MAGIC), len(MAGIC)) == MAGIC


def read_table(reader: Reader, name: str) -> list[tuple[bytes, bytes]]:
    """Every (key, value), in the order of the keys. Raises Damage; TooLarge for what a quick look cannot read."""
    if not looks_like_table(reader):
        raise _without_end(reader, name)
    if reader.size > _LARGEST_TABLE:
        raise TooLarge
    try:
        footer = Cursor(reader.at(reader.size - _FOOTER, _FOOTER - len(MAGIC)))
        _read_handle(footer)
        index = _read_block(reader, _read_handle(footer))
        found: list[tuple[bytes, bytes]] = []
        end = 0
        for _, raw in _entries(index):
            handle = _read_handle(Cursor(raw))
            if handle[0] < end:
                raise Misread(f"a block at byte {handle[0]:,} begins before the last one ends, at byte {end:,}")
            end = sum(handle)
            found.extend(_entries(_read_block(reader, handle)))
            if len(found) > _MOST_KEYS:
                raise TooLarge
    except Misread as error:
        raise Damage(Structure.BROKEN, f"{name}: {error}", loader_says=_DAMAGED_MESSAGE) from error
    return found


def _read_handle(cursor: Cursor) -> tuple[int, int]:
    return cursor.varint(), cursor.varint()


def _read_block(reader: Reader, handle: tuple[int, int]) -> bytes:
    place, length = handle
    if place + length + _TRAILER > reader.size - _FOOTER:
        raise Misread(f"a block of {length:,} bytes should be at byte {place:,}, the blocks end before that")
    raw = reader.at(place, length + _TRAILER)
    stored = int.from_bytes(raw[length + 1 :], "little")
    if (found := masked(crc32c(raw[: length + 1]))) != stored:
        raise Misread(
            f"the block of {length:,} bytes at byte {place:,} has checksum {found:08x}, {stored:08x} is stored with it"
        )
    if raw[length] in _KINDS_OF_COMPRESSION:
        raise TooLarge
    if raw[length] != _PLAIN:
        raise Misread(f"the block at byte {place:,} is of the unknown kind {raw[length]}")
    return raw[:length]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys share their beginning with the one before them; the block ends with a list of keys that do not."""
    restarts = int.from_bytes(block[-4:], "little")
    cursor = Cursor(block, 0, len(block) - 4 - 4 * restarts)
    if len(block) < 4 or cursor.end < 0:
        raise Misread(f"a block of {len(block):,} bytes with {restarts:,} keys in full")
    key = b""
    while cursor.left:
        shared, added, length = cursor.varint(), cursor.varint(), cursor.varint()
        if shared > len(key):
            raise Misread(f"a key shares {shared:,} bytes with one of {len(key):,}")
        key = key[:shared] + cursor.take(added)
        if len(key) > _LONGEST_KEY:
            raise TooLarge
        yield key, cursor.take(length)


def _without_end(reader: Reader, name: str) -> Damage:
    """Why the footer is not at the end: bytes after it, zeros over it, or a cut."""
    back = min(reader.size, _LOOK_BACK)
    place = reader.at(reader.size - back, back).rfind(MAGIC)
    if place >= 0:
        extra = back - place - len(MAGIC)
        return Damage(
            Structure.BROKEN,
            f"{name}: {extra:,} bytes too many: its table ends at byte {reader.size - extra:,}, "
            f"the file at {reader.size:,}",
            expected=reader.size - extra,
            loader_says='TensorFlow says "not an sstable (bad magic number)": it looks for the footer at the very end',
        )
    if zero_tail(reader, 0, reader.size) is not None:
        return Damage(
            Structure.BROKEN,
            f"{name}: the last of its {reader.size:,} bytes are zeros, where the footer of the table should be",
            loader_says=_CUT_MESSAGE,
        )
    return Damage(
        Structure.CUT,
        f"{name}: cut off at {reader.size:,} bytes: the footer that ends its table is not there",
        loader_says=_CUT_MESSAGE,
    )
