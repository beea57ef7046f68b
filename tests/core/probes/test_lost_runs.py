"""Pages lost in the midst of values, and all the zeros that are there by right."""

from __future__ import annotations

import json
import pickle
import random
import struct
from collections.abc import Callable

import pytest

from ckptdeck.core.probes.lost_pages import Span
from ckptdeck.core.probes.lost_runs import find_lost_runs
from ckptdeck.core.states import Structure
from tests.core.probes.damage import zero_page_middle
from tests.core.probes.deep_looking import deep_bytes, deep_damaged, long_reader
from tests.core.probes.looking import PAGE, probe_bytes
from tests.core.probes.test_damage_table_of_arrays import MADE

SOURCE = random.Random(4).randbytes(4 << 20).replace(b"\0", b"\1")


def values(count: int, start: int = 0) -> bytes:
    return SOURCE[start : start + count]


def lost_in(content: bytes, *spans: tuple[int, int]) -> str:
    with long_reader(content) as reader:
        return find_lost_runs(reader, [Span(f"tensor {n}", begin, end) for n, (begin, end) in enumerate(spans)])


def zeroed(content: bytes, start: int, end: int) -> bytes:
    return content[:start] + bytes(end - start) + content[end:]


@pytest.mark.parametrize("pages", [1, 3, 300])
@pytest.mark.parametrize("before", [0, 2, 7])
@pytest.mark.parametrize("after", [0, 3])
def test_whole_pages_among_values_are_suspect(pages: int, before: int, after: int) -> None:
    """Zero bytes of the values on either side do not hide them."""
    content = zeroed(values(3_000_000), 5 * PAGE - before, (5 + pages) * PAGE + after)
    text = lost_in(content, (200, 2_999_000))
    assert f"{pages * PAGE:,} bytes from byte {5 * PAGE:,} on" in text
    assert "'tensor 0'" in text


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (5 * PAGE + 4, 8 * PAGE),
        (5 * PAGE, 8 * PAGE + 40),
        (5 * PAGE - 9, 8 * PAGE),
        (5 * PAGE + 100, 5 * PAGE + 200),
    ],
    ids=["begins inside a page", "ends inside a page", "begins before a page", "less than a page"],
)
def test_zeros_that_no_page_explains_are_values(start: int, end: int) -> None:
    assert lost_in(zeroed(values(600_000), start, end), (200, 599_000)) == ""


def test_a_tensor_of_zeros_is_no_loss() -> None:
    content = zeroed(values(600_000), 20 * PAGE, 40 * PAGE)
    assert lost_in(content, (200, 20 * PAGE), (20 * PAGE, 40 * PAGE), (40 * PAGE, 600_000)) == ""


def test_zeros_up_to_the_end_of_a_tensor_are_no_loss() -> None:
    content = zeroed(values(600_000), 20 * PAGE, 40 * PAGE)
    assert lost_in(content, (200, 40 * PAGE), (40 * PAGE, 600_000)) == ""


def test_a_loss_may_reach_into_the_next_tensor() -> None:
    content = zeroed(values(600_000), 20 * PAGE, 40 * PAGE)
    assert "'tensor 0'" in lost_in(content, (200, 30 * PAGE + 8), (30 * PAGE + 8, 600_000))


def test_filler_between_tensors_is_no_loss() -> None:
    content = zeroed(values(600_000), 20 * PAGE, 21 * PAGE)
    assert lost_in(content, (200, 20 * PAGE - 8), (21 * PAGE + 8, 600_000)) == ""


def test_several_losses_in_one_tensor_do_not_excuse_each_other() -> None:
    content = zeroed(zeroed(values(600_000), 20 * PAGE, 21 * PAGE), 50 * PAGE, 52 * PAGE)
    assert lost_in(content, (200, 600_000))


def test_zeros_of_its_own_excuse_a_tensor_and_no_other() -> None:
    content = zeroed(zeroed(values(600_000), 20 * PAGE, 21 * PAGE), 30 * PAGE + 500, 30 * PAGE + 600)
    assert lost_in(content, (200, 600_000)) == ""
    assert lost_in(content, (200, 25 * PAGE + 16), (25 * PAGE + 16, 600_000))


@pytest.mark.parametrize("row", [256, 1536, 2048, 3072, 4096, 16384])
@pytest.mark.parametrize("begin", [8, 64, 136, 512, 4096, 4168, 8190])
@pytest.mark.parametrize("unused", [1, 2, 3, 4, 8, 16])
def test_unused_rows_are_values_wherever_the_table_begins(row: int, begin: int, unused: int) -> None:
    rows = 64
    for first in range(1, rows - unused - 1, 3):
        start = begin + first * row
        content = zeroed(values(begin + rows * row + 100), start, start + unused * row)
        assert lost_in(content, (begin, begin + rows * row), (begin + rows * row, len(content))) == "", first


def test_a_mask_is_no_loss() -> None:
    side = 1024
    mask = b"".join(b"\1\0\0\0" * (n + 1) + bytes(4 * (side - n - 1)) for n in range(side))
    assert (
        lost_in(values(72) + mask + values(5_000), (72, 72 + len(mask)), (72 + len(mask), 5_000 + 72 + len(mask))) == ""
    )


def test_small_numbers_are_no_loss() -> None:
    content = b"".join(struct.pack("<Q", n % 1000) for n in range(100_000))
    assert lost_in(values(8) + content, (8, 8 + len(content))) == ""


# --- in files


def made_safetensors() -> bytes:
    data = values(600_000)
    entry = {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}
    header = json.dumps({"layer.weight": entry}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def made_pickle() -> bytes:
    return pickle.dumps([values(600_000), values(1_000)], 4)


FILES: dict[str, Callable[[], bytes]] = {
    **MADE,
    "model.pkl": made_pickle,
    "model.safetensors": made_safetensors,
}


@pytest.mark.parametrize("name", FILES)
def test_one_lost_page_of_a_file_without_checksums_is_suspect_and_no_more(name: str) -> None:
    content = FILES[name]()
    whole = deep_bytes(content, name)
    assert (whole.structure, whole.proof) == (Structure.OK, "exact-size"), whole
    assert "no page of them looks lost" in whole.text
    spoilt = zero_page_middle(content)
    assert probe_bytes(spoilt.content, name).structure is Structure.OK
    finding = deep_damaged(spoilt, name)
    assert finding.structure is Structure.SUSPECT
    assert "4,096 bytes from byte" in finding.text
    assert finding.expected_size == len(content)
    assert finding.loader_says
