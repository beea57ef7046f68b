"""The size a header promises: exact once the header is there, never a guess before, and cheap."""

from __future__ import annotations

import io
import json
import random
import struct

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes.promised_size import promised_size
from ckptdeck.demo.safetensors_file import write_safetensors_file
from ckptdeck.demo.weights import Tensor
from tests.core.probes.looking import CountingFileSystem, memory_file, save
from tests.core.probes.test_mutants import mutate

PROMISING = ("safetensors/model.safetensors", "hf_trainer/model.safetensors", "gguf/model.gguf", "npy/weights.npy")
SILENT = ("torch_zip/model.pt", "pickle4/model.pkl", "hdf5_v0/weights.h5", "keras/model.keras", "npz/weights.npz")


def promise(content: bytes, name: str, fs: FileSystem | None = None) -> int | None:
    with memory_file(content) as fd:
        return promised_size(fs or FileSystem(), fd, len(content), name.rpartition("/")[2])


@pytest.mark.parametrize("name", PROMISING)
def test_a_short_file_tells_its_whole_size(name: str) -> None:
    content = save(name)
    told = [promise(content[: len(content) * share // 20], name) for share in range(21)]
    assert set(told) <= {None, len(content)}
    assert told[0] is None
    assert told[-2:] == [len(content)] * 2
    first = told.index(len(content))
    assert None not in told[first:]


@pytest.mark.parametrize("name", SILENT)
def test_other_formats_promise_nothing(name: str) -> None:
    content = save(name)
    assert promise(content, name) is None
    assert promise(content[: len(content) // 2], name) is None


@pytest.mark.parametrize("content", [b"", b"\0", bytes(5000), b"never a checkpoint " * 9])
def test_what_has_no_header_promises_nothing(content: bytes) -> None:
    for name in ("model.safetensors", "model.gguf", "weights.npy"):
        assert promise(content, name) is None


def test_safetensors_without_values_end_with_their_header() -> None:
    file = io.BytesIO()
    write_safetensors_file(file, [Tensor("empty", (0, 7), b"")])
    assert promise(file.getvalue(), "model.safetensors") == len(file.getvalue())


def test_the_values_are_not_read() -> None:
    length = 50_000_000
    entry = {"dtype": "U8", "shape": [length], "data_offsets": [0, length]}
    header = json.dumps({"layer.weight": entry}).encode()
    content = struct.pack("<Q", len(header)) + header + bytes(2_000_000)
    fs = CountingFileSystem()
    assert promise(content, "model.safetensors", fs) == 8 + len(header) + length
    assert fs.bytes_read < 1000


def test_a_header_of_absurd_length_is_not_read() -> None:
    fs = CountingFileSystem()
    assert promise(struct.pack("<Q", 90_000_000) + b"{" + bytes(1_000_000), "model.safetensors", fs) is None
    assert fs.bytes_read < 1000


@pytest.mark.parametrize("name", PROMISING)
def test_mutants_promise_a_number_or_nothing(name: str) -> None:
    values = random.Random(name)
    for number in range(400):
        promised = promise(mutate(save(name), values), name)
        assert promised is None or promised >= 0, number
