"""Directories as transformers, Accelerate and Lightning write them, whole, in their less usual ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from accelerate import Accelerator
from transformers import BertConfig, BertModel, EarlyStoppingCallback, LlamaConfig, LlamaForCausalLM

from tests.integrations.libraries.hf_trainer import make_model, make_trainer

Write = Callable[[Path], object]


def trained(path: Path, *callbacks: Any, **arguments: Any) -> None:
    """As `path` in its output directory."""
    step = int(path.name.rpartition("-")[2])
    chosen = {"max_steps": step, "save_steps": step} | arguments
    trainer = make_trainer(path.parent, **chosen)
    for callback in callbacks:
        trainer.add_callback(callback)
    trainer.train()


def _never_stepped(path: Path) -> None:
    """A learning rate of zero: all moments are there, and some are zero."""
    trained(path, learning_rate=0.0, max_grad_norm=0.0, weight_decay=0.0)


def _early_stopping(path: Path) -> None:
    more = {"eval_strategy": "steps", "eval_steps": 2, "load_best_model_at_end": True, "metric_for_best_model": "loss"}
    trained(path, EarlyStoppingCallback(early_stopping_patience=5), save_total_limit=3, save_steps=2, **more)


def _adapter(path: Path) -> None:
    """As PEFT leaves it on the first step: B is zero."""
    path.mkdir()
    layers = range(6)
    tensors = {f"base_model.model.layers.{n}.q_proj.lora_A.weight": torch.randn(8, 512) for n in layers}
    tensors |= {f"base_model.model.layers.{n}.q_proj.lora_B.weight": torch.zeros(512, 8) for n in layers}
    safetensors.torch.save_file(tensors, path / "adapter_model.safetensors", metadata={"format": "pt"})
    (path / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"]}')
    (path / "README.md").write_text("---\nlibrary_name: peft\n---\n")


def tied(path: Path) -> None:
    config = LlamaConfig(
        vocab_size=400,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(path, max_shard_size="60KB")


def _padded(path: Path) -> None:
    """Rows of the vocabulary that were only added to make it even."""
    model = BertModel(BertConfig(vocab_size=2_000, hidden_size=64, num_hidden_layers=1, num_attention_heads=2))
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[1_500:] = 0
        model.pooler.dense.bias.zero_()
    model.save_pretrained(path)


def accelerated(path: Path, *, scheduler: bool = False, models: int = 1, loader: bool = False, **save: Any) -> None:
    accelerator = Accelerator(cpu=True)
    for _ in range(models):
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64))
        optimizer = torch.optim.AdamW(model.parameters())
        prepared = list(accelerator.prepare(model, optimizer))
        if scheduler:
            accelerator.prepare(torch.optim.lr_scheduler.StepLR(optimizer, 10))
        accelerator.backward(prepared[0](torch.randn(4, 64)).sum())
        prepared[1].step()
    if loader:
        data = torch.utils.data.TensorDataset(torch.randn(32, 4))
        accelerator.prepare(torch.utils.data.DataLoader(data, batch_size=4, shuffle=True))
    accelerator.save_state(str(path), **save)


TRAINER_DIRECTORIES: dict[str, Write] = {
    "checkpoint-1: trainer": trained,
    "checkpoint-2: trainer, model only": lambda path: trained(path, save_only_model=True),
    "checkpoint-3: trainer, rate of zero": _never_stepped,
    "checkpoint-4: trainer, sgd without moments": lambda path: trained(path, optim="sgd"),
    "checkpoint-5: trainer, adafactor": lambda path: trained(path, optim="adafactor", lr_scheduler_type="constant"),
    "checkpoint-6: trainer, early stopping": _early_stopping,
    "checkpoint-7: trainer, bf16": lambda path: trained(path, bf16=True, gradient_accumulation_steps=2),
    "checkpoint-8: trainer, saved in between": lambda path: trained(path, save_steps=4),
    "adapter-9: a fresh adapter": _adapter,
    "llama-10: tied weights in shards": tied,
    "bert-11: padded vocabulary": _padded,
    "bert-12: model alone": lambda path: make_model().save_pretrained(path),
    "checkpoint_13: accelerate without scheduler": accelerated,
    "checkpoint_14: accelerate, two models": lambda path: accelerated(path, scheduler=True, models=2),
    "checkpoint_15: accelerate, pickled": lambda path: accelerated(path, safe_serialization=False),
    "checkpoint_16: accelerate, with a loader": lambda path: accelerated(path, loader=True),
}
"""By name in a set and what is odd about it, "name: what"."""
