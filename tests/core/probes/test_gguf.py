"""GGUF files made by hand, in both byte orders and with every type of block."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import pytest

from ckptdeck.core.probes import probe_file
from ckptdeck.core.probes.gguf_types import BLOCKS
from ckptdeck.core.states import Structure
from tests.core.probes import damage
from tests.core.probes.looking import PAGE, CountingFileSystem, memory_file, probe_bytes

U8, U32, TEXT, ARRAY, U64 = 0, 4, 8, 9, 10
F32, Q4_0, Q6_K = 0, 2, 14
UNKNOWN_TYPE = 77

Pair = tuple[str, int, bytes]
Tensor = tuple[str, tuple[int, ...], int, int]
"""Name, shape, type, bytes."""


class Maker:
    def __init__(self, order: str = "<", version: int = 3, alignment: int = 32) -> None:
        self.order, self.version, self.alignment = order, version, alignment

    def pack(self, layout: str, *numbers: int) -> bytes:
        return struct.pack(self.order + layout, *numbers)

    def text(self, value: str) -> bytes:
        return self.pack("Q", len(value)) + value.encode()

    def array(self, kind: int, count: int, content: bytes) -> bytes:
        return self.pack("LQ", kind, count) + content

    def make(self, tensors: Sequence[Tensor], pairs: Sequence[Pair] = (), *, filled: bool = True) -> bytes:
        if self.alignment != 32:
            pairs = (*pairs, ("general.alignment", U32, self.pack("L", self.alignment)))
        head = b"GGUF" + self.pack("LQQ", self.version, len(tensors), len(pairs))
        for key, kind, value in pairs:
            head += self.text(key) + self.pack("L", kind) + value
        body = b""
        for name, shape, kind, length in tensors:
            body += bytes(-len(body) % self.alignment)
            head += self.text(name) + self.pack(f"L{len(shape)}QLQ", len(shape), *shape, kind, len(body))
            body += random.Random(name).randbytes(length)
        if filled:
            body += bytes(-len(body) % self.alignment)
        return head + bytes(-len(head) % self.alignment) + body


TENSORS: tuple[Tensor, ...] = (
    ("token_embd.weight", (320, 100), F32, 128_000),
    ("blk.0.attn.weight", (320, 64), Q4_0, 320 * 64 // 32 * 18),
    ("blk.0.norm.weight", (33,), F32, 132),
    ("output.weight", (256, 50), Q6_K, 50 * 210),
)


def pairs(make: Maker) -> tuple[Pair, ...]:
    words = b"".join(make.text(f"word{number}") for number in range(50))
    return (
        ("general.architecture", TEXT, make.text("llama")),
        ("tokenizer.ggml.tokens", ARRAY, make.array(TEXT, 50, words)),
        ("tokenizer.ggml.scores", ARRAY, make.array(6, 50, bytes(200))),
        ("nested", ARRAY, make.array(ARRAY, 2, make.array(U8, 3, b"abc") + make.array(TEXT, 1, make.text("x")))),
        ("flag", 7, b"\1"),
        ("large", U64, make.pack("Q", 7)),
    )


@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("alignment", [32, 64, PAGE])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_versions_and_any_alignment(order: str, version: int, alignment: int, filled: bool) -> None:
    make = Maker(order, version, alignment)
    content = make.make(TENSORS, pairs(make), filled=filled)
    finding = probe_bytes(content, "model.gguf")
    assert (finding.structure, finding.expected_size) == (Structure.OK, len(content)), finding.text
    assert finding.proof == "exact-size"
    cut = probe_bytes(content[: -alignment - 1], "model.gguf")
    assert cut.structure is Structure.CUT


@pytest.mark.parametrize("kind", BLOCKS)
def test_every_known_type_proves_the_size(kind: int) -> None:
    values, width = BLOCKS[kind]
    content = Maker().make([("w", (values * 3, 2), kind, width * 6)], filled=False)
    assert probe_bytes(content, "model.gguf").structure is Structure.OK
    short = probe_bytes(content[:-1], "model.gguf")
    assert (short.structure, short.expected_size) == (Structure.CUT, len(content))
    assert probe_bytes(content + bytes(32), "model.gguf").structure is Structure.SUSPECT


def test_a_last_tensor_of_unknown_type_proves_nothing_of_the_end() -> None:
    content = Maker().make([*TENSORS, ("odd", (64,), UNKNOWN_TYPE, 999)])
    for whole in (content, content[:-500], content + bytes(5000)):
        finding = probe_bytes(whole, "model.gguf")
        assert (finding.structure, finding.proof) == (Structure.UNKNOWN, "min-size")
        assert "'odd'" in finding.text
    assert probe_bytes(content[:-2000], "model.gguf").structure is Structure.CUT


def test_an_unknown_type_before_the_last_tensor_is_no_hindrance() -> None:
    content = Maker().make([("odd", (64,), UNKNOWN_TYPE, 999), *TENSORS])
    assert probe_bytes(content, "model.gguf").structure is Structure.OK
    assert probe_bytes(content[:-64], "model.gguf").structure is Structure.CUT


def test_a_vocabulary_alone_is_whole() -> None:
    make = Maker()
    content = make.make((), pairs(make))
    assert probe_bytes(content, "vocab.gguf").structure is Structure.OK
    assert probe_bytes(content[:-40], "vocab.gguf").structure is Structure.CUT


def test_bytes_missing_from_the_filler_are_told_from_a_cut() -> None:
    content = Maker().make(TENSORS[:3])
    finding = probe_bytes(content[:-1], "model.gguf")
    assert (finding.structure, finding.expected_size) == (Structure.SUSPECT, len(content))
    assert "load the right values" in finding.loader_says


@pytest.mark.parametrize("kind", damage.ZERO_TAILS)
def test_zeros_from_a_page_on_are_suspect(kind: str) -> None:
    damaged = damage.ZERO_TAILS[kind](Maker().make(TENSORS))
    finding = probe_bytes(damaged.content, "model.gguf", holes=damaged.holes)
    assert finding.structure is Structure.SUSPECT
    assert "load the zeros" in finding.loader_says


def test_a_hole_inside_a_tensor_is_suspect() -> None:
    damaged = damage.hole_gap(Maker().make(TENSORS))
    finding = probe_bytes(damaged.content, "model.gguf", holes=damaged.holes)
    assert finding.structure is Structure.SUSPECT
    assert "never stored" in finding.text


@pytest.mark.parametrize("kind", damage.INSIDE_VALUES)
def test_what_only_a_hash_can_tell_is_no_finding(kind: str) -> None:
    content = Maker().make(TENSORS)
    assert probe_bytes(damage.INSIDE_VALUES[kind](content).content, "model.gguf").structure is Structure.OK


@pytest.mark.parametrize(
    ("content", "structure"),
    [
        (b"GG", Structure.CUT),
        (b"GGUF", Structure.CUT),
        (b"GGUF\3\0\0\0", Structure.CUT),
        (b"GGUF\0\0\0\0" + bytes(90) + b"x", Structure.BROKEN),
        (b"GGUF\1\0\0\0" + bytes(90) + b"x", Structure.UNKNOWN),
        (b"GGUF\4\0\0\0" + bytes(90) + b"x", Structure.UNKNOWN),
        (Maker().make(TENSORS, [("", U8, b"x")]), Structure.BROKEN),
        (Maker().make(TENSORS, [("key", 13, b"x")]), Structure.BROKEN),
        (Maker().make(TENSORS, [("general.alignment", U32, struct.pack("<L", 24))]), Structure.BROKEN),
        (Maker().make([TENSORS[0], TENSORS[0]]), Structure.BROKEN),
        (Maker().make([("w", (1, 1, 1, 1, 1), F32, 4)]), Structure.BROKEN),
        (Maker().make([("w", (33,), Q4_0, 36)]), Structure.BROKEN),
        (Maker().make([("w", (1 << 40, 1 << 40), F32, 4)]), Structure.BROKEN),
        (Maker().make([("w", (64,), F32, 4), ("v", (1,), F32, 4)]), Structure.BROKEN),
    ],
)
def test_tables_that_cannot_be_right(content: bytes, structure: Structure) -> None:
    finding = probe_bytes(content, "model.gguf")
    assert (finding.structure, finding.format) == (structure, "gguf"), finding.text


@pytest.mark.parametrize("kind", [U8, U64, TEXT, ARRAY])
def test_no_count_in_a_file_sizes_anything(kind: int) -> None:
    make = Maker()
    for count in (1 << 20, 1 << 40, (1 << 64) - 1):
        content = make.make(TENSORS, [("key", ARRAY, make.array(kind, count, bytes(40)))])
        fs = CountingFileSystem()
        with memory_file(content) as fd:
            finding = probe_file(fs, fd, len(content), "model.gguf")
        assert finding.structure is not Structure.OK
        assert fs.bytes_read < 2 * len(content)


def test_arrays_in_arrays_without_end_are_given_up() -> None:
    make = Maker()
    content = make.make(TENSORS, [("key", ARRAY, make.array(ARRAY, 1, b"") * 2000)])
    assert probe_bytes(content, "model.gguf").structure is Structure.UNKNOWN


def test_a_large_vocabulary_is_walked_once_in_large_reads() -> None:
    make = Maker()
    count = 128 * 1024
    words = b"".join(make.text(f"word{number}") for number in range(count))
    content = make.make(
        TENSORS,
        [
            ("tokenizer.ggml.tokens", ARRAY, make.array(TEXT, count, words)),
            ("tokenizer.ggml.token_type", ARRAY, make.array(5, count, bytes(4 * count))),
        ],
    )
    fs = CountingFileSystem()
    with memory_file(content) as fd:
        assert probe_file(fs, fd, len(content), "model.gguf").structure is Structure.OK
    assert fs.bytes_read < len(words) + 300_000
    assert fs.reads < 60


def test_texts_beyond_any_vocabulary_are_given_up() -> None:
    make = Maker()
    count = 4_100_000
    content = make.make(TENSORS, [("key", ARRAY, make.array(TEXT, count, bytes(8 * count)))])
    finding = probe_bytes(content, "model.gguf")
    assert finding.structure is Structure.UNKNOWN
    assert "too large" in finding.text
