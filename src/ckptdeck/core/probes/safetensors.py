"""P3: safetensors. An 8-byte length, a JSON header, and one buffer that the header's offsets tile without a gap.

Proves the exact size. Blind to values; since a writer may set the full size first and fill it in later (F2), lost pages
are looked for too.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right

from ckptdeck.core.probes.lost_pages import Span, find_in, find_lost_pages, holes, zero_tail
from ckptdeck.core.probes.reading import MIB, PAGE, Damage, Reader, TooLarge, is_zero, zeros_at_end
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "safetensors"
EXTENSION = ".safetensors"

_LENGTH_BYTES = 8
_LONGEST_HEADER = 100_000_000
"""The format's own limit."""
_LONGEST_HEADER_READ = 32 * MIB
_LARGEST_NUMBER = 1 << 63
_ZERO_TENSORS_BEYOND_CHANCE = 4

_BITS = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}

_SIZE_MESSAGE = (
    'safetensors says "incomplete metadata, file not fully covered" (before 0.8 "MetadataIncompleteBuffer"), '
    "for bytes missing and for bytes too many alike"
)
_HEADER_MESSAGE = 'safetensors says "header too small" or "invalid JSON in header": the start of the file is lost'
_SILENT_MESSAGE = "safetensors says nothing and loads the zeros"


def looks_like_safetensors(head: bytes, name: str) -> bool:
    """By content; by the name alone only for what is too short, or too lost, to show any content."""
    if len(head) > _LENGTH_BYTES and head[_LENGTH_BYTES] == ord("{"):
        return 0 < int.from_bytes(head[:_LENGTH_BYTES], "little") <= _LONGEST_HEADER
    return name.endswith(EXTENSION) and (len(head) <= _LENGTH_BYTES or is_zero(head))


def probe_safetensors(reader: Reader) -> StructureFinding:
    """Whether header and size agree exactly, and whether pages look lost. Raises TooLarge."""
    try:
        spans, start = _parse(reader)
        end = spans[-1].end if spans else start
        _check_size(reader.size, start, end)
        _check_pages(reader, spans, start, end)
    except Damage as damage:
        return damage.finding(FORMAT)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{end:,} bytes, exactly what the {len(spans):,} tensors of its header need; values not checked",
        expected_size=end,
        proof="exact-size",
    )


def promised_end(reader: Reader) -> int:
    """Where the last tensor ends, which may be beyond what is there. Raises Damage, TooLarge."""
    spans, start = _parse(reader)
    return spans[-1].end if spans else start


def tensor_spans(reader: Reader) -> list[Span]:
    """The tensors with bytes, in the order of their place. Raises Damage, TooLarge."""
    return _parse(reader)[0]


def all_tensors(reader: Reader) -> list[Span]:
    """Those without bytes too, in the order of their place. Raises Damage, TooLarge."""
    return _read_header(reader)[0]


def _parse(reader: Reader) -> tuple[list[Span], int]:
    """The tensors with bytes, in the order of their place in the file, and where the buffer starts."""
    spans, start = _read_header(reader)
    return [span for span in spans if span.begin < span.end], start


def _read_header(reader: Reader) -> tuple[list[Span], int]:
    """Every tensor in the order of its place in the file, and where the buffer starts."""
    raw_length = reader.at(0, _LENGTH_BYTES)
    length = int.from_bytes(raw_length, "little")
    if len(raw_length) < _LENGTH_BYTES:
        raise Damage(Structure.CUT, f"cut off at {reader.size:,} bytes, within its header", loader_says=_HEADER_MESSAGE)
    if length == 0:
        raise Damage(
            Structure.BROKEN, "its first bytes are zeros where the header should be", loader_says=_HEADER_MESSAGE
        )
    start = _LENGTH_BYTES + length
    if start > reader.size:
        raise Damage(
            Structure.CUT,
            f"cut off at {reader.size:,} bytes, within its header, which ends at byte {start:,}",
            loader_says=_SIZE_MESSAGE,
        )
    if length > _LONGEST_HEADER_READ:
        raise TooLarge
    try:
        header = json.loads(reader.at(_LENGTH_BYTES, length))
    except (ValueError, RecursionError) as error:
        raise Damage(
            Structure.BROKEN, f"its header of {length:,} bytes is not JSON ({error})", loader_says=_HEADER_MESSAGE
        ) from error
    if not isinstance(header, dict):
        raise Damage(Structure.BROKEN, "its header is not a table of tensors", loader_says=_HEADER_MESSAGE)
    spans = [_span(name, entry, start) for name, entry in header.items() if name != "__metadata__"]
    return _tile(spans, start), start


