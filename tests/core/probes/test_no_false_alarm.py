"""Healthy files that look odd: real zeros, sparse copies, checksums switched off, other formats."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile

import pytest

from ckptdeck.core.states import Structure
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.looking import FIXTURES, PAGE, probe_bytes, probe_fixture

HEALTHY = FIXTURES / "one_save"


def test_a_format_nobody_judges_is_named_and_left_alone() -> None:
    finding = probe_fixture(HEALTHY / "dcp" / "__0_0.distcp")
    assert (finding.structure, finding.format) == (Structure.UNKNOWN, "torch-dcp")


def test_an_optimizer_state_is_a_torch_file() -> None:
    finding = probe_fixture(HEALTHY / "hf_trainer" / "optimizer.pt")
    assert (finding.structure, finding.format) == (Structure.OK, "torch-zip")


@pytest.mark.parametrize("name", ["model.pt", "model.safetensors", "notes.bin"])
def test_content_of_no_known_format_is_no_finding(name: str) -> None:
    finding = probe_bytes(b"this was never a checkpoint " * 40, name)
    assert (finding.structure, finding.format) == (Structure.UNKNOWN, "")


def sparse_holes(content: bytes) -> tuple[tuple[int, int], ...]:
    """What a sparse copy does: every whole page of zeros becomes a hole."""
    runs: list[tuple[int, int]] = []
    for start in range(0, len(content), PAGE):
        page = content[start : start + PAGE]
        if page.count(0) == len(page):
            if runs and runs[-1][1] == start:
                runs[-1] = (runs[-1][0], start + len(page))
            else:
                runs.append((start, start + len(page)))
    return tuple(runs)


def with_real_zeros(seed: int) -> list[Tensor]:
    """A fresh adapter, optimizer moments that never moved, unused rows at the end of a table."""
    values = random.Random(seed)
    rows = values.randbytes(40_000) + bytes(400 * values.randrange(40, 60))
    return [
        Tensor("lora_a", (9_001,), values.randbytes(36_004)),
        Tensor("lora_b", (12_003,), bytes(48_012)),
        Tensor("embedding", (len(rows) // 4,), rows),
        Tensor("bias", (values.randrange(1, 4_000),), b""),
        Tensor("exp_avg", (20_000,), bytes(80_000)),
    ]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sparse", [False, True])
def test_zeros_that_were_written_are_no_loss(seed: int, sparse: bool) -> None:
    tensors = [Tensor(t.name, (len(t.data) // 4,), t.data) for t in with_real_zeros(seed)]
    safetensors, torch = io.BytesIO(), io.BytesIO()
    write_safetensors_file(safetensors, tensors)
    write_torch_file(torch, tensors, archive="model", step=1, loss=0.5)
    for content, name in ((safetensors.getvalue(), "model.safetensors"), (torch.getvalue(), "model.pt")):
        finding = probe_bytes(content, name, holes=sparse_holes(content) if sparse else ())
        assert finding.structure is Structure.OK, finding.text


def test_small_integers_before_a_page_boundary_do_not_hide_a_loss() -> None:
    """The upper bytes of an int64 are zeros by right; the page after them is still lost."""
    header = {"t": {"dtype": "I64", "shape": [4096], "data_offsets": [0, 32768]}}
    encoded = json.dumps(header).encode().ljust(PAGE - 8)
    content = struct.pack("<Q", len(encoded)) + encoded + struct.pack("<Q", 5) * 2048 + bytes(16384)
    assert probe_bytes(content, "model.safetensors").structure is Structure.SUSPECT


def test_safetensors_of_nothing_but_zeros_are_suspect() -> None:
    file = io.BytesIO()
    write_safetensors_file(file, [Tensor("a", (4000,), bytes(16_000)), Tensor("b", (4000,), bytes(16_000))])
    finding = probe_bytes(file.getvalue(), "model.safetensors")
    assert finding.structure is Structure.SUSPECT
    assert "32,000" in finding.text


@pytest.mark.parametrize("count", [0, 1])
def test_safetensors_without_values_are_whole(count: int) -> None:
    file = io.BytesIO()
    write_safetensors_file(file, [Tensor("empty", (0, 7), b"")] * count)
    assert probe_bytes(file.getvalue(), "model.safetensors").structure is Structure.OK


def test_a_torch_file_packed_again_by_another_zip_writer_is_whole() -> None:
    original = HEALTHY / "torch_zip" / "model.pt"
    file = io.BytesIO()
    with zipfile.ZipFile(original) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            with target.open(name, "w", force_zip64=name.endswith("data/3")) as member:
                member.write(source.read(name))
    assert probe_bytes(file.getvalue(), "model.pt").structure is Structure.OK


def test_a_torch_file_with_a_comment_is_whole() -> None:
    file = io.BytesIO((HEALTHY / "torch_zip" / "model.pt").read_bytes())
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"PK\x05\x06 is not an end record here"
    assert probe_bytes(file.getvalue(), "model.pt").structure is Structure.OK
