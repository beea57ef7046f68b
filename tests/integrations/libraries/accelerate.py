"""Accelerate's save_state of a prepared model, optimizer, scheduler and a counter of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.values import Values, values_of

CHECKPOINT = "checkpoint_3"


class Counter:
    """Something registered for checkpointing."""

    def __init__(self) -> None:
        self.samples = 0

    def state_dict(self) -> dict[str, int]:
        return {"samples": self.samples}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.samples = state["samples"]


class Run:
    """A prepared training run, `steps` into it."""

    def __init__(self, steps: int) -> None:
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Dropout(0.1), torch.nn.Linear(128, 64))
        optimizer = torch.optim.AdamW(model.parameters())
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
        self.counter = Counter()
        self.accelerator = Accelerator(cpu=True)
        self.model, self.optimizer, self.scheduler = self.accelerator.prepare(model, optimizer, scheduler)
        self.accelerator.register_for_checkpointing(self.counter)
        for _ in range(steps):
            self.accelerator.backward(self.model(torch.randn(8, 64)).square().mean())
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
            self.counter.samples += 8

    def values(self) -> Values:
        state: dict[str, Any] = {
            "model": self.accelerator.unwrap_model(self.model).state_dict(),
            "optimizer": self.optimizer.state_dict()["state"],
            "scheduler": self.scheduler.state_dict()["last_epoch"],
            "samples": self.counter.samples,
            "random": torch.get_rng_state(),
        }
        return values_of(state)


def fill(path: Path) -> Values:
    run = Run(steps=5)
    run.accelerator.save_state(str(path))
    return run.values()


def publish(root: Path) -> Values:
    with ckptdeck.publish_directory(root, CHECKPOINT, readback=True) as path:
        return fill(Path(path))


def save(root: Path) -> Values:
    return fill(root / CHECKPOINT)


def load(root: Path) -> Values:
    run = Run(steps=0)
    run.accelerator.load_state(str(root / CHECKPOINT))
    return run.values()


LIBRARY = Library(CHECKPOINT, publish, save, load, lost="optimizer.bin", fill=fill)
