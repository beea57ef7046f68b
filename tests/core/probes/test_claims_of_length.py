"""What bytes claim of their own length is checked before it is believed: cursors, tables, nodes, frames."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import ocdbt_format, sstable, zstd_content
from ckptdeck.core.probes.cursor import Cursor, Ended, Misread
from ckptdeck.core.probes.protobuf import read_fields
from ckptdeck.core.probes.reading import Damage, Reader, TooLarge
from tests.core.probes.looking import memory_file
from tests.core.probes.ocdbt_made import envelope
from tests.core.probes.tables_of_keys import bundle_index, varint

MIB = 1 << 20


def bomb(blocks: int) -> bytes:
    """A frame of blocks that each repeat one byte: 4 bytes for 128 kB."""
    block = (128 * 1024 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    last = (1 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * blocks + last


def test_numbers_of_variable_length() -> None:
    for value in (0, 1, 127, 128, 300, 1 << 32, (1 << 64) - 1):
        assert Cursor(varint(value)).varint() == value
    with pytest.raises(Ended):
        Cursor(b"\x80").varint()
    with pytest.raises(Misread):
        Cursor(b"\x80" * 11).varint()


def test_a_cursor_goes_no_further_than_its_end() -> None:
    cursor = Cursor(b"123456", 1, 4)
    assert (cursor.take(2), cursor.left) == (b"23", 1)
    for count in (2, 1 << 62, -1):
        with pytest.raises(Ended):
            cursor.take(count)


def test_fields_end_where_their_message_does() -> None:
    assert [field.value for field in read_fields(b"\x08\x05\x12\x03abc")] == [5, 3]
    for message in (b"\x12\x04abc", b"\x08", b"\x00", b"\x0b\x0c", b"\x12\xff\xff\xff\xff\x7f"):
        with pytest.raises(Misread):
            list(read_fields(message))


@pytest.mark.skipif(not zstd_content.can_decompress(), reason="nothing decompresses zstd here")
def test_a_frame_cannot_fill_the_memory() -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match="no whole frame"):
        zstd_content.decompress(bomb(4000), MIB)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * MIB
    assert zstd_content.decompress(bomb(2), MIB) == bytes(2 * 128 * 1024 + 1)


@pytest.mark.parametrize("spoilt", [bomb(2)[:-1], bomb(2) + b"x", b"no frame", b""])
def test_what_is_no_whole_frame_is_not_decompressed(spoilt: bytes) -> None:
    if zstd_content.can_decompress():
        with pytest.raises(ValueError, match=r".+"):
            zstd_content.decompress(spoilt, MIB)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0" + varint(1 << 60),
        b"\0\0" + varint(1 << 60),
        b"\0\0" + varint(0),
        b"\0\0" + varint(3) + b"\xff\xff\x03",
        b"\0" + varint(1) + varint(1 << 50) + b"\0",
        b"\0\0\2\0\1\1ba\0\0\0\0",
    ],
)
def test_nodes_that_claim_too_much_are_misread(body: bytes) -> None:
    with pytest.raises((Misread, TooLarge)):
        ocdbt_format.read_keys(body, "")


def test_an_envelope_says_how_long_it_is() -> None:
    whole = envelope(ocdbt_format.KEYS, b"body", packed=False)
    assert ocdbt_format.open_envelope(whole, ocdbt_format.KEYS) == b"body"
    for spoilt in (whole[:-1], whole + b"x", b"", whole[:4], b"\0" * len(whole), whole[:-1] + b"\xff"):
        with pytest.raises(Misread):
            ocdbt_format.open_envelope(spoilt, ocdbt_format.KEYS)
    with pytest.raises(Misread):
        ocdbt_format.open_envelope(whole, ocdbt_format.MANIFEST)


@pytest.mark.parametrize("place", [0, 1, 40, -50, -8, -1])
def test_a_table_with_a_spoilt_byte_is_damaged(place: int) -> None:
    whole = bytearray(bundle_index({f"tensor/{n}": (0, 4 * n, b"1234") for n in range(50)}, 1, 0))
    whole[place] ^= 0x55
    with memory_file(bytes(whole)) as fd, pytest.raises(Damage):
        sstable.read_table(Reader(FileSystem(), fd, len(whole)), "a.index")


def test_a_block_that_lies_beyond_the_table_is_damaged() -> None:
    footer = b"".join(map(varint, (0, 8, 1 << 60, 1 << 60))).ljust(40, b"\0") + sstable.MAGIC
    content = struct.pack("<LL", 0, 1) + bytes(5) + footer
    with memory_file(content) as fd, pytest.raises(Damage):
        sstable.read_table(Reader(FileSystem(), fd, len(content)), "a.index")
