"""P12: files compressed as a whole, as joblib's can be. Only decompressing could prove where they should end.

What can be seen without: pages that were never stored, or that end the file as zeros. A compressor does write zeros,
for long runs of them, but no stream ends with a page of nothing else.
"""

from __future__ import annotations

from ckptdeck.core.probes.lost_pages import Span, find_lost_pages
from ckptdeck.core.probes.pickle_file import EXTENSIONS
from ckptdeck.core.probes.reading import Reader
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_MAGICS: tuple[tuple[str, bytes], ...] = (
    ("gzip", b"\x1f\x8b\x08"),
    ("bzip2", b"BZh"),
    ("lz4", b"\x04\x22\x4d\x18"),
)
_MAGICS_OF_NAMED: tuple[tuple[str, bytes], ...] = (("lzma", b"\x5d\0\0"),)
"""Too short to be taken for one in a file of another name."""
_ZLIB = 0x78
_ZLIB_CHECK = 31

LATE_MESSAGE = (
    "joblib.load and other readers say that the data are invalid, or end too early, once they come to that place"
)


def looks_compressed(head: bytes, name: str) -> bool:
    """By its magic; zlib and bare LZMA have none to speak of, so by their name besides."""
    return bool(_compressor(head, name))


def probe_compressed(reader: Reader, name: str) -> StructureFinding:
    """Suspect for lost pages, unknown otherwise."""
    kind = _compressor(reader.at(0, 8), name)
    span = Span("the stream", 0, reader.size)
    if lost := find_lost_pages(reader, 0, reader.size, lambda _: span):
        return StructureFinding(Structure.SUSPECT, kind, lost, proof="magic", loader_says=LATE_MESSAGE)
    return StructureFinding(
        Structure.UNKNOWN,
        kind,
        f"compressed ({kind}): whether it is whole cannot be told without decompressing it",
        proof="magic",
    )


def _compressor(head: bytes, name: str) -> str:
    named = name.endswith(EXTENSIONS)
    magics = _MAGICS + _MAGICS_OF_NAMED if named else _MAGICS
    for kind, magic in magics:
        if head.startswith(magic):
            return kind
    zlib = len(head) > 1 and head[0] == _ZLIB and int.from_bytes(head[:2], "big") % _ZLIB_CHECK == 0
    return "zlib" if named and zlib else ""
