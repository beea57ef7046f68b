"""The checksum that HDF5 puts behind its metadata: Bob Jenkins' lookup3 in its little-endian form, started with 0."""

from __future__ import annotations

import struct

_MASK = 0xFFFFFFFF
_START = 0xDEADBEEF
_BLOCK = struct.Struct("<3L")
_MIX = (4, 6, 8, 16, 19, 4)
_FINISH = (14, 11, 25, 16, 4, 14, 24)


def lookup3(data: bytes) -> int:
    """32 bits; meant for the tens of bytes of a header, at about a microsecond per byte."""
    a: int
    b: int
    c: int
    a = b = c = (_START + len(data)) & _MASK
    if not data:
        return c
    last = (len(data) - 1) // _BLOCK.size * _BLOCK.size
    for place in range(0, last, _BLOCK.size):
        x, y, z = _BLOCK.unpack_from(data, place)
        a, b, c = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
        for turn in _MIX:
            a, b, c = b, (c + b) & _MASK, ((a - c) & _MASK) ^ _rotated(c, turn)
    x, y, z = _BLOCK.unpack(data[last:].ljust(_BLOCK.size, b"\0"))
    a, b, c = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
    for turn in _FINISH:
        a, b, c = b, ((c ^ b) - _rotated(b, turn)) & _MASK, a
    return b


def _rotated(value: int, turn: int) -> int:
    return (value << turn | value >> 32 - turn) & _MASK
