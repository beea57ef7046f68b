from __future__ import annotations

import random

import pytest

from ckptdeck.core.probes import probe_file
from ckptdeck.core.states import Structure
from tests.core.probes.looking import CountingFileSystem, memory_file, probe_bytes


@pytest.mark.parametrize("name", ["step_0810.pt", "model.safetensors", "data"])
def test_an_empty_file_is_cut(name: str) -> None:
    finding = probe_bytes(b"", name)
    assert finding.structure is Structure.CUT
    assert finding.text == "empty: 0 bytes"


def test_a_single_byte_is_cut() -> None:
    assert probe_bytes(b"P", "step_0810.pt").structure is Structure.CUT


@pytest.mark.parametrize("size", [2, 100, 4096, 5000, 3_000_000])
def test_nothing_but_zeros_is_broken(size: int) -> None:
    finding = probe_bytes(bytes(size), "step_0810.pt")
    assert finding.structure is Structure.BROKEN
    assert f"{size:,}" in finding.text


def test_a_gigabyte_that_was_never_stored_costs_one_page() -> None:
    size = 1 << 30
    fs = CountingFileSystem()
    with memory_file(b"") as fd:
        fs.truncate(fd, size)
        finding = probe_file(fs, fd, size, "step_0810.pt")
    assert finding.structure is Structure.BROKEN
    assert "none were ever stored" in finding.text
    assert fs.bytes_read <= 4096


def test_zeros_at_the_start_of_an_unknown_format_are_no_finding() -> None:
    content = bytes(8192) + random.Random(3).randbytes(2_000_000)
    assert probe_bytes(content, "user_block.bin").structure is Structure.UNKNOWN


def test_zeros_around_a_value_in_the_middle_of_a_small_file_are_no_finding() -> None:
    content = bytes(200_000) + b"x" + bytes(200_000)
    assert probe_bytes(content, "weights.bin").structure is Structure.UNKNOWN
