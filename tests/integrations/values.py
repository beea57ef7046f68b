"""What a checkpoint holds, flat and as bytes, so that two of any library can be compared to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Values = dict[str, bytes]
"""Dotted path of each leaf → its type, shape and bytes."""


def values_of(state: Any) -> Values:
    """Every leaf of nested mappings and sequences: tensors, arrays, numbers, text and None."""
    found: Values = {}
    _collect("", state, found)
    return found


def _collect(path: str, item: Any, found: Values) -> None:
    if isinstance(item, Mapping):
        for key, value in item.items():
            _collect(f"{path}.{key}" if path else str(key), value, found)
    elif isinstance(item, Sequence) and not isinstance(item, str | bytes):
        for number, value in enumerate(item):
            _collect(f"{path}.{number}" if path else str(number), value, found)
    else:
        found[path] = _bytes_of(item)


def _bytes_of(leaf: Any) -> bytes:
    if leaf is None or isinstance(leaf, str | bytes | bool | int | float):
        return repr(leaf).encode()
    if hasattr(leaf, "detach"):
        leaf = leaf.detach().cpu()
    array = np.asarray(leaf)
    return f"{array.dtype} {array.shape} ".encode() + array.tobytes()
