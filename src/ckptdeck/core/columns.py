"""Rows of equal shape as JSON columns: what is the same in every row is written once. Decoded strictly, in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Types = frozenset[type]
"""Exactly these: a bool is no int."""
COUNT = "count"
_SAME = "same"


def pack_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A document with one list for each name, or one value where all rows agree."""
    packed: dict[str, Any] = {COUNT: len(rows)}
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        first = column[0]
        alike = all(type(value) is type(first) and value == first for value in column)
        packed[name] = {_SAME: first} if alike else list(column)
    return packed


def unpack_columns(document: Any, columns: Mapping[str, Types]) -> dict[str, list[Any]]:
    """Each column with a value for every row, in the order of `columns`. Raises ValueError."""
    count = document.get(COUNT) if isinstance(document, dict) else None
    if type(count) is not int or count < 0:
        raise ValueError("it has no columns")
    return {name: _column(document.get(name), count, types, name) if count else [] for name, types in columns.items()}


def _column(packed: Any, count: int, types: Types, name: str) -> list[Any]:
    values = [packed[_SAME]] if isinstance(packed, dict) and packed.keys() == {_SAME} else packed
    if not isinstance(values, list) or (values is packed and len(values) != count):
        raise ValueError(f"its column {name} is missing or too short")
    if not set(map(type, values)) <= types:
        raise ValueError(f"its column {name} holds something else than it should")
    return values if values is packed else values * count
