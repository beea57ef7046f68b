"""P13: zstd. Frames of blocks, each behind three bytes that say how long it is, so the end can be walked to.

Proves the exact size. Blind to the content.
"""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages
from ckptdeck.core.probes.reading import Damage, Reader, TooLarge, is_zero
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "zstd"
MAGIC = b"\x28\xb5\x2f\xfd"

_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_LONGEST_HEADER = 18
_HAS_CHECKSUM = 0x4
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_RAW, _REPEATED, _RESERVED = 0, 1, 3
_LARGEST_BLOCK = 128 * 1024
_MOST_BLOCKS = 32768
"""One small read each; 4 GiB of content in blocks of the usual size."""
_EMPTY_IN_A_ROW = 8
"""More blocks that hold nothing, and are not the last, than any writer flushes: zeros read as such."""

_CUT_MESSAGE = 'zstd says "Read error (39): premature end" or that the compressed data ended early'
_DAMAGED_MESSAGE = 'zstd says "Data corruption detected" or "unsupported format"'


def looks_like_zstd(head: bytes) -> bool:
    return head.startswith(MAGIC)


def probe_zstd(reader: Reader) -> StructureFinding:
    """Whether its frames fill the file. Raises TooLarge."""
    try:
        frames = Frames(reader)
        frames.walk()
        if frames.place < reader.size:
            raise Damage(
                Structure.SUSPECT,
                f"{counted(reader.size - frames.place, 'byte')} too many: its last frame ends at byte "
                f"{frames.place:,}, the file at {reader.size:,}",
                expected=frames.place,
                loader_says='zstd says "unsupported format", other readers nothing; something else was appended',
            )
        whole = Span("the stream", 0, reader.size)
        if lost := find_lost_pages(reader, 0, reader.size, lambda _: whole):
            raise Damage(Structure.SUSPECT, lost, expected=reader.size, loader_says=_DAMAGED_MESSAGE)
    except Damage as damage:
        return damage.finding(FORMAT)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, exactly what the headers of its {counted(frames.blocks, 'compressed block')} add up "
        "to; values not checked",
        expected_size=reader.size,
        proof="exact-size",
    )


class Frames:
    """Walks from the start; `place` is the next header."""

    def __init__(self, reader: Reader, most_blocks: int = _MOST_BLOCKS) -> None:
        self.reader = reader
        self.place = 0
        self.blocks = 0
        self.frames = 0
        """Those that hold content."""
        self.unchecked = 0
        """Those without a checksum."""
        self._most_blocks = most_blocks

    def walk(self) -> None:
        """Up to the end of the file, or to what is no frame. Raises Damage for a frame that does not end, TooLarge."""
        while self.place < self.reader.size:
            self._count()
            raw = self.reader.at(self.place, _LONGEST_HEADER)
            if raw[:4] == MAGIC:
                self._walk_frame(raw)
            elif len(raw) >= 8 and int.from_bytes(raw[:4], "little") in _SKIPPABLE:
                self._step(8 + int.from_bytes(raw[4:8], "little"))
            else:
                return

    def _walk_frame(self, raw: bytes) -> None:
        if len(raw) < 6:
            raise self._cut()
        descriptor = raw[4]
        self.frames += 1
        self.unchecked += int(not descriptor & _HAS_CHECKSUM)
        single_segment = bool(descriptor & 0x20)
        size_bytes = _SIZE_BYTES[descriptor >> 6] or int(single_segment)
        self._step(5 + int(not single_segment) + _DICTIONARY_BYTES[descriptor & 3] + size_bytes)
        empty = 0
        last = False
        while not last:
            header = self.reader.at(self.place, 3)
            if len(header) < 3:
                raise self._cut()
            self._count()
            last = bool(header[0] & 1)
            kind, length = header[0] >> 1 & 3, int.from_bytes(header, "little") >> 3
            empty = empty + 1 if is_zero(header) else 0
            if kind == _RESERVED or length > _LARGEST_BLOCK or empty > _EMPTY_IN_A_ROW:
                found = "zeros" if empty else f"one of kind {kind} with {length:,} bytes"
                raise Damage(
                    Structure.BROKEN,
                    f"a header of a block should be at byte {self.place:,}; found {found}",
                    loader_says=_DAMAGED_MESSAGE,
                )
            self._step(3 + (1 if kind == _REPEATED else length))
        self._step(4 if descriptor & _HAS_CHECKSUM else 0)

    def _step(self, length: int) -> None:
        if self.place + length > self.reader.size:
            raise self._cut()
        self.place += length

    def _count(self) -> None:
        self.blocks += 1
        if self.blocks > self._most_blocks:
            raise TooLarge

    def _cut(self) -> Damage:
        return Damage(
            Structure.CUT,
            f"cut off at {self.reader.size:,} bytes, in block {self.blocks:,}, before the end of its frame",
            loader_says=_CUT_MESSAGE,
        )
