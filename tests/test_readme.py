"""README's examples for plain loops, word for word; those of torch are in integrations/."""

from __future__ import annotations

import importlib
import os
import pickle
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from ckptdeck import publish
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.monitor.host import this_host
from tests import readme

ARRAYS = {"weights": numpy.arange(1000.0), "bias": numpy.ones(3)}
BLOCK = "from ckptdeck import publish, publish_directory"


@pytest.fixture
def run_set(tmp_path: Path) -> CheckpointSet:
    root = tmp_path / "ckpt"
    root.mkdir()
    return initialise(this_host(), str(root), None).pair.primary


def modules(*names: str) -> dict[str, Any]:
    """Each as README's code calls it."""
    for name in names:
        pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed")
    return {name.partition(".")[0]: importlib.import_module(name.partition(".")[0]) for name in names}


def load_hdf5(path: Path) -> Any:
    with modules("h5py")["h5py"].File(path) as file:
        return {key: file[key][:] for key in file}


def load_safetensors(path: Path) -> Any:
    return modules("safetensors.numpy")["safetensors"].numpy.load_file(path)


LOADERS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "NumPy": (numpy.load, ()),
    "safetensors": (load_safetensors, ("safetensors.numpy",)),
    "HDF5": (load_hdf5, ("h5py",)),
    "pickle": (lambda path: pickle.loads(path.read_bytes()), ()),
}


@pytest.mark.parametrize("library", LOADERS)
def test_each_writer_of_the_table_saves_what_it_is_given(run_set: CheckpointSet, library: str) -> None:
    load, needed = LOADERS[library]
    statement = readme.other_writers()[library]
    block = f'with publish({readme.DIRECTORY}, "step_0810.pt", metrics={{"loss": 1.93}}) as file:\n'
    names = {"publish": publish, "numpy": numpy, "pickle": pickle, "arrays": ARRAYS} | modules(*needed)
    readme.run(block + textwrap.indent(statement, "    "), Path(run_set.root), names)
    loaded = load(Path(run_set.root, "step_0810.pt"))
    assert {key: loaded[key].tolist() for key in loaded} == {key: value.tolist() for key, value in ARRAYS.items()}
    record = Manifest(FileSystem(), run_set).record("step_0810.pt")
    assert record is not None
    assert (record.step, record.metrics) == (810, {"loss": 1.93})


def test_the_table_is_of_these_libraries() -> None:
    assert set(readme.other_writers()) == set(LOADERS)


def test_the_first_block_names_a_file_and_a_directory(run_set: CheckpointSet) -> None:
    """With stand-ins for torch, which is not here."""

    class Torch:
        @staticmethod
        def save(state: bytes, file: Any) -> None:
            file.write(state)

    class Dcp:
        @staticmethod
        def save(state: bytes, checkpoint_id: str) -> None:
            Path(checkpoint_id, "shard").write_bytes(state)

    readme.run(readme.python_block(BLOCK), Path(run_set.root), {"torch": Torch, "dcp": Dcp, "state": b"weights"})
    assert sorted(os.listdir(run_set.root)) == ["checkpoint-810", "step_0810.pt"]
    assert {one: Manifest(FileSystem(), run_set).record(one) is not None for one in os.listdir(run_set.root)} == {
        "checkpoint-810": True,
        "step_0810.pt": True,
    }
