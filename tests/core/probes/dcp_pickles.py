"""Makes the `.metadata` of torch DCP without torch: the opcodes of its pickle, by hand."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_METADATA = "torch.distributed.checkpoint.metadata"
_FILESYSTEM = "torch.distributed.checkpoint.filesystem"


def dcp_metadata(
    pieces: Mapping[str, tuple[str, int, int]], *, packed: bool = False, listed: tuple[str, ...] = ()
) -> bytes:
    """Of values that are no tensors: (part, offset, length) by name. `listed` ones are said to be, and lie nowhere."""
    places = b"".join(_entry(name, place, packed) for name, place in pieces.items())
    values = b"".join(_text(name) + _made(_METADATA, "BytesStorageMetadata", b"") for name in (*pieces, *listed))
    tables = _text("state_dict_metadata") + _table(values) + _text("storage_data") + _table(places)
    return b"\x80\x04" + _made(_METADATA, "Metadata", tables) + b"."


def _entry(name: str, place: tuple[str, int, int], packed: bool) -> bytes:
    part, offset, length = place
    key = _made(_METADATA, "MetadataIndex", _text("fqn") + _text(name) + _text("offset") + b"N")
    state = _text("relative_path") + _text(part) + _text("offset") + _integer(offset)
    state += _text("length") + _integer(length) + (_text("transform_descriptors") + b"]" if packed else b"")
    return key + _made(_FILESYSTEM, "_StorageInfo", state)


def _made(module: str, name: str, state: bytes) -> bytes:
    return b"c" + f"{module}\n{name}\n".encode() + b")\x81" + _table(state) + b"b"


def _table(pairs: bytes) -> bytes:
    return b"}(" + pairs + b"u"


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogateescape")
    return b"X" + struct.pack("<L", len(encoded)) + encoded


def _integer(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)
