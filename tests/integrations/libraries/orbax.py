"""orbax-checkpoint with a checkpointer of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

import ckptdeck
from tests.integrations.libraries.contract import Library
from tests.integrations.values import Values, values_of

CHECKPOINT = "810"


def make_state() -> dict[str, Any]:
    """Random weights, moments that are partly zero, and a step."""
    keys = jax.random.split(jax.random.key(7), 3)
    return {
        "params": {
            "kernel": jax.random.normal(keys[0], (300, 200)),
            "bias": jnp.zeros((200,)),
            "embedding": jax.random.normal(keys[1], (500, 64)).astype(jnp.bfloat16),
        },
        "opt_state": {"mu": jnp.zeros((300, 200)), "nu": jax.random.normal(keys[2], (300, 200)) ** 2},
        "step": jnp.int32(810),
    }


def fill(path: Path) -> Values:
    """Orbax refuses a directory that is there; told to, it puts another in its place."""
    return _save(path, force=True)


def _save(path: Path, *, force: bool) -> Values:
    state = make_state()
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path.absolute(), state, force=force)
    return values_of(state)


def publish(root: Path) -> Values:
    with ckptdeck.publish_directory(root, CHECKPOINT, readback=True) as path:
        return fill(Path(path))


def save(root: Path) -> Values:
    return _save(root / CHECKPOINT, force=False)


def load(root: Path) -> Values:
    with ocp.StandardCheckpointer() as checkpointer:
        return values_of(checkpointer.restore((root / CHECKPOINT).absolute(), make_state()))


LIBRARY = Library(CHECKPOINT, publish, save, load, lost="manifest.ocdbt", fill=fill)
