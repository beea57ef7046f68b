"""Compressed files, unpacked to their end: proven, refuted, and never at the cost of memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import zstandard

from ckptdeck.core.errors import Cancelled
from ckptdeck.core.probes import zstd_content
from ckptdeck.core.progress import CancelToken, Effort, Progress
from ckptdeck.core.states import Structure
from tests.core.probes.deep_looking import deep_bytes
from tests.core.probes.test_compressed_streams import SKIPPABLE, block

VALUES = random.Random(5).randbytes(3_000_000) + bytes(2_000_000)
SOME = VALUES[:200_000]


def zstd_of(content: bytes, *, checksum: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(content)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, 1),
    "zlib": lambda content: zlib.compress(content, 1),
    "bzip2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "zstd": zstd_of,
}
NAME = "model.joblib"


@pytest.fixture(scope="module")
def packed() -> dict[str, bytes]:
    return {kind: pack(VALUES) for kind, pack in PACKERS.items()}


@pytest.mark.parametrize("kind", PACKERS)
def test_a_whole_stream_is_proven(packed: dict[str, bytes], kind: str) -> None:
    finding = deep_bytes(packed[kind], NAME)
    assert (finding.structure, finding.format, finding.proof) == (Structure.OK, kind, "checksums"), finding
    assert f"to {len(VALUES):,} bytes" in finding.text
    assert finding.expected_size == len(packed[kind])


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_a_flipped_bit_is_found(kind: str, share: float) -> None:
    mutant = bytearray(PACKERS[kind](SOME))
    mutant[int(len(mutant) * share)] ^= 4
    finding = deep_bytes(bytes(mutant), NAME)
    assert finding.structure in (Structure.BROKEN, Structure.CUT), finding
    assert finding.loader_says


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("missing", [1, 4, 5_000, 150_000])
def test_a_cut_is_found(kind: str, missing: int) -> None:
    assert deep_bytes(PACKERS[kind](SOME)[:-missing], NAME).structure is Structure.CUT


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd"])
@pytest.mark.parametrize("name", [NAME, "state.tar"])
def test_several_streams_are_one_content(kind: str, name: str) -> None:
    pack = PACKERS[kind]
    finding = deep_bytes(pack(SOME) + pack(b"more"), name)
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding
    assert "in 2 streams, to 200,004 bytes" in finding.text


@pytest.mark.parametrize("extra", [b"x", b"sixteen bytes ..", bytes(4097)])
@pytest.mark.parametrize("kind", PACKERS)
def test_bytes_after_the_end_are_told_of(kind: str, extra: bytes) -> None:
    content = PACKERS[kind](SOME)
    finding = deep_bytes(content + extra, NAME)
    worst = Structure.BROKEN if kind in ("gzip", "zlib") else Structure.SUSPECT
    assert (finding.structure, finding.expected_size) == (worst, len(content)), finding
    assert "too many" in finding.text
    assert finding.loader_says


def test_padding_of_xz_is_no_fault() -> None:
    for padding in (4, 8192, 2_000_000):
        finding = deep_bytes(lzma.compress(SOME) + bytes(padding), NAME)
        assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding


def test_bytes_after_gzip_hang_joblib_only() -> None:
    assert deep_bytes(gzip.compress(SOME) + b"more", "state.gz").structure is Structure.SUSPECT


@pytest.mark.parametrize(
    "content",
    [
        lzma.compress(SOME, check=lzma.CHECK_NONE),
        lzma.compress(SOME, lzma.FORMAT_ALONE),
        zstd_of(SOME, checksum=False),
        zstd_of(SOME) + zstd_of(SOME, checksum=False),
    ],
    ids=["xz", "lzma", "zstd", "zstd, one of two"],
)
def test_streams_without_a_checksum_are_not_called_proven(content: bytes) -> None:
    finding = deep_bytes(content, NAME)
    assert (finding.structure, finding.proof) == (Structure.OK, "exact-size"), finding
    assert "holds no checksum" in finding.text


def test_zstd_without_a_decompressor_is_no_more_than_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd_content, "_module", lambda name: None)
    finding = deep_bytes(zstd_of(SOME), NAME)
    assert (finding.structure, finding.proof) == (Structure.OK, "exact-size")
    assert "nothing here can decompress" in finding.text


def test_frames_to_skip_are_skipped() -> None:
    finding = deep_bytes(zstd_of(SOME) + SKIPPABLE + zstd_of(b"more") + SKIPPABLE, NAME)
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding


def test_tables_too_long_for_a_quick_look_are_read() -> None:
    header = b"\x28\xb5\x2f\xfd" + bytes([0, 0])
    content = header + block(b"x") * 40_000 + block(b"", last=True)
    finding = deep_bytes(content, "model.zst")
    assert (finding.structure, finding.format) == (Structure.OK, "zstd")
    assert "40,000 bytes" in finding.text


def test_what_cannot_be_unpacked_here_is_no_fault() -> None:
    trained = zstandard.train_dictionary(2_000, [VALUES[n : n + 200] * 3 for n in range(0, 40_000, 200)])
    finding = deep_bytes(zstandard.ZstdCompressor(dict_data=trained).compress(SOME), NAME)
    assert finding.structure is Structure.OK
    assert "cannot be unpacked here" in finding.text
    wide = zstandard.ZstdCompressionParameters(window_log=28)
    machine = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    finding = deep_bytes(machine.compress(SOME) + machine.flush(), NAME)
    assert finding.structure is Structure.OK
    assert "cannot be unpacked here" in finding.text


# --- lz4


def lz4_frame(*, flags: int = 0x60, blocks: int = 3) -> bytes:
    header = b"\x04\x22\x4d\x18" + bytes([flags, 0x40])
    header += (200_000).to_bytes(8, "little") if flags & 0x08 else b""
    check = b"sum." if flags & 0x10 else b""
    body = b"".join((50_000 | 0x80000000).to_bytes(4, "little") + VALUES[:50_000] + check for _ in range(blocks))
    return header + b"h" + body + bytes(4) + (b"sum." if flags & 0x04 else b"")


@pytest.mark.parametrize("flags", [0x60, 0x64, 0x7C])
def test_the_blocks_of_lz4_are_walked(flags: int) -> None:
    content = lz4_frame(flags=flags) + lz4_frame()
    finding = deep_bytes(content, NAME)
    assert (finding.structure, finding.format, finding.proof) == (Structure.OK, "lz4", "exact-size"), finding
    assert "its 6 compressed blocks" in finding.text
    assert "content is not checked" in finding.text
    for missing in (1, 4, 60_000):
        assert deep_bytes(content[:-missing], NAME).structure is Structure.CUT
    assert deep_bytes(content + b"more", NAME).structure is Structure.SUSPECT


def test_a_length_that_no_block_has_is_proven() -> None:
    content = lz4_frame()
    assert deep_bytes(content[:7] + b"\xff\xff\xff\x7f" + content[11:], NAME).structure is Structure.BROKEN


# --- bounds


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, 9),
    "zlib": lambda content: zlib.compress(content, 9),
    "bzip2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=1),
    "zstd": zstd_of,
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_costs_no_memory(kind: str) -> None:
    content = BOMBS[kind](bytes(50_000_000))
    tracemalloc.start()
    try:
        finding = deep_bytes(content, NAME)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding
    assert peak < 16_000_000


def test_a_bomb_can_be_stopped() -> None:
    content = gzip.compress(bytes(50_000_000), 9)
    token = CancelToken()

    def stop(progress: Progress) -> None:
        token.cancel()

    with pytest.raises(Cancelled):
        deep_bytes(content, "state.gz", effort=Effort(report=stop, cancel=token))
