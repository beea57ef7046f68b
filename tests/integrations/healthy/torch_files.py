"""Files as torch and safetensors write them, whole, that look odd from outside."""

from __future__ import annotations

import contextlib
import datetime
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

Write = Callable[[Path], object]

_DTYPES = tuple(getattr(torch, name) for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype))
_MANY = 20_000


def _random(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4))


def _without_checksums(path: Path) -> None:
    with _setting(torch.serialization.set_crc32_options, torch.serialization.get_crc32_options(), False):
        torch.save({"a": _random(30_000), "b": _random(100, 100)}, path)


@contextlib.contextmanager
def _setting(change: Callable[[Any], object], before: object, value: object) -> Iterator[None]:
    change(value)
    try:
        yield
    finally:
        change(before)


def _aligned_to_pages(path: Path) -> None:
    config = torch.utils.serialization.config.save
    with _setting(lambda value: setattr(config, "storage_alignment", value), config.storage_alignment, 4096):
        torch.save({"a": _random(5_000), "zeros": torch.zeros(9_000), "b": _random(700)}, path)


def _from_memory(path: Path) -> None:
    stream = io.BytesIO()
    torch.save({"a": _random(5_000)}, stream)
    path.write_bytes(stream.getvalue())


def _of_every_type(path: Path, *, legacy: bool) -> None:
    def save(tensors: dict[str, Any], to: object) -> None:
        torch.save(tensors, to, _use_new_zipfile_serialization=not legacy)

    tensors = _every_type_that(lambda one: save(one, io.BytesIO()))
    save(tensors | {"scalar": torch.tensor(1.5), "empty": torch.empty(0, 7), "quantized": _quantized()}, path)


