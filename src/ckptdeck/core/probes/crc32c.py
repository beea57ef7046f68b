"""CRC-32C (Castagnoli): the checksum of TensorFlow's and TensorStore's files. zlib has only the other CRC-32.

In pure Python, some 20 MB/s: enough for tables and nodes, not for weights in a quick look.
"""

from __future__ import annotations

import sys
from array import array
from functools import cache

_POLYNOMIAL = 0x82F63B78
_ALL = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
_WORTH_A_WIDE_TABLE = 16 * 1024


def crc32c(data: bytes, crc: int = 0) -> int:
    """The checksum of `data`, or of what had `crc` followed by `data`."""
    crc ^= _ALL
    at = 0
    if len(data) >= _WORTH_A_WIDE_TABLE and sys.byteorder == "little":
        at = len(data) & ~1
        wide = _wide_table()
        for pair in memoryview(data)[:at].cast("H"):
            crc = wide[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    table = _table()
    for byte in memoryview(data)[at:]:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ _ALL


def masked(crc: int) -> int:
    """As TensorFlow stores it, so that a checksum of checksums does not degenerate."""
    return (crc >> 15 | crc << 17 & _ALL) + _MASK_DELTA & _ALL


@cache
def _table() -> array[int]:
    return array("L", map(_shifted, range(256)))


@cache
def _wide_table() -> array[int]:
    """For two bytes a step."""
    narrow = _table()
    once = (narrow[value & 0xFF] ^ value >> 8 for value in range(1 << 16))
    return array("L", (narrow[value & 0xFF] ^ value >> 8 for value in once))


def _shifted(value: int) -> int:
    for _ in range(8):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value
