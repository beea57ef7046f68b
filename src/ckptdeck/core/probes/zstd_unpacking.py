"""zstd unpacked to its end, where a decompressor is at hand; frames hold a checksum when their writer asked for one.

Where the frames end is walked first (zstd.py): a decompressor that runs out of input may not say so.
"""

from __future__ import annotations

import sys

from ckptdeck.core.probes.compressed import LATE_MESSAGE
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.reading import MIB, Damage
from ckptdeck.core.probes.unpacking import Feed, Unpacked
from ckptdeck.core.probes.zstd import Frames
from ckptdeck.core.probes.zstd_content import can_decompress, lengths_of_content
from ckptdeck.core.states import Structure

_NOT_HERE = ("memory", "ictionary")
"""What the library says of frames that need more memory than is allowed, or a dictionary: no word against the file."""


def unpack_zstd(reader: LongReader) -> Unpacked | None:
    """Unpacks all frames from the start of the file on; None where nothing can.

    Raises Damage: CUT and BROKEN where frames, content or a checksum do not fit, UNKNOWN for what cannot be unpacked
    here.
    """
    if not can_decompress():
        return None
    frames = Frames(reader, sys.maxsize)
    frames.walk()
    source = _Source(reader, frames.place)
    content = 0
    try:
        for length in lengths_of_content(source, MIB):
            reader.effort.check()
            content += length
    except ValueError as error:
        if any(word in str(error) for word in _NOT_HERE):
            raise Damage(Structure.UNKNOWN, f"it cannot be unpacked here ({error}); not judged") from error
        raise Damage(
            Structure.BROKEN,
            f"unpacking fails before byte {source.feed.place:,} of {reader.size:,}: {error}",
            loader_says=LATE_MESSAGE,
        ) from error
    return Unpacked(content, frames.place, frames.frames, "" if frames.unchecked else "XXH64")


class _Source:
    """The frames as a decompressor reads them."""

    def __init__(self, reader: LongReader, end: int) -> None:
        self.feed = Feed(reader, end)

    def read(self, size: int = -1, /) -> bytes:
        data = self.feed.take()
        if 0 <= size < len(data):
            self.feed.give_back(data[size:])
            data = data[:size]
        return data
