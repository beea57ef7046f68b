"""Healthy files that look odd, read in full: nothing is called lost, broken or too long."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from ckptdeck.core.states import Structure
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.deep_looking import deep_bytes
from tests.core.probes.looking import FIXTURES
from tests.core.probes.test_no_false_alarm import HEALTHY, sparse_holes, with_real_zeros

CALM = (Structure.OK, Structure.UNKNOWN)
TORCH = HEALTHY / "torch_zip" / "model.pt"
STANDING_ALONE = sorted(
    path
    for path in FIXTURES.rglob("*")
    if path.is_file() and not {"orbax_ocdbt", "orbax_zarr"} & set(path.parts) and path.parent != FIXTURES
)


@pytest.mark.parametrize("path", STANDING_ALONE, ids=lambda path: path.relative_to(FIXTURES).as_posix())
@pytest.mark.parametrize("sparse", [False, True])
def test_real_files_raise_no_alarm(path: Path, sparse: bool) -> None:
    content = path.read_bytes()
    finding = deep_bytes(content, path.name, holes=sparse_holes(content) if sparse else ())
    assert finding.structure in CALM, finding


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sparse", [False, True])
def test_zeros_that_were_written_are_no_loss(seed: int, sparse: bool) -> None:
    tensors = [Tensor(t.name, (len(t.data) // 4,), t.data) for t in with_real_zeros(seed)]
    safetensors, torch = io.BytesIO(), io.BytesIO()
    write_safetensors_file(safetensors, tensors)
    write_torch_file(torch, tensors, archive="model", step=1, loss=0.5)
    for content, name in ((safetensors.getvalue(), "model.safetensors"), (torch.getvalue(), "model.pt")):
        finding = deep_bytes(content, name, holes=sparse_holes(content) if sparse else ())
        assert finding.structure is Structure.OK, finding


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_torch_file_packed_again_is_proven(method: int) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(TORCH) as source, zipfile.ZipFile(file, "w", method) as target:
        for name in source.namelist():
            with target.open(name, "w", force_zip64=name.endswith("data/3")) as member:
                member.write(source.read(name))
    finding = deep_bytes(file.getvalue(), "model.pt")
    assert (finding.structure, finding.proof) == (Structure.OK, "checksums"), finding


def test_a_comment_is_no_fault() -> None:
    file = io.BytesIO(TORCH.read_bytes())
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"PK\x05\x06 is not an end record here"
    assert deep_bytes(file.getvalue(), "model.pt").proof == "checksums"


@pytest.mark.parametrize("name", ["model.pt", "model.safetensors", "notes.bin"])
def test_what_is_no_checkpoint_is_no_finding(name: str) -> None:
    assert deep_bytes(b"this was never a checkpoint " * 40, name).structure is Structure.UNKNOWN