def _every_type_that(may_be_saved: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """800 bytes of each type that the installed version can save."""
    found: dict[str, Any] = {}
    for dtype in _DTYPES:
        with contextlib.suppress(RuntimeError, TypeError, NotImplementedError, KeyError, ValueError):
            one = {str(dtype): torch.arange(1, 801).to(torch.uint8).view(dtype)}
            may_be_saved(one)
            found |= one
    assert {"torch.float8_e4m3fn", "torch.complex64", "torch.bfloat16", "torch.uint8"} <= found.keys()
    return found


def _quantized() -> Any:
    values = _random(64, 32)
    if not hasattr(torch, "quantize_per_channel"):
        return values
    scales, zeros = torch.full((64,), 0.1), torch.zeros(64, dtype=torch.long)
    whole = torch.quantize_per_tensor(values, 0.05, 3, torch.qint8)
    return [whole, torch.quantize_per_channel(values, scales, zeros, 0, torch.quint8)]


def _sparse(path: Path) -> None:
    dense = torch.eye(300)
    torch.save({"coo": dense.to_sparse(), "csr": dense.to_sparse_csr(), "bsr": dense.to_sparse_bsr((10, 10))}, path)


def _views(path: Path, *, legacy: bool) -> None:
    """Four tensors of one storage, one of them transposed, and the upper end of another storage alone."""
    base = _random(400, 200)
    views = {"base": base, "row": base[7], "turned": base.t(), "diagonal": base.diagonal()}
    torch.save(views | {"tail": _random(9_000)[8_990:]}, path, _use_new_zipfile_serialization=not legacy)


def _module(path: Path, *, legacy: bool) -> None:
    """The whole module, pickled: its weights are views of one flat storage."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.LSTM(40, 60, num_layers=2), torch.nn.MultiheadAttention(32, 4))
    torch.save(model, path, _use_new_zipfile_serialization=not legacy)


def _many_small_storages(path: Path) -> None:
    torch.save({f"layer.{number}.bias": torch.full((3,), float(number)) for number in range(_MANY)}, path)


def _real_zeros() -> dict[str, Any]:
    """A fresh adapter whose B is zero, rows of a table that no token ever used, and zero values at the very end."""
    embedding = _random(2_000, 64)
    embedding[1_500:] = 0
    return {"lora_A": _random(16, 1024), "lora_B": torch.zeros(3_000, 16), "embedding": embedding, "z": torch.zeros(7)}


def _fresh_moments(path: Path) -> None:
    """Adam before the first gradient that is not zero."""
    model = torch.nn.Embedding(4_000, 16)
    optimizer = torch.optim.Adam(model.parameters())
    (model(torch.tensor([5])) * 0).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1}, path)


def _everything_but_tensors(path: Path) -> None:
    torch.save({"args": {"lr": 0.1, "when": datetime.datetime(2026, 11, 30)}, "path": Path("x"), "history": []}, path)  # noqa: DTZ001


def _no_storage_at_all(path: Path) -> None:
    torch.save({"meta": torch.empty(1000, device="meta"), "nested": torch.nested.nested_tensor([torch.ones(2)])}, path)


def _arrays_and_generators(path: Path) -> None:
    state = {"numpy": np.random.RandomState(1).get_state(), "array": np.arange(5_000.0), "torch": torch.get_rng_state()}
    torch.save(state | {"scalar": np.float64(1.5), "objects": np.array(["a", None], dtype=object)}, path)


def _pickled_by(path: Path, protocol: int) -> None:
    torch.save({"a": _random(3_000), "text": "x" * 70_000, "big": 1 << 4000}, path, pickle_protocol=protocol)


def _scripted(path: Path) -> None:
    model = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)))
    torch.jit.save(model, str(path), _extra_files={"labels.json": '["cat", "dog"]'})


def _traced(path: Path) -> None:
    traced = torch.jit.trace(torch.nn.Conv2d(3, 8, 3), torch.ones(1, 3, 16, 16))
    traced.save(str(path))


def _for_phones(path: Path) -> None:
    model = torch.jit.script(torch.nn.Linear(64, 64))
    model._save_for_lite_interpreter(str(path))


def _exported(path: Path) -> None:
    program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.ReLU()), (torch.ones(2, 256),))
    torch.export.save(program, path, extra_files={"notes.txt": "hello"})


def _packaged(path: Path) -> None:
    with torch.package.PackageExporter(path) as exporter:
        exporter.extern("**")
        exporter.save_pickle("model", "model.pkl", torch.nn.Linear(64, 64))


def _safetensors_of_every_type(path: Path) -> None:
    tensors = _every_type_that(safetensors.torch.save)
    safetensors.torch.save_file(tensors | {"scalar": torch.tensor(2.5), "none": torch.empty(3, 0)}, path)


def _safetensors_with_a_long_header(path: Path) -> None:
    tensors = {f"model.layers.{number}.bias": torch.full((2,), float(number + 1)) for number in range(5_000)}
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt", "notes": "é" * 5_000})


TORCH_FILES: dict[str, Write] = {
    "without checksums.pt": _without_checksums,
    "aligned to pages.pt": _aligned_to_pages,
    "from memory.pt": _from_memory,
    "every type.pt": lambda path: _of_every_type(path, legacy=False),
    "every type, legacy.pt": lambda path: _of_every_type(path, legacy=True),
    "sparse.pt": _sparse,
    "views.pt": lambda path: _views(path, legacy=False),
    "views, legacy.pt": lambda path: _views(path, legacy=True),
    "module.pth": lambda path: _module(path, legacy=False),
    "module, legacy.pth": lambda path: _module(path, legacy=True),
    "many small storages.pt": _many_small_storages,
    "real zeros.pt": lambda path: torch.save(_real_zeros(), path),
    "real zeros, legacy.pt": lambda path: torch.save(_real_zeros(), path, _use_new_zipfile_serialization=False),
    "real zeros.safetensors": lambda path: safetensors.torch.save_file(_real_zeros(), path),
    "fresh moments.pt": _fresh_moments,
    "no tensors.pt": _everything_but_tensors,
    "no storage.pt": _no_storage_at_all,
    "arrays.pth": _arrays_and_generators,
    "protocol 4.bin": lambda path: _pickled_by(path, 4),
    "protocol 5.bin": lambda path: _pickled_by(path, 5),
    "größe=1 (копия).pt": lambda path: torch.save(_random(5_000), path),
    "model.v1.2.tar": lambda path: torch.save(_random(5_000), path),
    "scripted.pt": _scripted,
    "traced.pt": _traced,
    "for phones.ptl": _for_phones,
    "exported.pt2": _exported,
    "packaged.pt": _packaged,
    "every type.safetensors": _safetensors_of_every_type,
    "long header.safetensors": _safetensors_with_a_long_header,
    "no tensors.safetensors": lambda path: safetensors.torch.save_file({}, path),
    "one zero.safetensors": lambda path: safetensors.torch.save_file({"step": torch.zeros(1)}, path),
}
"""By file name."""
