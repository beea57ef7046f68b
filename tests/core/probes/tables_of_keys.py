"""Makes the index of a tensor bundle, as TensorFlow does: two blocks of sorted keys and a footer."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ckptdeck.core.probes.crc32c import crc32c, masked
from ckptdeck.core.probes.sstable import MAGIC

_FLOAT = 1


def bundle_index(places: Mapping[str, tuple[int, int, bytes]], shards: int, kind_of_blocks: int) -> bytes:
    """The index of tensors of floats: (data file, offset, content) by name."""
    rows = [(b"", varint_field(1, shards))]
    for name, (shard, offset, content) in sorted(places.items()):
        value = varint_field(1, _FLOAT) + varint_field(3, shard) + varint_field(4, offset)
        value += varint_field(5, len(content)) + b"\x35" + struct.pack("<L", masked(crc32c(content)))
        rows.append((name.encode(), value))
    table = b""
    handles = []
    for block in (_block(rows), _block([])):
        handles.append((len(table), len(block)))
        table += _closed(block, kind_of_blocks)
    index = _block([(rows[-1][0] + b"~", b"".join(map(varint, handles[0])))])
    handles.append((len(table), len(index)))
    table += _closed(index, 0)
    footer = b"".join(varint(number) for handle in handles[1:] for number in handle)
    return table + footer.ljust(40, b"\0") + MAGIC


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded) + bytes([value])


def varint_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def _block(rows: list[tuple[bytes, bytes]]) -> bytes:
    entries = b"".join(b"\0" + varint(len(key)) + varint(len(value)) + key + value for key, value in rows)
    return entries + struct.pack("<LL", 0, 1)


def _closed(block: bytes, kind: int) -> bytes:
    raw = block + bytes([kind])
    return raw + struct.pack("<L", masked(crc32c(raw)))
