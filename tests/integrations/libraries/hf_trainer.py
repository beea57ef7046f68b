"""transformers' Trainer: a model of two layers, trained for a few steps without any download."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.values import Values, values_of

STEP = 6
CHECKPOINT = f"checkpoint-{STEP}"


def make_model() -> Any:
    torch.manual_seed(5)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=300,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
        )
    )


def make_trainer(output: Path, kind: type[Trainer] = Trainer, **arguments: Any) -> Any:
    """A trainer that saves at STEP and ends there, unless told otherwise."""
    torch.manual_seed(6)
    examples = [{"input_ids": torch.randint(0, 300, (16,)), "labels": torch.tensor(i % 2)} for i in range(32)]
    chosen = {"max_steps": STEP, "save_steps": STEP, "per_device_train_batch_size": 4, "learning_rate": 1e-3}
    quiet = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "logging_steps": 100}
    training = TrainingArguments(output_dir=str(output), **(chosen | quiet | arguments))
    return kind(model=make_model(), args=training, train_dataset=examples, eval_dataset=examples)


def state_of(trainer: Any) -> Values:
    return values_of(
        {
            "model": trainer.model.state_dict(),
            "optimizer": trainer.optimizer.state_dict()["state"],
            "scheduler": trainer.lr_scheduler.state_dict()["last_epoch"],
            "step": trainer.state.global_step,
            "random": torch.get_rng_state(),
        }
    )


class PublishingTrainer(Trainer):  # type: ignore[misc]
    """What a user overrides: where each part of a checkpoint is written."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        name = f"checkpoint-{self.state.global_step}"
        with ckptdeck.publish_directory(self.args.output_dir, name, readback=True) as path:
            self.save_parts(path)

    def save_parts(self, path: str) -> None:
        self.save_model(path, _internal_call=True)
        self._save_optimizer_and_scheduler(path)
        self._save_rng_state(path)
        self.state.save_to_json(f"{path}/trainer_state.json")


def publish(root: Path) -> Values:
    trainer = make_trainer(root, PublishingTrainer)
    trainer.train()
    return state_of(trainer)


def save(root: Path) -> Values:
    trainer = make_trainer(root)
    trainer.train()
    return state_of(trainer)


def fill(path: Path) -> Values:
    with tempfile.TemporaryDirectory() as elsewhere:
        trainer = make_trainer(Path(elsewhere), PublishingTrainer, save_strategy="no")
        trainer.train()
        trainer.save_parts(str(path))
    return state_of(trainer)


class _Stop(TrainerCallback):  # type: ignore[misc]
    """Looks at what was resumed from, before it goes on."""

    def __init__(self) -> None:
        self.trainer: Any = None
        self.found: Values = {}

    def on_step_begin(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
        self.found = self.found or state_of(self.trainer)


def load(root: Path) -> Values:
    """By resuming from it, for one step more."""
    stop = _Stop()
    with tempfile.TemporaryDirectory() as elsewhere:
        trainer = make_trainer(Path(elsewhere), max_steps=STEP + 1, save_strategy="no")
        stop.trainer = trainer
        trainer.add_callback(stop)
        trainer.train(resume_from_checkpoint=str(root / CHECKPOINT))
    return stop.found


LIBRARY = Library(CHECKPOINT, publish, save, load, lost="optimizer.pt", fill=fill)
