"""One chunk of a zarr array: whether its bytes end where what they hold does, and hold as much as the array says.

No chunk has a checksum. Small ones are decompressed where a decompressor is at hand: what cannot be is proven damaged.
"""

from __future__ import annotations

from dataclasses import dataclass

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.crc32c import crc32c
from ckptdeck.core.probes.lost_pages import zero_tail
from ckptdeck.core.probes.reading import MIB, Damage, Reader, Section, TooLarge, is_zero
from ckptdeck.core.probes.zarr_arrays import Array, Stored
from ckptdeck.core.probes.zstd import MAGIC, Frames
from ckptdeck.core.probes.zstd_content import decompress
from ckptdeck.core.states import Structure

_MOST_BLOCKS = 32768
"""Of all chunks of one tree; each is one small read."""
_MOST_DECOMPRESSED = 8 * MIB
_LARGEST_DECOMPRESSED = MIB
_MOST_CHECKED = 32 * MIB
_BLOSC_HEADER = 16
_PLACE_BYTES = 16
_EMPTY = (1 << 64) - 1
_MOST_INNER_CHUNKS = 65536

_LOADER_SAYS = 'Orbax says "Error reading" or "Error decoding" with the name of the array'
_APPENDED_MESSAGE = 'Orbax says "FAILED_PRECONDITION: ... End of data expected", and loads nothing'


@dataclass(slots=True)
class Budget:
    """How much more may be looked at in one tree."""

    blocks: int = _MOST_BLOCKS
    decompressed: int = _MOST_DECOMPRESSED
    checked: int = _MOST_CHECKED
    """Bytes whose CRC-32C may be computed."""
    skipped: int = 0
    """Chunks that were not looked at to their end for that."""


def check_chunk(reader: Reader, array: Array, budget: Budget) -> None:
    """Raises Damage, with places counted from the start of the chunk. `reader` holds the chunk and nothing else."""
    match array.stored:
        case Stored.PLAIN:
            if array.chunk_bytes is not None:
                _require_size(reader, array.chunk_bytes, "its values")
        case Stored.ZSTD:
            _check_zstd(reader, array.chunk_bytes, budget)
        case Stored.BLOSC:
            _check_blosc(reader, array.chunk_bytes)
        case Stored.SHARD:
            _check_shard(reader, array, budget)
        case Stored.OTHER:
            pass


def content_size(head: bytes) -> int | None:
    """Bytes that a zstd frame says it holds; None where it does not say."""
    if len(head) < 5 or head[:4] != MAGIC:
        return None
    descriptor = head[4]
    single = bool(descriptor & 0x20)
    width = (int(single), 2, 4, 8)[descriptor >> 6]
    place = 5 + int(not single) + (0, 1, 2, 4)[descriptor & 3]
    raw = head[place : place + width]
    if not width or len(raw) < width:
        return None
    return int.from_bytes(raw, "little") + (256 if width == 2 else 0)


def _check_zstd(reader: Reader, expected: int | None, budget: Budget) -> None:
    head = reader.at(0, 18)
    if head[:4] != MAGIC[: len(head)]:
        raise _broken(f"a zstd frame should begin it; found {'zeros' if is_zero(head[:4]) else 'something else'}")
    if len(head) < 6:
        raise _cut(f"cut off at {counted(reader.size, 'byte')}, within the header of its zstd frame")
    size = content_size(head)
    if size is not None and expected is not None and size != expected:
        raise _broken(f"its zstd frame says that it holds {size:,} bytes, a chunk of the array is {expected:,}")
    frames = Frames(reader, budget.blocks)
    try:
        frames.walk()
    except TooLarge:
        budget.blocks = 0
        budget.skipped += 1
        return
    budget.blocks -= frames.blocks
    _require_size(reader, frames.place, "its zstd frame")
    _decompress(reader, expected if size is None else size, budget)


