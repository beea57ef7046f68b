"""Directories that take several processes or an engine to write, put together from what the libraries write here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp

from tests.integrations.healthy.trainer_directories import accelerated, tied, trained

Write = Callable[[Path], object]


def _sharded(path: Path) -> None:
    state: dict[str, Any] = {"weight": torch.randn(200, 100), "bias": torch.zeros(100)}
    dcp.save(state, checkpoint_id=path)


def _two_ranks(path: Path) -> None:
    trained(path)
    shutil.copy(path / "rng_state.pth", path / "rng_state_1.pth")
    (path / "rng_state.pth").rename(path / "rng_state_0.pth")


def _trainer_under_fsdp(path: Path) -> None:
    _two_ranks(path)
    for replaced in ("optimizer.pt", "model.safetensors"):
        (path / replaced).unlink()
    _sharded(path / "pytorch_model_fsdp_0")
    _sharded(path / "optimizer_0")


def _accelerate_under_fsdp(path: Path) -> None:
    accelerated(path, scheduler=True)
    for replaced in ("optimizer.bin", "model.safetensors"):
        (path / replaced).unlink()
    shutil.copy(path / "random_states_0.pkl", path / "random_states_1.pkl")
    _sharded(path / "pytorch_model_fsdp_0")
    _sharded(path / "optimizer_0")


def _trainer_with_shards(path: Path) -> None:
    trained(path)
    (path / "model.safetensors").unlink()
    tied(path)


def _trainer_with_adapter(path: Path) -> None:
    trained(path)
    (path / "model.safetensors").rename(path / "adapter_model.safetensors")
    (path / "config.json").rename(path / "adapter_config.json")


def _pipeline(path: Path) -> None:
    """As diffusers' training scripts: a model of its own in a directory of its own."""
    accelerated(path, scheduler=True)
    tied(path / "unet")


def _with_state(path: Path, name: str) -> None:
    _sharded(path)
    torch.save({"epoch": 1, "loops": [1, 2]}, path / name)


def _nemo(path: Path) -> None:
    _with_state(path / "weights", "common.pt")
    (path / "weights" / "metadata.json").write_text('{"sharded_backend": "torch_dist", "sharded_backend_version": 1}')
    (path / "context").mkdir()
    (path / "context" / "model.yaml").write_text("layers: 2\n")


COMPOSED_DIRECTORIES: dict[str, Write] = {
    "checkpoint-17: trainer, two ranks": _two_ranks,
    "checkpoint-18: trainer, FSDP": _trainer_under_fsdp,
    "checkpoint-19: trainer, shards": _trainer_with_shards,
    "checkpoint-20: trainer, adapter": _trainer_with_adapter,
    "checkpoint-21: diffusers": _pipeline,
    "checkpoint_22: accelerate, FSDP": _accelerate_under_fsdp,
    "epoch=0-step=23.ckpt: lightning, FSDP": lambda path: _with_state(path, "meta.pt"),
    "step-24: a trainer's state beside DCP": lambda path: _with_state(path, "train_state.pt"),
    "llama--val_loss=0.25-step=25-last: NeMo": _nemo,
}
"""By name in a set and what is odd about it, "name: what"."""
