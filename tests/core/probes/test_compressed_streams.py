"""xz and zstd, whose ends can be added up, and what cannot be proven without unpacking."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import zlib

import pytest

from ckptdeck.core.probes import probe_file
from ckptdeck.core.states import Structure
from tests.core.probes import damage
from tests.core.probes.looking import PAGE, CountingFileSystem, memory_file, probe_bytes

VALUES = random.Random(5).randbytes(150_000) + bytes(40_000)

ZSTD = b"\x28\xb5\x2f\xfd"
ZSTD_OF_A_REAL_WRITER = bytes.fromhex("28b52ffd0458b500007868656c6c6f20636b70746465636b20010022a1661dd29f3409")


def block(content: bytes, *, last: bool = False, kind: int = 0, length: int | None = None) -> bytes:
    return ((len(content) if length is None else length) << 3 | kind << 1 | last).to_bytes(3, "little") + content


def zstd_frame(content: bytes = VALUES, *, checksum: bool = True) -> bytes:
    """Raw blocks of 60 kB with one repeated byte between them."""
    parts = [content[at : at + 60_000] for at in range(0, len(content), 60_000)]
    body = b"".join(block(part) + block(b"x", kind=1, length=100_000) for part in parts)
    header = bytes([0xA0 | 0x4 * checksum]) + len(content).to_bytes(4, "little")
    return ZSTD + header + body + block(b"", last=True) + b"sum." * checksum


SKIPPABLE = (0x184D2A53).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"notes"

XZ = lzma.compress(VALUES)
WHOLE = {
    "xz": XZ,
    "xz, another check": lzma.compress(VALUES, check=lzma.CHECK_CRC32),
    "xz, empty": lzma.compress(b""),
    "xz, two streams": XZ + lzma.compress(b"more"),
    "xz, padding between and after": XZ + bytes(8) + XZ + bytes(4),
    "xz, pages of padding": XZ + bytes(3 * PAGE),
    "zstd": zstd_frame(),
    "zstd, no checksum": zstd_frame(checksum=False),
    "zstd, two frames": zstd_frame() + zstd_frame(b"more"),
    "zstd, skippable frames": zstd_frame() + SKIPPABLE + zstd_frame() + SKIPPABLE,
    "zstd, of a real writer": ZSTD_OF_A_REAL_WRITER,
}


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", ["model.joblib", "state.tar"])
def test_whole_streams_prove_their_size(kind: str, name: str) -> None:
    content = WHOLE[kind]
    finding = probe_bytes(content, name)
    assert (finding.structure, finding.format) == (Structure.OK, kind.partition(",")[0]), finding.text
    assert (finding.expected_size, finding.proof) == (len(content), "exact-size")
    assert "values not checked" in finding.text


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("content", [XZ, zstd_frame()], ids=["xz", "zstd"])
def test_a_cut_is_called_a_cut(content: bytes, share: float) -> None:
    for short in (content[: int(len(content) * share)], content[:-1], content[:-40], content[:7]):
        finding = probe_bytes(short, "model.joblib")
        assert finding.structure is Structure.CUT, finding
        assert finding.loader_says


@pytest.mark.parametrize("kind", damage.ZERO_TAILS)
@pytest.mark.parametrize("content", [XZ, zstd_frame()], ids=["xz", "zstd"])
def test_a_zero_tail_is_at_least_suspect(content: bytes, kind: str) -> None:
    damaged = damage.ZERO_TAILS[kind](content)
    finding = probe_bytes(damaged.content, "model.joblib", holes=damaged.holes)
    assert finding.structure in (Structure.BROKEN, Structure.CUT, Structure.SUSPECT), finding
    assert finding.loader_says


@pytest.mark.parametrize("content", [XZ, zstd_frame()], ids=["xz", "zstd"])
def test_a_hole_inside_is_suspect(content: bytes) -> None:
    start = 4 * PAGE
    holed = content[:start] + bytes(5 * PAGE) + content[start + 5 * PAGE :]
    finding = probe_bytes(holed, "model.joblib", holes=((start, start + 5 * PAGE),))
    assert finding.structure is Structure.SUSPECT
    assert "never stored" in finding.text


@pytest.mark.parametrize("extra", [b"x", b"sixteen bytes ..", b"\0\0\0"])
@pytest.mark.parametrize("content", [XZ, zstd_frame()], ids=["xz", "zstd"])
def test_bytes_after_the_end_are_suspect(content: bytes, extra: bytes) -> None:
    finding = probe_bytes(content + extra, "model.joblib")
    assert (finding.structure, finding.expected_size) == (Structure.SUSPECT, len(content)), finding
    assert "too many" in finding.text


def test_an_index_that_does_not_add_up_is_broken() -> None:
    for content in (XZ[:100] + XZ[104:], XZ[:6] + XZ[6:60] + bytes(4) + XZ[60:]):
        finding = probe_bytes(content, "model.joblib")
        assert finding.structure is Structure.BROKEN, finding


@pytest.mark.parametrize("header", [b"\x06\0\0", b"\xf8\xff\xff", bytes(30)])
def test_what_is_no_header_of_a_block_is_broken(header: bytes) -> None:
    content = zstd_frame()
    finding = probe_bytes(content[:9] + header + content[9:], "model.joblib")
    assert finding.structure is Structure.BROKEN


def test_blocks_without_number_are_given_up() -> None:
    content = ZSTD + bytes([0, 0]) + block(b"x") * 40_000 + block(b"", last=True)
    finding = probe_bytes(content, "model.zst")
    assert finding.structure is Structure.UNKNOWN
    assert "too large" in finding.text


@pytest.mark.parametrize("content", [XZ, zstd_frame()], ids=["xz", "zstd"])
def test_little_is_read(content: bytes) -> None:
    fs = CountingFileSystem()
    with memory_file(content) as fd:
        assert probe_file(fs, fd, len(content), "model.joblib").structure is Structure.OK
    assert fs.bytes_read < 20_000


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("gzip", gzip.compress(VALUES)),
        ("bzip2", bz2.compress(VALUES)),
        ("zlib", zlib.compress(VALUES)),
        ("lz4", b"\x04\x22\x4d\x18" + VALUES[:100_000]),
    ],
)
def test_what_only_unpacking_could_prove_is_said_to_be_so(kind: str, content: bytes) -> None:
    for data in (content, content[: len(content) // 2]):
        finding = probe_bytes(data, "model.joblib")
        assert (finding.structure, finding.format, finding.proof) == (Structure.UNKNOWN, kind, "magic")
        assert "cannot be told without decompressing" in finding.text
