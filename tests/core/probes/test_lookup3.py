from __future__ import annotations

import struct

import pytest

from ckptdeck.core.probes.lookup3 import lookup3
from tests.core.probes.looking import FIXTURES


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0xDEADBEEF), (b"Four score and seven years ago", 0x17770551)],
)
def test_the_values_its_author_gives(data: bytes, expected: int) -> None:
    assert lookup3(data) == expected


def test_the_superblock_of_a_real_file() -> None:
    superblock = (FIXTURES / "one_save" / "hdf5_v3" / "weights.h5").read_bytes()[:48]
    assert lookup3(superblock[:44]) == struct.unpack("<L", superblock[44:])[0]
