"""P8: GGUF, version 2 and 3, in either byte order. Metadata and a table of tensors, then their values.

Proves the exact size, unless the last tensor is of a type whose blocks are not known. The filler after the last tensor
may be there or not. Blind to values; no checksum is in the file.
"""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.gguf_tables import Tables, TensorEntry
from ckptdeck.core.probes.gguf_types import BLOCKS
from ckptdeck.core.probes.lost_pages import Span, find_in, find_lost_pages
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "gguf"
MAGIC = b"GGUF"

_VERSION_AT, _TABLES_AT = 4, 8
_VERSIONS = (2, 3)
_SMALLEST_BIG_ENDIAN = 1 << 24

_SIZE_MESSAGE = (
    'gguf says "cannot reshape array of size ..." or "its size must be a divisor of the total size", llama.cpp "data '
    'is not within the file bounds"; some converters say nothing'
)
_TABLE_MESSAGE = 'llama.cpp says "failed to read tensor info" or "invalid offset"'
_SILENT_MESSAGE = "gguf and llama.cpp say nothing and load the zeros"
_SPARE_MESSAGE = "gguf and llama.cpp say nothing and load the right values; {}"


def looks_like_gguf(head: bytes) -> bool:
    """By its magic, or by as much of it as there is."""
    return head.startswith(MAGIC) or (1 < len(head) < len(MAGIC) and MAGIC.startswith(head))


def probe_gguf(reader: Reader) -> StructureFinding:
    """Whether the tables and the size agree, and whether pages look lost. Raises TooLarge."""
    try:
        start, alignment, entries = _read_tables(reader)
        spans = _place(entries, start, alignment)
        begin = max((start + entry.offset for entry in entries), default=start)
        last = _last_of_unknown_type(entries)
        if last is not None:
            return _without_end(reader, last, begin)
        end = max((span.end for span in spans), default=start)
        _check_size(reader.size, start, end, alignment)
        _check_pages(reader, spans, start, end)
    except Damage as damage:
        return damage.finding(FORMAT)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, exactly what its tables need for {counted(len(entries), 'tensor')}; "
        "values not checked",
        expected_size=reader.size,
        proof="exact-size",
    )


def promised_end(reader: Reader) -> int | None:
    """Where the last tensor and its filler end, which may be beyond what is there; None where its type is not known.

    Raises Damage, TooLarge.
    """
    start, alignment, entries = _read_tables(reader)
    spans = _place(entries, start, alignment)
    if _last_of_unknown_type(entries) is not None:
        return None
    return _aligned(max((span.end for span in spans), default=start), alignment)


def tensor_spans(reader: Reader) -> list[Span]:
    """The tensors of known length that have bytes, in the order of their place. Raises Damage, TooLarge."""
    start, alignment, entries = _read_tables(reader)
    return _place(entries, start, alignment)


def _read_tables(reader: Reader) -> tuple[int, int, list[TensorEntry]]:
    """Where the values start, what they are aligned to, and the tensors in the order of the table."""
    raw = reader.at(_VERSION_AT, 4)
    version, order = int.from_bytes(raw, "little"), "<"
    if version >= _SMALLEST_BIG_ENDIAN:
        version, order = int.from_bytes(raw, "big"), ">"
    if len(raw) == 4 and version not in _VERSIONS:
        raise Damage(
            Structure.UNKNOWN if version else Structure.BROKEN,
            f"GGUF of version {version:,}, which is not judged" if version else "its version reads as zeros",
            loader_says="" if version else 'gguf says "file appears to be version 0 which we cannot handle"',
        )
    tables = Tables(reader, _TABLES_AT, order)
    tensors, pairs = tables.large(), tables.large()
    tables.skip_metadata(pairs)
    if not tables.alignment or tables.alignment & (tables.alignment - 1):
        raise _bad_table(f"tensors aligned to {tables.alignment:,} bytes, which is no power of two")
    entries: list[TensorEntry] = []
    names: set[str] = set()
    for number in range(1, tensors + 1):
        entry = tables.tensor(number, tensors)
        if entry.name in names:
            raise _bad_table(f"{entry.name!r} is in the table twice, before byte {tables.position:,}")
        names.add(entry.name)
        entries.append(entry)
    if not entries:
        return tables.position, tables.alignment, entries
    return _aligned(tables.position, tables.alignment), tables.alignment, entries


