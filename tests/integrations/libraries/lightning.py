"""Lightning's Trainer and its ModelCheckpoint: one file for each checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.values import Values, values_of

CHECKPOINT = "epoch=0-step=4.ckpt"


class Model(LightningModule):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(200, 100)

    def training_step(self, batch: Any, _number: int) -> Any:
        return self.layer(batch).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters())


class PublishingIO(TorchCheckpointIO):  # type: ignore[misc]
    """What a user plugs in: Lightning's place for how a checkpoint is written."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        directory, name = os.path.split(path)
        with ckptdeck.publish(directory, name, readback=True) as stream:
            torch.save(checkpoint, stream)


def _train(root: Path, *plugins: Any) -> Values:
    torch.manual_seed(9)
    trainer = make_trainer(callbacks=[ModelCheckpoint(dirpath=root, every_n_train_steps=4)], plugins=list(plugins))
    model = Model()
    trainer.fit(model, make_batches())
    return _values(model, trainer.optimizers[0])


def make_trainer(**more: Any) -> Any:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return Trainer(**({"max_steps": 4, "accelerator": "cpu"} | quiet | more))


def make_batches() -> Any:
    return torch.utils.data.DataLoader(torch.randn(16, 200), batch_size=4)


def _values(model: Any, optimizer: Any) -> Values:
    return values_of({"model": model.state_dict(), "optimizer": optimizer.state_dict()["state"]})


def publish(root: Path) -> Values:
    return _train(root, PublishingIO())


def save(root: Path) -> Values:
    return _train(root)


def load(root: Path) -> Values:
    """By resuming: the run is at its last step, so nothing is trained any more."""
    trainer, model = make_trainer(enable_checkpointing=False), Model()
    trainer.fit(model, make_batches(), ckpt_path=root / CHECKPOINT)
    assert trainer.global_step == 4
    return _values(model, trainer.optimizers[0])


LIBRARY = Library(CHECKPOINT, publish, save, load)
