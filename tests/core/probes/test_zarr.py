"""Descriptions and chunks of zarr, in the ways that Orbax and others store them."""

from __future__ import annotations

import json
import struct

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import zarr_chunks, zstd_content
from ckptdeck.core.probes.crc32c import crc32c
from ckptdeck.core.probes.cursor import Misread
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.probes.zarr_arrays import Array, Stored, read_array
from ckptdeck.core.probes.zarr_chunks import Budget, check_chunk
from ckptdeck.core.states import Structure
from tests.core.probes.looking import memory_file
from tests.core.probes.ocdbt_made import frame

V2: dict[str, object] = {
    "chunks": [4, 3],
    "compressor": None,
    "dtype": "<f4",
    "fill_value": None,
    "filters": None,
    "order": "C",
}
V2 |= {"shape": [10, 3], "zarr_format": 2}


def v2(**changes: object) -> Array:
    array = read_array(json.dumps(V2 | changes).encode())
    assert array is not None
    return array


def v3(codecs: list[object], **changes: object) -> Array:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [10, 6],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": codecs,
        "fill_value": 0,
    }
    array = read_array(json.dumps(document | changes).encode())
    assert array is not None
    return array


SHARDED = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [4, 3],
        "codecs": [{"name": "bytes"}, {"name": "zstd"}],
        "index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
    },
}


def look(content: bytes, array: Array) -> Structure:
    with memory_file(content) as fd:
        try:
            check_chunk(Reader(FileSystem(), fd, len(content)), array, Budget())
        except Damage as damage:
            return damage.structure
    return Structure.OK


def test_names_of_chunks() -> None:
    assert list(v2().names()) == ["0.0", "1.0", "2.0"]
    assert list(v2(dimension_separator="/").names()) == ["0/0", "1/0", "2/0"]
    assert list(v2(shape=[], chunks=[]).names()) == ["0"]
    assert list(v2(shape=[0], chunks=[4]).names()) == []
    assert list(v3(["bytes"]).names()) == ["c/0/0", "c/1/0", "c/2/0"]
    assert list(v3(["bytes"], chunk_key_encoding={"name": "v2"}).names()) == ["0.0", "1.0", "2.0"]
    scalar = {"name": "regular", "configuration": {"chunk_shape": []}}
    assert list(v3(["bytes"], shape=[], chunk_grid=scalar).names()) == ["c"]


@pytest.mark.parametrize(
    ("kind", "width"),
    [("<f4", 4), ("|b1", 1), ("bfloat16", 2), ("float8_e4m3fn", 1), ("int4", 1), ("complex64", 8), ("<U7", None)],
)
def test_bytes_of_a_chunk(kind: str, width: int | None) -> None:
    assert v2(dtype=kind).chunk_bytes == (None if width is None else 12 * width)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{}", b"[" * 100_000, *(json.dumps(V2 | {key: "no"}).encode() for key in ("shape", "chunks"))],
)
def test_what_describes_no_array_is_misread(text: bytes) -> None:
    with pytest.raises(Misread):
        read_array(text)


def test_a_group_is_no_array() -> None:
    assert read_array(b'{"zarr_format": 3, "node_type": "group"}') is None


def test_plain_chunks_have_the_size_of_their_values() -> None:
    assert look(bytes(48), v2()) is Structure.OK
    assert look(bytes(47), v2()) is Structure.CUT
    assert look(bytes(49), v2()) is Structure.BROKEN


def test_frames_hold_a_chunk() -> None:
    array = v2(compressor={"id": "zstd", "level": 1})
    assert array.stored is Stored.ZSTD
    whole = frame(bytes(range(48)))
    assert look(whole, array) is Structure.OK
    assert look(whole[:-1], array) is Structure.CUT
    assert look(whole[:5], array) is Structure.CUT
    assert look(whole + b"x", array) is Structure.BROKEN
    assert look(frame(bytes(40)), array) is Structure.BROKEN
    assert look(bytes(60), array) is Structure.BROKEN


def test_what_cannot_be_decompressed_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    array = v2(compressor={"id": "zstd", "level": 1})
    spoilt = b"\x28\xb5\x2f\xfd\x20\x30" + (20 << 3 | 2 << 1 | 1).to_bytes(3, "little") + b"\xff" * 20
    assert look(spoilt, array) is Structure.BROKEN
    monkeypatch.setattr(zstd_content, "_module", lambda name: None)
    assert look(spoilt, array) is Structure.OK


def test_blosc_says_how_long_it_is() -> None:
    array = v2(compressor={"id": "blosc"})
    whole = struct.pack("<4B3L", 2, 1, 1, 4, 48, 48, 20) + b"1234"
    assert look(whole, array) is Structure.OK
    assert look(whole[:-1], array) is Structure.CUT
    assert look(whole[:9], array) is Structure.CUT
    assert look(whole + b"x", array) is Structure.BROKEN
    assert look(struct.pack("<4B3L", 2, 1, 1, 4, 44, 48, 20) + b"1234", array) is Structure.BROKEN
    assert look(bytes(20), array) is Structure.BROKEN


@pytest.mark.parametrize("codecs", [["bytes", "gzip"], ["bytes", "zstd", "crc32c"], ["vlen-utf8"]])
def test_what_is_stored_in_other_ways_is_left_alone(codecs: list[object]) -> None:
    assert look(b"anything", v3(codecs)) is Structure.OK


def test_shards_end_with_a_table_of_their_chunks() -> None:
    array = v3([SHARDED])
    assert (array.stored, array.inner) == (Stored.SHARD, 2)
    first, second = frame(bytes(48)), frame(b"1" * 48)
    whole = shard([(first, 0), (second, len(first))])
    assert look(whole, array) is Structure.OK
    assert look(whole[:-1], array) is Structure.CUT
    assert look(whole[:10], array) is Structure.CUT
    assert look(b"x" + whole, array) is Structure.BROKEN
    assert look(bytes(20) + whole[20:], array) is Structure.BROKEN
    assert look(shard([(first, 0), (second, 10_000)]), array) is Structure.BROKEN
    assert look(first + table([(0, len(first)), (2**64 - 1, 2**64 - 1)]), array) is Structure.OK


def test_a_budget_ends() -> None:
    array = v2(compressor={"id": "zstd", "level": 1})
    budget = Budget(blocks=1)
    with memory_file(frame(bytes(48))) as fd:
        check_chunk(Reader(FileSystem(), fd, len(frame(bytes(48)))), array, budget)
    assert budget.skipped == 1
    assert zarr_chunks.content_size(frame(bytes(300))) == 300


def shard(chunks: list[tuple[bytes, int]]) -> bytes:
    return b"".join(chunk for chunk, _ in chunks) + table([(offset, len(chunk)) for chunk, offset in chunks])


def table(places: list[tuple[int, int]]) -> bytes:
    raw = b"".join(struct.pack("<QQ", offset, length) for offset, length in places)
    return raw + struct.pack("<L", crc32c(raw))
