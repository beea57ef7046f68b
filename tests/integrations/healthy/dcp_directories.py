"""Directories as torch.distributed.checkpoint writes them, whole, in its less usual ways."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.filesystem import FileSystemWriter

Write = Callable[[Path], object]


def _random(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4))


def _nested() -> dict[str, Any]:
    """Lists in lists are flattened to names like `layers.0.1`; what is no tensor becomes bytes."""
    return {
        "layers": [[_random(300, 40), _random(40)], [_random(40, 40)]],
        "schedule": {"name": "cosine", "history": [1, 2.5, None], "when": torch.tensor(7)},
        "words": ["a", "b"],
        "scalar": 1.5,
    }


def _zeros() -> dict[str, Any]:
    """Moments before the first step, an empty tensor, and a table whose last rows were never used."""
    table = _random(4_000, 64)
    table[3_000:] = 0
    return {"exp_avg": torch.zeros(200_000), "empty": torch.empty(0, 5), "table": table, "step": torch.zeros(())}


def _every_type() -> dict[str, Any]:
    types = [torch.bfloat16, torch.float8_e4m3fn, torch.complex64, torch.bool, torch.int8, torch.float64]
    return {str(dtype): torch.ones(500, dtype=torch.float32).to(dtype) for dtype in types}


def _views() -> dict[str, Any]:
    base = _random(500, 100)
    return {"base": base, "row": base[3], "turned": base.t(), "tied": base}


def _save(path: Path, state: dict[str, Any], **writer: Any) -> None:
    dcp.save(state, storage_writer=FileSystemWriter(path, **writer))


def _compressed(path: Path) -> None:
    from torch.distributed.checkpoint._extension import ZStandard

    _save(path, _nested() | {"large": _random(100_000)}, _extensions=[ZStandard()])


def _as_safetensors(path: Path) -> None:
    from torch.distributed.checkpoint.filesystem import SerializationFormat

    tensors = {"a": _random(300, 300), "b": _random(5_000), "zero": torch.zeros(700)}
    _save(path, tensors, serialization_format=SerializationFormat.SAFETENSORS)


def _for_the_hub(path: Path) -> None:
    writer = dcp.HuggingFaceStorageWriter(
        path, fqn_to_index_mapping={"a": 1, "b": 2}, save_distributed=False, enable_consolidation=False
    )
    dcp.save({"a": _random(300, 300), "b": _random(5_000)}, storage_writer=writer)


def _twice(path: Path) -> None:
    """Saved over an earlier save: a file of it that is larger than its successor needs is no harm."""
    dcp.save({"a": _random(50_000), "b": _random(100)}, checkpoint_id=path)
    dcp.save({"a": _random(3_000)}, checkpoint_id=path)


@contextlib.contextmanager
def one_rank() -> Iterator[None]:
    """A process group of this process alone."""
    with tempfile.TemporaryDirectory() as directory:
        dist.init_process_group("gloo", init_method=f"file://{directory}/rendezvous", rank=0, world_size=1)
        try:
            yield
        finally:
            dist.destroy_process_group()


def _sharded(path: Path) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    with one_rank():
        mesh = init_device_mesh("cpu", (1,))
        state = {
            "rows": distribute_tensor(_random(301, 40), mesh, [Shard(0)]),
            "columns": distribute_tensor(_random(40, 300), mesh, [Shard(1)]),
            "everywhere": distribute_tensor(_random(77), mesh, [Replicate()]),
            "plain": _random(50),
        }
        dcp.save(state, checkpoint_id=path)


def _in_the_background(path: Path) -> None:
    with one_rank():
        dcp.async_save({"a": _random(70_000), "step": 3}, checkpoint_id=path).result()


def _optimizer(path: Path) -> None:
    """The optimizer's own state dictionary: numbers for keys, a list of groups."""
    model = torch.nn.Linear(200, 200)
    optimizer = torch.optim.AdamW(model.parameters())
    model(_random(3, 200)).sum().backward()
    optimizer.step()
    dcp.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint_id=path)


DCP_DIRECTORIES: dict[str, Write] = {
    "step-1: nested lists": lambda path: dcp.save(_nested(), checkpoint_id=path),
    "step-2: zeros and empty tensors": lambda path: dcp.save(_zeros(), checkpoint_id=path),
    "step-3: small types": lambda path: dcp.save(_every_type(), checkpoint_id=path),
    "step-4: views and tied tensors": lambda path: dcp.save(_views(), checkpoint_id=path),
    "step-5: a file for each tensor": lambda path: _save(
        path, _nested() | _zeros(), single_file_per_rank=False, thread_count=3
    ),
    "step-6: four threads": lambda path: _save(path, _nested() | _zeros(), thread_count=4, sync_files=False),
    "step-7: compressed pieces": _compressed,
    "step-8: as safetensors": _as_safetensors,
    "step-9: for the hub": _for_the_hub,
    "step-10: saved over a larger one": _twice,
    "step-11: distributed tensors": _sharded,
    "step-12: in the background": _in_the_background,
    "step-13: an optimizer of its own": _optimizer,
    "step-14: no tensor at all": lambda path: dcp.save({"step": 1, "name": "nothing else"}, checkpoint_id=path),
    "step-15: one value": lambda path: dcp.save({"one": torch.ones(1)}, checkpoint_id=path, no_dist=True),
}
"""By name in a set and what is odd about it, "name: what"."""
