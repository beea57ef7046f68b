"""torch itself: what it saves through publish it loads again, and it loads what the demo writes without it."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xxhash

import ckptdeck
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import make_weights
from ckptdeck.monitor.host import this_host

torch: Any = pytest.importorskip("torch", reason="torch is not installed (pip install ckptdeck[integrations])")
pytestmark = pytest.mark.integrations


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None).pair.primary


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_torch_saves_through_publish(run_set: CheckpointSet, *, legacy: bool) -> None:
    state = {"step": 50, "model": {"weight": torch.arange(300_000, dtype=torch.float32), "bias": torch.ones(7)}}
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        torch.save(state, stream, _use_new_zipfile_serialization=not legacy)
    path = Path(run_set.root, "step_0050.pt")
    loaded = torch.load(path)
    assert loaded["step"] == 50
    assert torch.equal(loaded["model"]["weight"], state["model"]["weight"])  # type: ignore[index]
    record = Manifest(FileSystem(), run_set).record("step_0050.pt")
    assert record is not None
    assert record.digest == xxhash.xxh3_128(path.read_bytes()).hexdigest()
    assert os.listdir(run_set.root) == ["step_0050.pt"]


def test_a_model_and_its_optimizer_come_back(run_set: CheckpointSet) -> None:
    model = torch.nn.Linear(20, 10)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(3, 20)).sum().backward()
    optimizer.step()
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, stream)
    loaded = torch.load(Path(run_set.root, "step_0050.pt"))
    again = torch.nn.Linear(20, 10)
    again.load_state_dict(loaded["model"])
    assert torch.equal(again.weight, model.weight)
    torch.optim.AdamW(again.parameters()).load_state_dict(loaded["optimizer"])


@pytest.mark.parametrize("mmap", [False, True], ids=["read", "mapped"])
def test_torch_loads_what_the_demo_writes(tmp_path: Path, *, mmap: bool) -> None:
    weights = make_weights(400_000, "test")
    path = tmp_path / "step_0050.pt"
    with path.open("wb") as stream:
        write_torch_file(stream, weights, archive="step_0050", step=50, loss=2.5)
    state = torch.load(path, mmap=mmap, weights_only=True)
    assert (state["step"], state["loss"]) == (50, 2.5)
    assert list(state["model"]) == [tensor.name for tensor in weights]
    for tensor in weights:
        loaded = state["model"][tensor.name]
        assert tuple(loaded.shape) == tensor.shape
        assert loaded.dtype == torch.float32
        assert loaded.is_contiguous()
        assert bytes(loaded.untyped_storage()) == tensor.data


def test_torch_lays_the_same_members_out_the_same_way(tmp_path: Path) -> None:
    weights = make_weights(100_000, "test")
    path = tmp_path / "step_0050.pt"
    with path.open("wb") as stream:
        write_torch_file(stream, weights, archive="step_0050", step=50, loss=2.5)
    by_torch = tmp_path / "by_torch.pt"
    torch.save(torch.load(path), by_torch)
    ours, theirs = _members(path), _members(by_torch)
    assert list(ours) == list(theirs)
    # Only the pickle is another one, since torch's memo keeps every object; the serialization id follows from it.
    for name in ours.keys() - {"data.pkl", ".data/serialization_id"}:
        assert ours[name] == theirs[name]


def test_a_flipped_bit_loads_without_a_word_and_the_record_knows(run_set: CheckpointSet) -> None:
    """The reason for the whole product: torch checks no checksum."""
    with ckptdeck.publish(run_set.root, "step_0050.pt") as stream:
        torch.save({"weight": torch.ones(300_000)}, stream)
    path = Path(run_set.root, "step_0050.pt")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0x04
    assert not torch.equal(torch.load(io.BytesIO(bytes(damaged)))["weight"], torch.ones(300_000))
    record = Manifest(FileSystem(), run_set).record("step_0050.pt")
    assert record is not None
    assert record.size == len(damaged)
    assert record.digest != xxhash.xxh3_128(bytes(damaged)).hexdigest()


def test_the_demos_safetensors_load_too(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    weights = make_weights(100_000, "test")
    path = tmp_path / "model.safetensors"
    with path.open("wb") as stream:
        write_safetensors_file(stream, weights)
    loaded = safetensors.load_file(path)
    assert all(bytes(loaded[tensor.name].untyped_storage()) == tensor.data for tensor in weights)


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {member.filename.partition("/")[2]: archive.read(member) for member in archive.infolist()}
