"""lz4 frames, as joblib can write them: blocks behind four bytes that say how long each is, closed by an end mark.

Walking them proves the exact size. The checksums a frame may hold are of a kind the standard library does not have, so
the content stays unproven.
"""

from __future__ import annotations

from ckptdeck.core.probes.compressed import LATE_MESSAGE
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

MAGIC = b"\x04\x22\x4d\x18"

_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_STORED = 0x80000000
_LARGEST_BLOCKS = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_VERSION = 1
_BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM, _DICTIONARY = 0x10, 0x08, 0x04, 0x01


@dataclass(frozen=True, slots=True)
class Walked:
    """Where the frames that begin the file end, and how many blocks they have."""

    end: int
    blocks: int


def walk_lz4(reader: Reader) -> Walked:
    """Raises Damage: CUT where the file ends inside a frame, BROKEN where no block can be."""
    place = blocks = 0
    while place < reader.size:
        raw = reader.at(place, 8)
        if raw[:4] == MAGIC:
            place, count = _walk_frame(reader, place)
            blocks += count
        elif place and len(raw) == 8 and int.from_bytes(raw[:4], "little") in _SKIPPABLE:
            place = _within(reader, place + 8 + int.from_bytes(raw[4:], "little"))
        else:
            break
    return Walked(place, blocks)


def _walk_frame(reader: Reader, place: int) -> tuple[int, int]:
    """(where the frame that begins at `place` ends, how many blocks it has)."""
    raw = reader.at(place, 6)
    if len(raw) < 6:
        raise _cut(reader)
    flags, largest = raw[4], _LARGEST_BLOCKS.get(raw[5] >> 4 & 7)
    if flags >> 6 != _VERSION or largest is None:
        raise Damage(
            Structure.BROKEN, f"no header of an lz4 frame is at byte {place:,}, but its magic", loader_says=LATE_MESSAGE
        )
    place += 7 + 8 * bool(flags & _CONTENT_SIZE) + 4 * bool(flags & _DICTIONARY)
    blocks = 0
    while True:
        raw = reader.at(place, 4)
        if len(raw) < 4:
            raise _cut(reader)
        word = int.from_bytes(raw, "little")
        place += 4
        if word == 0:
            return _within(reader, place + 4 * bool(flags & _CONTENT_CHECKSUM)), blocks
        length = word & ~_STORED
        if length > largest:
            raise Damage(
                Structure.BROKEN,
                f"the length of a block should be at byte {place - 4:,}; found {length:,}, more than {largest:,}",
                loader_says=LATE_MESSAGE,
            )
        blocks += 1
        place = _within(reader, place + length + 4 * bool(flags & _BLOCK_CHECKSUM))


def _within(reader: Reader, place: int) -> int:
    if place > reader.size:
        raise _cut(reader)
    return place


def _cut(reader: Reader) -> Damage:
    return Damage(
        Structure.CUT, f"cut off at {reader.size:,} bytes, before the end of its lz4 frame", loader_says=LATE_MESSAGE
    )
