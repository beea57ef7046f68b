"""torch.distributed.checkpoint, one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.values import Values, values_of

CHECKPOINT = "step-100"


def trained(steps: int = 3) -> tuple[Any, Any]:
    """A model and its optimizer after a few steps; the same for the same number of steps."""
    torch.manual_seed(11)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 40))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 64)).square().mean().backward()
        optimizer.step()
    return model, optimizer


def state_of(model: Any, optimizer: Any, step: int) -> dict[str, Any]:
    model_state, optimizer_state = get_state_dict(model, optimizer)
    return {"model": model_state, "optimizer": optimizer_state, "step": step, "losses": [1.5, 0.25]}


def fill(path: Path) -> Values:
    state = state_of(*trained(), step=100)
    dcp.save(state, checkpoint_id=path)
    return values_of(state)


def publish(root: Path) -> Values:
    with ckptdeck.publish_directory(root, CHECKPOINT, readback=True) as path:
        return fill(Path(path))


def save(root: Path) -> Values:
    return fill(root / CHECKPOINT)


def load(root: Path) -> Values:
    """Into another model and optimizer, which are not trained."""
    model, optimizer = trained(steps=0)
    state = state_of(model, optimizer, step=0) | {"losses": [0.0, 0.0]}
    dcp.load(state, checkpoint_id=root / CHECKPOINT)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return values_of(state_of(model, optimizer, state["step"]) | {"losses": state["losses"]})


LIBRARY = Library(CHECKPOINT, publish, save, load, lost="__0_0.distcp", fill=fill)
