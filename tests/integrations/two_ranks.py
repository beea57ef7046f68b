"""One of two ranks of a run: `two_ranks.py save|load RENDEZVOUS SET RANK`."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import ckptdeck

NAME = "step-40"


def make_state(factor: float) -> dict[str, Any]:
    """A tensor of which each rank holds a half, and one that both hold."""
    mesh = init_device_mesh("cpu", (2,))
    rows = torch.arange(60_000, dtype=torch.float32).reshape(600, 100) * factor
    return {"rows": distribute_tensor(rows, mesh, [Shard(0)]), "bias": torch.ones(300) * factor, "step": 40}


def save(root: str, rank: int) -> None:
    with contextlib.ExitStack() as stack:
        told: list[Any] = [None]
        if rank == 0:
            told = [stack.enter_context(ckptdeck.publish_directory(root, NAME, readback=True))]
        dist.broadcast_object_list(told)
        dcp.save(make_state(1.0), checkpoint_id=told[0])
        dist.barrier()


def load(root: str) -> None:
    state, wanted = make_state(0.0), make_state(1.0)
    dcp.load(state, checkpoint_id=f"{root}/{NAME}")
    assert torch.equal(state["rows"].to_local(), wanted["rows"].to_local())
    assert torch.equal(state["bias"], wanted["bias"])


def main(what: str, rendezvous: str, root: str, rank: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    if what == "save":
        save(root, rank)
    else:
        load(root)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
