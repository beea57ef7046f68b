"""Layouts with one rule each: ranks that say how many they are, models with a description, Lightning's directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.core.states import Structure
from tests.core.probes.looking import save
from tests.core.probes.trees import copied, made, probe_directory

TORCH = save("hf_trainer/scheduler.pt")
WEIGHTS = save("hf_trainer/model.safetensors")
KINDS = ("model", "optim", "extra_state")


def verl(world: int) -> dict[str, bytes]:
    return {f"actor/{kind}_world_size_{world}_rank_{rank}.pt": TORCH for kind in KINDS for rank in range(world)}


def test_every_rank_that_the_names_count_raises_no_alarm(tmp_path: Path) -> None:
    files = verl(12) | {"data.pt": TORCH, "actor/huggingface/config.json": b"{}"}
    finding = probe_directory(made(files, tmp_path / "global_step_100"))
    assert (finding.structure, finding.format) == (Structure.OK, "ranks")


@pytest.mark.parametrize("missing", [[0], [11], [3, 5], list(range(8, 12))])
def test_a_missing_rank_is_named_even_the_last(tmp_path: Path, missing: list[int]) -> None:
    root = made(verl(12), tmp_path / "global_step_100")
    for rank in missing:
        (root / f"actor/optim_world_size_12_rank_{rank}.pt").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert f"actor/optim_world_size_12_rank_{missing[0]}.pt" in finding.text
    assert "of 12 ranks" in finding.text


def test_what_is_left_of_fewer_ranks_is_no_gap(tmp_path: Path) -> None:
    files = verl(4) | {"actor/model_world_size_8_rank_7.pt": TORCH}
    assert probe_directory(made(files, tmp_path / "global_step_100")).structure is Structure.OK


def test_absurd_numbers_of_ranks_are_not_counted(tmp_path: Path) -> None:
    files = {"a_world_size_999999999_rank_0.pt": TORCH, f"b_world_size_{'9' * 60}_rank_1.pt": TORCH}
    assert probe_directory(made(files, tmp_path / "global_step_100")).structure is Structure.UNKNOWN


def test_a_model_with_its_description_is_known(tmp_path: Path) -> None:
    files = {"unet/config.json": b"{}", "unet/diffusion_pytorch_model.fp16.safetensors": WEIGHTS}
    finding = probe_directory(made(files, tmp_path / "pipeline"))
    assert (finding.structure, finding.format) == (Structure.OK, "pretrained")


@pytest.mark.parametrize("directory", ["", "en/"])
def test_an_adapter_without_weights_is_incomplete(tmp_path: Path, directory: str) -> None:
    files = {f"{directory}adapter_config.json": b"{}", f"{directory}adapter_model.safetensors": WEIGHTS}
    root = made(files, tmp_path / "adapter")
    assert probe_directory(root).structure is Structure.OK
    (root / f"{directory}adapter_model.safetensors").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert "adapter_model.safetensors" in finding.text


def test_a_tokenizer_beside_a_description_is_no_model(tmp_path: Path) -> None:
    root = made({"config.json": b"{}", "tokenizer.json": b"{}"}, tmp_path / "huggingface")
    assert probe_directory(root).structure is Structure.UNKNOWN


def test_a_directory_of_lightning_needs_its_state(tmp_path: Path) -> None:
    root = made({"meta.pt": TORCH}, copied("dcp", tmp_path, name="epoch=0-step=100.ckpt"))
    finding = probe_directory(root)
    assert (finding.structure, finding.format) == (Structure.OK, "lightning+dcp")
    (root / "meta.pt").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert finding.text.startswith("not there: meta.pt")


def test_nemo_names_its_directories_alike(tmp_path: Path) -> None:
    description = b'{"sharded_backend": "torch_dist"}'
    root = made({"common.pt": TORCH, "metadata.json": description}, copied("dcp", tmp_path, name="megatron.ckpt"))
    assert probe_directory(root).structure is Structure.OK


def test_plain_dcp_needs_no_state_beside_it(tmp_path: Path) -> None:
    finding = probe_directory(copied("dcp", tmp_path, name="step-100"))
    assert (finding.structure, finding.format) == (Structure.OK, "dcp")


def test_a_step_of_axlearn_needs_its_index(tmp_path: Path) -> None:
    arrays = {f"gda/model/w/{name}": b"\1\2\3" for name in ("0.0", "0.1")}
    root = made(arrays | {"index": b'[["step", 100]]'}, tmp_path / "step_00000100")
    finding = probe_directory(root)
    assert (finding.structure, finding.format) == (Structure.OK, "axlearn")
    (root / "index").unlink()
    finding = probe_directory(root)
    assert finding.structure is Structure.INCOMPLETE
    assert finding.text.startswith("not there: index")
