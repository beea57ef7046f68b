"""Files that are compressed as a whole, unpacked to their end (P12, P13)."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes import lz4, xz, zstd
from ckptdeck.core.probes.deep_texts import proven, too_many
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.pickle_file import JOBLIB_EXTENSION
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.probes.unpacking import Unpacked, can_unpack, unpack
from ckptdeck.core.probes.zstd_unpacking import unpack_zstd
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_LZ4 = "lz4"
_CHECKSUMS, _EXACT_SIZE = "checksums", "exact-size"
_READ_FOR_EVER = ("zlib", "gzip")
"""What joblib does with bytes after the end of these."""
_FOR_EVER_MESSAGE = (
    "joblib.load says nothing: it reads on for ever and takes memory until it is stopped, so never load it to check"
)


def is_stream(reader: Reader, quick: StructureFinding) -> bool:
    return bool(_kind(reader, quick))


def check_stream(reader: LongReader, quick: StructureFinding, name: str) -> StructureFinding:
    """Raises Damage for a stream that does not unpack to its end, or to other bytes than were packed."""
    kind = _kind(reader, quick)
    if kind == _LZ4:
        return _walk_lz4(reader, quick)
    unpacked = unpack_zstd(reader) if kind == zstd.FORMAT else unpack(reader, kind)
    if unpacked is None:
        return replace(quick, text=f"{quick.text}, as nothing here can decompress {kind}")
    known = replace(quick, format=kind)
    if unpacked.end < reader.size and quick.structure is not Structure.OK:
        if kind == "zlib" or (kind in _READ_FOR_EVER and name.endswith(JOBLIB_EXTENSION)):
            raise _read_for_ever(reader, unpacked)
        proof = _CHECKSUMS if unpacked.checksum else _EXACT_SIZE
        return too_many(known, reader.size, unpacked.end, _what(unpacked), proof)
    if unpacked.checksum:
        return proven(replace(known, expected_size=reader.size), reader.size, _what(unpacked))
    if quick.structure is Structure.SUSPECT:
        return quick
    text = f"{_what(unpacked)}, but holds no checksum: {reader.size:,} bytes read"
    return StructureFinding(Structure.OK, kind, text, expected_size=reader.size, proof=_EXACT_SIZE)


def _kind(reader: Reader, quick: StructureFinding) -> str:
    """By what the quick look called it, or by its start when its tables were too long for a quick look."""
    if can_unpack(quick.format) or quick.format in (_LZ4, zstd.FORMAT):
        return quick.format
    if quick.format:
        return ""
    head = reader.at(0, len(xz.MAGIC))
    return xz.FORMAT if xz.looks_like_xz(head) else zstd.FORMAT if zstd.looks_like_zstd(head) else ""


def _what(unpacked: Unpacked) -> str:
    streams = "" if unpacked.streams == 1 else f" in {unpacked.streams:,} streams"
    agrees = f" as its checksum says ({unpacked.checksum})" if unpacked.checksum else ""
    return f"unpacks to its end{streams}, to {counted(unpacked.content, 'byte')}{agrees}"


def _read_for_ever(reader: Reader, unpacked: Unpacked) -> Damage:
    spare = counted(reader.size - unpacked.end, "byte")
    return Damage(
        Structure.BROKEN,
        f"{spare} too many: its stream ends at byte {unpacked.end:,}, the file at {reader.size:,}; before them it "
        f"{_what(unpacked)}",
        expected=unpacked.end,
        loader_says=_FOR_EVER_MESSAGE,
    )


def _walk_lz4(reader: LongReader, quick: StructureFinding) -> StructureFinding:
    walked = lz4.walk_lz4(reader)
    what = f"its {counted(walked.blocks, 'compressed block')} end at byte {walked.end:,}; their content is not checked"
    if walked.end < reader.size:
        return too_many(quick, reader.size, walked.end, what, _EXACT_SIZE)
    if quick.structure is Structure.SUSPECT:
        return quick
    return StructureFinding(
        Structure.OK,
        quick.format,
        f"{reader.size:,} bytes, and {what}",
        expected_size=reader.size,
        proof=_EXACT_SIZE,
    )
