"""Directories as orbax-checkpoint writes them, whole, in its less usual ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from tests.integrations.libraries.orbax import make_state
from tests.integrations.libraries.orbax_manager import save as save_by_manager

Write = Callable[[Path], object]

_DEVICES = 4
jax.config.update("jax_num_cpu_devices", _DEVICES)  # before the first array is made


def _tree(path: Path, tree: Any, save_args: Any = None, target_size: int | None = None, **handler: Any) -> None:
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**handler)) as checkpointer:
        chosen = ocp.args.PyTreeSave(tree, save_args=save_args, ocdbt_target_data_file_size=target_size)
        checkpointer.save(path.absolute(), args=chosen)


def _odd_leaves() -> dict[str, Any]:
    """Numbers, text, nothing at all, an empty tree, arrays of no element, of zeros, and of small types."""
    return {
        "step": 3,
        "rate": 0.5,
        "name": "run",
        "nothing": None,
        "empty": {},
        "zeros": jnp.zeros((300, 300)),
        "numpy": np.arange(10_000, dtype=np.int64),
        "small": {
            str(t.dtype): t for t in (jnp.ones(9, jnp.float8_e4m3fn), jnp.ones(9, jnp.bfloat16), jnp.ones(9, bool))
        },
        "list": [jnp.ones(3), [jnp.arange(4.0)]],
        "odd/name with. dots": jnp.arange(7),
    }


def _many_chunks(path: Path, **handler: Any) -> None:
    state = {"a": jax.random.normal(jax.random.key(1), (500, 400)), "b": jnp.zeros((500, 400))}
    _tree(path, state, jax.tree.map(lambda _: ocp.SaveArgs(chunk_byte_size=50_000), state), **handler)


def _sharded(path: Path, **handler: Any) -> None:
    """Each array in a part for each device, in rows or in columns."""
    mesh = jax.make_mesh((_DEVICES,), ("x",))
    rows, columns = (jax.sharding.PartitionSpec(*axes) for axes in (("x",), (None, "x")))
    values = jax.random.normal(jax.random.key(2), (400, 200))
    parts = {
        name: jax.device_put(values, jax.sharding.NamedSharding(mesh, spec))
        for name, spec in (("rows", rows), ("columns", columns), ("everywhere", jax.sharding.PartitionSpec()))
    }
    _tree(path, parts, **handler)


def _standard(path: Path, state: Any) -> None:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path.absolute(), state)


def _in_the_background(path: Path) -> None:
    with ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler()) as checkpointer:
        checkpointer.save(path.absolute(), args=ocp.args.StandardSave(make_state()))
        checkpointer.wait_until_finished()


def _several_items(path: Path) -> None:
    with ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as checkpointer:
        items = {
            "params": ocp.args.StandardSave({"w": jnp.ones((40, 40))}),
            "random": ocp.args.JaxRandomKeySave(jax.random.key(3)),
            "numpy_random": ocp.args.NumpyRandomKeySave(np.random.RandomState(3).get_state()),
            "config": ocp.args.JsonSave({"layers": 2}),
        }
        checkpointer.save(path.absolute(), args=ocp.args.Composite(**items))


def _by_manager(path: Path, **options: Any) -> None:
    chosen = ocp.CheckpointManagerOptions(enable_async_checkpointing=False, **options)
    with ocp.CheckpointManager(path.parent.absolute(), options=chosen) as manager:
        manager.save(int(path.name.rpartition("_")[2]), args=ocp.args.StandardSave(make_state()))


ORBAX_DIRECTORIES: dict[str, Write] = {
    "1: standard": lambda path: _standard(path, make_state()),
    "2: zarr without ocdbt": lambda path: _tree(path, make_state(), use_ocdbt=False),
    "3: zarr3": lambda path: _tree(path, make_state(), use_zarr3=True),
    "4: zarr3 without ocdbt": lambda path: _tree(path, make_state(), use_ocdbt=False, use_zarr3=True),
    "5: odd leaves": lambda path: _tree(path, _odd_leaves()),
    "6: odd leaves without ocdbt": lambda path: _tree(path, _odd_leaves(), use_ocdbt=False),
    "7: many chunks": _many_chunks,
    "8: many chunks without ocdbt": lambda path: _many_chunks(path, use_ocdbt=False),
    "9: small data files": lambda path: _many_chunks(path, use_zarr3=True, target_size=60_000),
    "10: not compressed": lambda path: _tree(path, make_state(), use_compression=False, use_ocdbt=False),
    "18: on four devices": _sharded,
    "19: on four devices without ocdbt": lambda path: _sharded(path, use_ocdbt=False),
    "20: on four devices, zarr3": lambda path: _sharded(path, use_zarr3=True),
    "11: in the background": _in_the_background,
    "12: several items": _several_items,
    "900: by the manager": lambda path: save_by_manager(path.parent),
    "13: nothing but zeros": lambda path: _standard(path, {"only": jnp.zeros(50_000)}),
    "14: nothing but a number": lambda path: _standard(path, {"step": 5}),
    "15: hundreds of arrays": lambda path: _standard(
        path, {f"layer_{number}": jnp.full((20,), number) for number in range(400)}
    ),
    "run_16: by the manager with a prefix": lambda path: _by_manager(path, step_prefix="run"),
    "0000017: by the manager with a length": lambda path: _by_manager(path, step_format_fixed_length=7),
}
"""By name in a set and what is odd about it, "name: what"."""