def _span(name: str, entry: object, start: int) -> Span:
    """The place of one tensor, its type and shape agreeing with its length."""
    match entry:
        case {"dtype": str() as dtype, "shape": list() as shape, "data_offsets": [int() as begin, int() as end]}:
            pass
        case _:
            raise _bad_header(f"the header has no type, shape and place for {name!r}")
    if not 0 <= begin <= end < _LARGEST_NUMBER:
        raise _bad_header(f"{name!r} has the impossible place {begin} to {end}")
    bits = _BITS.get(dtype)
    values = _count(shape)
    if values is None:
        raise _bad_header(f"{name!r} has an impossible shape")
    if bits is not None and values * bits != (end - begin) * 8:
        raise _bad_header(f"{name!r} is {values:,} values of {dtype}, its place has {end - begin:,} bytes")
    return Span(name, start + begin, start + end)


def _count(shape: list[object]) -> int | None:
    values = 1
    for length in shape:
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < _LARGEST_NUMBER:
            return None
        values *= length
        if values >= _LARGEST_NUMBER:
            return None
    return values


def _tile(spans: list[Span], start: int) -> list[Span]:
    spans.sort(key=lambda span: (span.begin, span.end))
    position = start
    for span in spans:
        if span.begin != position:
            raise _bad_header(f"{span.name!r} begins at byte {span.begin:,}, what is before it ends at {position:,}")
        position = span.end
    return spans


def _check_size(size: int, start: int, end: int) -> None:
    if size < end:
        raise Damage(
            Structure.CUT,
            f"cut off: {size:,} of {end:,} bytes, {end - size:,} missing "
            f"({max(0, size - start) / max(1, end - start):.0%} of the data are there)",
            expected=end,
            loader_says=_SIZE_MESSAGE,
        )
    if size > end:
        raise Damage(
            Structure.BROKEN,
            f"{size - end:,} bytes too many: {size:,} bytes, the last tensor ends at byte {end:,}",
            expected=end,
            loader_says=_SIZE_MESSAGE,
        )


def _check_pages(reader: Reader, spans: list[Span], start: int, end: int) -> None:
    lost = find_lost_pages(reader, start, end, find_in(spans)) or _never_filled(reader, spans, start, end)
    if lost:
        raise Damage(Structure.SUSPECT, lost, expected=end, loader_says=_SILENT_MESSAGE)


def _never_filled(reader: Reader, spans: list[Span], start: int, end: int) -> str:
    """A file given its full size first, whose writer ended between two writes: the zeros begin at no page boundary.

    A few tensors of zeros at the end are common. Many are not, when the zeros begin inside yet another tensor, or were
    never even stored.
    """
    tail = zero_tail(reader, start, end)
    if tail is None:
        return ""
    begins = [span.begin for span in spans]
    whole = len(spans) - bisect_left(begins, tail)
    if whole < _ZERO_TENSORS_BEYOND_CHANCE:
        return ""
    before = reader.at(max(start, tail - PAGE), min(PAGE, tail - start))
    inside = begins[bisect_right(begins, tail) - 1] < tail - zeros_at_end(before)
    stored = holes(reader, tail, end) != [(tail, end)]
    if stored and not inside:
        return ""
    return (
        f"the last {end - tail:,} bytes, from byte {tail:,} on, "
        f"{'read as zeros' if stored else 'were never stored (a hole that reads as zeros)'}: "
        f"the last {whole:,} of {len(spans):,} tensors hold nothing else"
    )


def _bad_header(text: str) -> Damage:
    return Damage(Structure.BROKEN, text, loader_says='safetensors says "invalid header" or "InvalidOffset"')
