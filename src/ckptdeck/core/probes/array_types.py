"""How many bytes a value of a numpy type takes, from the notation numpy itself writes."""

from __future__ import annotations

import re

from ckptdeck.core.values import dataclass

_SIMPLE = re.compile(r"[<>=|]?(?P<kind>[A-Za-z?])(?P<length>[0-9]{0,18})(?:\[.*\])?", re.ASCII | re.DOTALL)
_BYTES_PER_CHARACTER = 4
_DEEPEST = 32
_MOST_DIMENSIONS = 64
LARGEST_NUMBER = 1 << 63


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Bytes per value; `width` None where the notation is not known. Objects are pickled, whatever their width."""

    width: int | None
    objects: bool = False


def read_type(descr: object, depth: int = 0) -> ArrayType:
    """The type that a header's `descr` is: text, or fields as (name, type) and (name, type, shape)."""
    if isinstance(descr, str):
        return _read_simple(descr)
    if not isinstance(descr, tuple) or depth > _DEEPEST:
        return ArrayType(None)
    width: int | None = 0
    objects = False
    for field in descr:
        if not isinstance(field, tuple) or len(field) not in (2, 3):
            return ArrayType(None)
        part = read_type(field[1], depth + 1)
        count = count_values(field[2]) if len(field) == 3 else 1
        width = None if None in (width, part.width, count) else (width or 0) + (part.width or 0) * (count or 0)
        objects = objects or part.objects
    return ArrayType(width, objects)


def count_values(shape: object) -> int | None:
    """The values an array of this shape has, None for what cannot be a shape."""
    if not isinstance(shape, tuple) or len(shape) > _MOST_DIMENSIONS:
        return None
    values = 1
    for length in shape:
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < LARGEST_NUMBER:
            return None
        values *= length
    return values


def _read_simple(text: str) -> ArrayType:
    match = _SIMPLE.fullmatch(text)
    if match is None:
        return ArrayType(None)
    kind, length = match["kind"], match["length"]
    if kind == "O":
        return ArrayType(8, objects=True)
    if kind == "?" and not length:
        return ArrayType(1)
    if not length:
        return ArrayType(None)
    return ArrayType(int(length) * (_BYTES_PER_CHARACTER if kind == "U" else 1))
