"""The wire format of protocol buffers: which fields a message has and where they lie, whatever they mean."""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.core.probes.cursor import Cursor, Misread
from ckptdeck.core.values import dataclass

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTH = {FIXED64: 8, FIXED32: 4}
LARGEST_NUMBER = (1 << 29) - 1


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `value` is its number, or the length of its bytes, which begin at `place`."""

    number: int
    kind: int
    value: int
    place: int


def read_fields(data: bytes, at: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields from `at` up to `end`, which must be where the last one ends. Raises Misread."""
    cursor = Cursor(data, at, end)
    while cursor.left:
        field = read_head(cursor)
        if field.kind == BYTES:
            cursor.take(field.value)
        yield field


def read_head(cursor: Cursor) -> Field:
    """The next field but for the content of its bytes, which the cursor is left before. Raises Misread."""
    start = cursor.at
    tag = cursor.varint()
    number, kind = tag >> 3, tag & 7
    if not 0 < number <= LARGEST_NUMBER or kind not in (VARINT, FIXED64, BYTES, FIXED32):
        raise Misread(f"byte {start:,} holds {tag:#x}, which begins no field")
    value = cursor.number(_WIDTH[kind]) if kind in _WIDTH else cursor.varint()
    return Field(number, kind, value, cursor.at)
