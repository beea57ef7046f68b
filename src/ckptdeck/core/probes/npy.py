"""P4: one numpy array. A magic, a header that is a Python table, then the values; objects are one pickle instead.

Proves the exact size. Blind to values.
"""

from __future__ import annotations

from ckptdeck.core.probes.array_types import ArrayType, count_values, read_type
from ckptdeck.core.probes.literal import NotALiteral, read_literal
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages
from ckptdeck.core.probes.pickle_bytes import PickleDamage, PickleEnds
from ckptdeck.core.probes.pickle_walk import PickleTooLong, PickleWalk
from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge, is_zero
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "npy"
MAGIC = b"\x93NUMPY"
EXTENSION = ".npy"

_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
"""Of the header's length, by the major version."""
_LONGEST_HEADER = MIB

_HEADER_MESSAGE = 'np.load says "EOF: reading array header" or "Cannot parse header"'
_CUT_MESSAGE = 'np.load says "Failed to read all data for array": the end of the file is not there'
_PICKLE_MESSAGE = 'np.load says "pickle data was truncated" or "invalid load key"'
_SILENT_MESSAGE = "np.load says nothing and loads the zeros"
_APPENDED_MESSAGE = "np.load says nothing and loads the right values; something else was appended"


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """What the header says; offsets are those of the file."""

    start: int
    """Where the values begin."""
    shape: object
    values: int
    type: ArrayType

    @property
    def end(self) -> int | None:
        """Where the values end, None where that cannot be told from the header."""
        if self.type.objects or self.type.width is None:
            return None
        return self.start + self.values * self.type.width


def probe_npy(reader: Reader) -> StructureFinding:
    """Whether header and size agree exactly, and whether pages look lost. Raises TooLarge."""
    try:
        header = read_array_header(reader, 0, reader.size)
        end = end_of_array(reader, header, reader.size)
        if end is None:
            return StructureFinding(Structure.UNKNOWN, FORMAT, "an array of a type whose size is not known")
        _check_size(reader.size, header, end)
        _check_pages(reader, header, end)
    except Damage as damage:
        return damage.finding(FORMAT)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{end:,} bytes, exactly what its header needs for {header.values:,} values; values not checked",
        expected_size=end,
        proof="exact-size",
    )


def value_spans(reader: Reader) -> list[Span]:
    """Where the values are, as one span; nowhere when that cannot be told. Raises Damage, TooLarge."""
    header = read_array_header(reader, 0, reader.size)
    end = end_of_array(reader, header, reader.size)
    return [] if end is None else [Span("the array", header.start, end)]


def read_array_header(reader: Reader, begin: int, end: int) -> ArrayHeader:
    """The header of the array that lies from `begin` up to `end`. Raises Damage, TooLarge."""
    lead = reader.near(begin, len(MAGIC) + 2)
    if not lead.startswith(MAGIC):
        found = "zeros" if is_zero(lead) else "something else"
        raise Damage(Structure.BROKEN, f"an array should begin at byte {begin:,}; found {found}")
    if len(lead) < len(MAGIC) + 2:
        raise _cut_header(begin, end)
    width = _LENGTH_BYTES.get(lead[len(MAGIC)])
    if width is None:
        raise Damage(Structure.UNKNOWN, f"an array of version {lead[len(MAGIC)]}, which is not known")
    text_start = begin + len(lead) + width
    length = int.from_bytes(reader.near(begin + len(lead), width), "little")
    if text_start + length > end:
        raise _cut_header(begin, end)
    if length > _LONGEST_HEADER:
        raise TooLarge
    encoding = "utf-8" if lead[len(MAGIC)] >= 3 else "latin-1"
    return _parse(reader.near(text_start, length).decode(encoding, "replace"), text_start + length)


def end_of_array(reader: Reader, header: ArrayHeader, limit: int) -> int | None:
    """Where an array ends; of objects, where their pickle does. None where it cannot be told. Raises Damage."""
    if not header.type.objects:
        return header.end
    walk = PickleWalk(reader.at, header.start, limit)
    try:
        walk.run(reader.effort)
    except PickleTooLong as error:
        raise TooLarge from error
    except PickleDamage as error:
        structure = Structure.CUT if isinstance(error, PickleEnds) else Structure.BROKEN
        raise Damage(structure, f"its objects cannot be read: {error}", loader_says=_PICKLE_MESSAGE) from error
    return walk.position


def _parse(text: str, start: int) -> ArrayHeader:
    try:
        table = read_literal(text)
    except NotALiteral as error:
        raise _bad_header(f"its header cannot be read: {error}") from error
    match table:
        case {"descr": descr, "fortran_order": bool(), "shape": shape}:
            values = count_values(shape)
        case _:
            raise _bad_header("its header has no type, order and shape")
    if values is None:
        raise _bad_header("its header has an impossible shape")
    return ArrayHeader(start, shape, values, read_type(descr))


def _check_size(size: int, header: ArrayHeader, end: int) -> None:
    if size < end:
        raise Damage(
            Structure.CUT,
            f"cut off: {size:,} of {end:,} bytes, {end - size:,} missing "
            f"({(size - header.start) / (end - header.start):.0%} of the data are there)",
            expected=end,
            loader_says=_CUT_MESSAGE,
        )
    if size > end:
        raise Damage(
            Structure.SUSPECT,
            f"{size - end:,} bytes too many: the array ends at byte {end:,}, the file at {size:,}",
            expected=end,
            loader_says=_APPENDED_MESSAGE,
        )


def _check_pages(reader: Reader, header: ArrayHeader, end: int) -> None:
    span = Span("the array", header.start, end)
    lost = find_lost_pages(reader, 0, end, lambda offset: span if offset >= header.start else None)
    if lost:
        raise Damage(Structure.SUSPECT, lost, expected=end, loader_says=_SILENT_MESSAGE)


def _cut_header(begin: int, end: int) -> Damage:
    return Damage(
        Structure.CUT,
        f"cut off {end - begin:,} bytes after its start, within its header",
        loader_says=_HEADER_MESSAGE,
    )


def _bad_header(text: str) -> Damage:
    return Damage(Structure.BROKEN, text, loader_says=_HEADER_MESSAGE)
