"""What can be said without knowing a format: empty, one byte, nothing but zeros; and which format a file begins as."""

from __future__ import annotations

from ckptdeck.core.probes.lost_head import says_of_zeros
from ckptdeck.core.probes.lost_pages import holes
from ckptdeck.core.probes.reading import MIB, PAGE, Reader, is_zero
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_READ_WHOLE = MIB
_PAGES_LOOKED_AT = 256

_MAGICS = (
    ("npy", b"\x93NUMPY"),
    ("torch-legacy", bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")),
    ("pickle", b"\x80\x02"),
    ("pickle", b"\x80\x03"),
    ("pickle", b"\x80\x04"),
    ("pickle", b"\x80\x05"),
    ("gzip", b"\x1f\x8b\x08"),
    ("bzip2", b"BZh"),
    ("lz4", b"\x04\x22\x4d\x18"),
)
_TAR_MAGIC = b"ustar"
_TAR_MAGIC_AT = 257


def probe_tiny(size: int) -> StructureFinding | None:
    """Empty files and files of one byte: what is left of a save that never got going."""
    if size == 0:
        return StructureFinding(
            Structure.CUT,
            "",
            "empty: 0 bytes",
            loader_says='torch.load says "EOFError: Ran out of input", safetensors "header too small"',
        )
    if size == 1:
        return StructureFinding(
            Structure.CUT,
            "",
            "a single byte",
            loader_says='torch.load says "A load persistent id instruction was encountered", safetensors '
            '"header too small"',
        )
    return None


def probe_zeros(reader: Reader, head: bytes, name: str) -> StructureFinding | None:
    """A file of nothing but zeros, stored or never stored."""
    if not is_zero(head):
        return None
    unstored = holes(reader, 0, reader.size) == [(0, reader.size)]
    if not unstored and not _reads_as_zeros(reader):
        return None
    what = "none were ever stored (one hole)" if unstored else "all looked at read as zeros"
    return StructureFinding(
        Structure.BROKEN,
        "",
        f"{reader.size:,} bytes, {what}",
        loader_says=says_of_zeros(name)
        or 'torch.load says "KeyError: filename \'storages\' not found", safetensors "invalid JSON in header"',
    )


def recognise_format(head: bytes) -> str:
    """The format whose magic a file starts with, "" for none. A magic proves no more than that it was begun."""
    for name, magic in _MAGICS:
        if head.startswith(magic):
            return name
    return "tar" if head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC) else ""


def _reads_as_zeros(reader: Reader) -> bool:
    """The whole of a small file, pages spread evenly over a large one, its last bytes always."""
    if reader.size <= _READ_WHOLE:
        return is_zero(reader.at(0, reader.size))
    last = reader.size - PAGE
    places = (last * index // (_PAGES_LOOKED_AT - 1) for index in range(_PAGES_LOOKED_AT - 1, -1, -1))
    return all(is_zero(reader.at(place, PAGE)) for place in places)
