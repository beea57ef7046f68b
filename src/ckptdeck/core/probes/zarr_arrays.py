"""What zarr says of an array, version 2 (`.zarray`) and 3 (`zarr.json`): the grid, and how a chunk is stored."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from ckptdeck.core.probes.cursor import Misread
from ckptdeck.core.values import dataclass

DESCRIPTIONS = (".zarray", "zarr.json")

_TYPE = re.compile(r"[<>|=]?[biufcVSmM](?P<bytes>[0-9]+)(?:\[[a-z]+\])?", re.ASCII)
_NAMED_TYPE = re.compile(r"(?:bool|u?int|b?float|complex|r)(?P<bits>[0-9]*)(?:_[a-z0-9]+)?", re.ASCII)
_MEMBERS_OF_2 = {"chunks", "compressor", "dtype", "fill_value", "filters", "order", "shape", "zarr_format"}
"""TensorStore reads no description without one of these."""
_INT_LIMIT = 1 << 62
_MOST_DIMENSIONS = 64
_CHECKSUM_BYTES = 4
_PLACE_BYTES = 16


class Stored(Enum):
    """What the bytes of a chunk are."""

    PLAIN = "plain"
    ZSTD = "zstd"
    BLOSC = "blosc"
    SHARD = "shard"
    """Chunks in one file, and a table of their places."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Array:
    """One array. `chunk_bytes` are those that a chunk stands for; None where its type is not known here."""

    grid: tuple[int, ...]
    """Chunks in each direction."""
    prefix: str
    separator: str
    stored: Stored
    chunk_bytes: int | None
    inner: int = 0
    """Chunks in a shard."""
    table_at_end: bool = True
    table_checked: bool = False
    """The table of a shard has a checksum."""
    inner_stored: Stored = Stored.OTHER
    """How the chunks in a shard are stored."""

    @property
    def chunks(self) -> int:
        return math.prod(self.grid)

    @property
    def table_bytes(self) -> int:
        return self.inner * _PLACE_BYTES + (_CHECKSUM_BYTES if self.table_checked else 0)

    def names(self) -> Iterator[str]:
        """Of every chunk, relative to the array."""
        for place in itertools.product(*map(range, self.grid)):
            yield self.separator.join([*([self.prefix] if self.prefix else []), *map(str, place)]) or "0"


def read_array(text: bytes) -> Array | None:
    """What a description says; None for a group. Raises Misread."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Misread(f"{len(text):,} bytes that are no JSON ({error})") from None
    if not isinstance(document, dict):
        raise Misread("its JSON describes no array")
    if document.get("zarr_format") == 3:
        return None if document.get("node_type") == "group" else _read_version_3(document)
    return _read_version_2(document)


def _read_version_2(document: dict[str, Any]) -> Array:
    if lacking := sorted(_MEMBERS_OF_2 - document.keys()):
        raise Misread(f"its JSON describes no array: {lacking[0]!r} is missing")
    shape, chunks = _lengths(document, "shape"), _lengths(document, "chunks")
    compressor, separator = document.get("compressor"), document.get("dimension_separator") or "."
    kind = compressor.get("id") if isinstance(compressor, dict) else None
    stored = Stored(kind) if kind in ("zstd", "blosc") else Stored.OTHER
    if compressor is None:
        stored = Stored.PLAIN
    if document.get("filters"):
        stored = Stored.OTHER
    width = _width(document.get("dtype"))
    return Array(_grid(shape, chunks), "", _separator(separator), stored, _bytes(chunks, width))


def _read_version_3(document: dict[str, Any]) -> Array:
    shape = _lengths(document, "shape")
    grid, keys = document.get("chunk_grid"), _configured(document.get("chunk_key_encoding"))
    chunks = _lengths(_configured(grid)[1], "chunk_shape")
    v2 = keys[0] == "v2"
    separator = _separator(keys[1].get("separator", "." if v2 else "/"))
    codecs = document.get("codecs")
    width = _width(document.get("data_type"))
    array = Array(_grid(shape, chunks), "" if v2 else "c", separator, _stored(codecs), _bytes(chunks, width))
    if array.stored is not Stored.SHARD:
        return array
    _, sharding = _configured(codecs[0] if isinstance(codecs, list) else None)
    inner = _grid(chunks, _lengths(sharding, "chunk_shape"))
    table = [_configured(codec)[0] for codec in _list(sharding.get("index_codecs"))]
    return Array(
        array.grid,
        array.prefix,
        array.separator,
        Stored.SHARD if table in (["bytes"], ["bytes", "crc32c"]) else Stored.OTHER,
        None,
        math.prod(inner),
        sharding.get("index_location", "end") == "end",
        table[-1:] == ["crc32c"],
        _stored(sharding.get("codecs")),
    )


def _stored(codecs: object) -> Stored:
    names = [_configured(codec)[0] for codec in _list(codecs) if _configured(codec)[0] != "transpose"]
    match names:
        case ["bytes"]:
            return Stored.PLAIN
        case ["bytes", "zstd"]:
            return Stored.ZSTD
        case ["bytes", "blosc"]:
            return Stored.BLOSC
        case ["sharding_indexed"]:
            return Stored.SHARD
        case _:
            return Stored.OTHER


def _configured(extension: object) -> tuple[str, dict[str, Any]]:
    """Name and configuration of an extension point, as version 3 writes each."""
    if isinstance(extension, str):
        return extension, {}
    if not isinstance(extension, dict) or not isinstance(extension.get("name"), str):
        raise Misread("its JSON describes an array without a grid, keys or codecs")
    configuration = extension.get("configuration", {})
    return extension["name"], configuration if isinstance(configuration, dict) else {}


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Misread("its JSON describes an array without codecs")
    return value


def _lengths(document: dict[str, Any], key: str) -> list[int]:
    lengths = document.get(key)
    if (
        not isinstance(lengths, list)
        or len(lengths) > _MOST_DIMENSIONS
        or not all(
            isinstance(length, int) and not isinstance(length, bool) and 0 <= length < _INT_LIMIT for length in lengths
        )
    ):
        raise Misread(f"its JSON describes an array without {key}")
    return lengths


def _grid(shape: list[int], chunks: list[int]) -> tuple[int, ...]:
    if len(shape) != len(chunks) or not all(chunks):
        raise Misread(f"its JSON describes an array of shape {shape} in chunks of {chunks}")
    return tuple(-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True))


def _separator(separator: object) -> str:
    if separator not in (".", "/"):
        raise Misread("its JSON describes an array with no separator")
    return str(separator)


def _bytes(chunks: list[int], width: int | None) -> int | None:
    return None if width is None else math.prod(chunks) * width


def _width(kind: object) -> int | None:
    """Bytes of a value by the notation of its type, as numpy has it or by name."""
    if not isinstance(kind, str):
        return None
    if match := _TYPE.fullmatch(kind):
        return int(match["bytes"]) if len(match["bytes"]) < 10 else None
    match = _NAMED_TYPE.fullmatch(kind)
    if match is None or len(match["bits"]) > 9:
        return None
    bits = int(match["bits"] or 8)
    return max(1, bits // 8)