def _decompress(reader: Reader, size: int | None, budget: Budget) -> None:
    """Raises Damage when what should decompress does not; nothing for what is large, or where nothing can."""
    if size is None or max(size, reader.size) > min(_LARGEST_DECOMPRESSED, budget.decompressed):
        return
    budget.decompressed -= max(size, reader.size)
    try:
        content = decompress(reader.at(0, reader.size), size)
    except ValueError as error:
        raise _broken(f"it cannot be decompressed ({error})") from error
    if content is not None and len(content) != size:
        raise _broken(f"it decompresses to {len(content):,} bytes, a chunk of the array is {size:,}")


def _check_blosc(reader: Reader, expected: int | None) -> None:
    head = reader.at(0, _BLOSC_HEADER)
    if len(head) < _BLOSC_HEADER:
        raise _cut(f"cut off at {counted(reader.size, 'byte')}, within its header of {_BLOSC_HEADER}")
    size, stored = int.from_bytes(head[4:8], "little"), int.from_bytes(head[12:], "little")
    if not head[0] or stored < _BLOSC_HEADER:
        raise _broken(f"a blosc header should begin it; found {'zeros' if is_zero(head) else 'something else'}")
    if expected is not None and size != expected:
        raise _broken(f"its header says that it holds {size:,} bytes, a chunk of the array is {expected:,}")
    _require_size(reader, stored, "what its header says")


def _check_shard(reader: Reader, array: Array, budget: Budget) -> None:
    """A shard is its chunks, in any order, and a table of their places at one end."""
    length = array.table_bytes
    if array.inner > _MOST_INNER_CHUNKS or length > budget.checked:
        budget.skipped += 1
        return
    budget.checked -= length
    table = reader.at(reader.size - length if array.table_at_end else 0, length)
    if len(table) < length:
        raise _cut(f"cut off at {counted(reader.size, 'byte')}: its table alone is {length:,}")
    if array.table_checked and crc32c(table[:-4]) != int.from_bytes(table[-4:], "little"):
        raise _without_table(reader, length)
    end = 0 if array.table_at_end else length
    for place in range(0, array.inner * _PLACE_BYTES, _PLACE_BYTES):
        offset, size = (int.from_bytes(table[at : at + 8], "little") for at in (place, place + 8))
        if (offset, size) == (_EMPTY, _EMPTY):
            continue
        if offset + size > reader.size:
            raise _broken(f"its table puts a chunk at bytes {offset:,} to {offset + size:,} of {reader.size:,}")
        if array.inner_stored is Stored.ZSTD:
            _check_inner(Section(reader, offset, offset + size), offset, budget)
        end = max(end, offset + size)
    _require_size(reader, end + (length if array.table_at_end else 0), "its chunks and their table")


def _check_inner(chunk: Reader, offset: int, budget: Budget) -> None:
    try:
        _check_zstd(chunk, None, budget)
    except Damage as damage:
        raise _broken(f"its chunk of {chunk.size:,} bytes at byte {offset:,}: {damage.text}") from damage


def _without_table(reader: Reader, length: int) -> Damage:
    if zero_tail(reader, 0, reader.size) is not None:
        return _broken("its last bytes are zeros, where the table of its chunks should be")
    return _cut(f"cut off, or longer than it was: its last {length:,} bytes are not the table of its chunks")


def _require_size(reader: Reader, expected: int, what: str) -> None:
    if reader.size < expected:
        raise _cut(f"cut off: {reader.size:,} of {expected:,} bytes, {expected - reader.size:,} missing")
    if reader.size > expected:
        raise Damage(
            Structure.BROKEN,
            f"{counted(reader.size - expected, 'byte')} too many: {what} ends after {expected:,}",
            loader_says=_APPENDED_MESSAGE,
        )


def _cut(text: str) -> Damage:
    return Damage(Structure.CUT, text, loader_says=_LOADER_SAYS)


def _broken(text: str) -> Damage:
    return Damage(Structure.BROKEN, text, loader_says=_LOADER_SAYS)