def _place(entries: list[TensorEntry], start: int, alignment: int) -> list[Span]:
    """The tensors of known length that have bytes, in the order of their place; none may reach into the next."""
    spans: list[Span] = []
    for entry in sorted(entries, key=lambda entry: entry.offset):
        begin = start + entry.offset
        if entry.offset % alignment:
            raise _bad_table(f"{entry.name!r} is to begin at byte {begin:,}, which is not aligned to {alignment:,}")
        if spans and spans[-1].end > begin:
            raise _bad_table(
                f"{entry.name!r} is to begin at byte {begin:,}, {spans[-1].name!r} before it ends at {spans[-1].end:,}"
            )
        length = _length(entry)
        if length:
            spans.append(Span(entry.name, begin, begin + length))
    return spans


def _last_of_unknown_type(entries: list[TensorEntry]) -> TensorEntry | None:
    last = max((entry.offset for entry in entries), default=0)
    return next((entry for entry in entries if entry.offset == last and entry.kind not in BLOCKS), None)


def _length(entry: TensorEntry) -> int | None:
    """Bytes of the values, None where the type is not known."""
    block = BLOCKS.get(entry.kind)
    if block is None:
        return None
    values, width = block
    if entry.row % values:
        raise _bad_table(f"{entry.name!r} has rows of {entry.row:,} values, its type comes in blocks of {values}")
    return entry.values // values * width


def _without_end(reader: Reader, last: TensorEntry, begin: int) -> StructureFinding:
    if reader.size < begin:
        raise Damage(
            Structure.CUT,
            f"cut off at {reader.size:,} bytes: {last.name!r}, its last tensor, begins at byte {begin:,}",
            loader_says=_SIZE_MESSAGE,
        )
    return StructureFinding(
        Structure.UNKNOWN,
        FORMAT,
        f"fits up to byte {begin:,}, where {last.name!r} begins, its last tensor: of type {last.kind:,}, whose length "
        "is not known, so it cannot be told whether it is whole",
        proof="min-size",
    )


def _check_size(size: int, start: int, end: int, alignment: int) -> None:
    filled = _aligned(end, alignment)
    if size < end:
        raise Damage(
            Structure.CUT,
            f"cut off: {size:,} of {end:,} bytes, {end - size:,} missing "
            f"({max(0, size - start) / max(1, end - start):.0%} of the data are there)",
            expected=end,
            loader_says=_SIZE_MESSAGE,
        )
    if end < size < filled:
        raise Damage(
            Structure.SUSPECT,
            f"{counted(filled - size, 'byte')} short within the filler at its end: {size:,} of {filled:,} bytes, the "
            f"last tensor ends at byte {end:,}",
            expected=filled,
            loader_says=_SPARE_MESSAGE.format("what wrote or copied it did not come to its end"),
        )
    if size > filled:
        raise Damage(
            Structure.SUSPECT,
            f"{counted(size - filled, 'byte')} too many: {size:,} bytes, the last tensor and its filler end "
            f"at byte {filled:,}",
            expected=filled,
            loader_says=_SPARE_MESSAGE.format("something else was appended"),
        )


def _check_pages(reader: Reader, spans: list[Span], start: int, end: int) -> None:
    if lost := find_lost_pages(reader, start, end, find_in(spans)):
        raise Damage(Structure.SUSPECT, lost, expected=reader.size, loader_says=_SILENT_MESSAGE)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _bad_table(text: str) -> Damage:
    return Damage(Structure.BROKEN, text, loader_says=_TABLE_MESSAGE)
