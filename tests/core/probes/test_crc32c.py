"""CRC-32C by its known values, short and long."""

from __future__ import annotations

import random

from ckptdeck.core.probes.crc32c import crc32c, masked


def test_known_values() -> None:
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert masked(0xE3069283) == 0xC78AB0E5


def test_long_data_come_to_the_same_as_their_pieces() -> None:
    data = random.Random(0).randbytes(50_001)
    assert crc32c(data) == crc32c(data[30_000:], crc32c(data[1000:30_000], crc32c(data[:1000])))
