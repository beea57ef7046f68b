from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from typing import Any

import pytest

from ckptdeck.demo.torch_file import write_torch_file
from ckptdeck.demo.weights import Tensor, make_weights

WEIGHTS = make_weights(100_000, "test")


class _OnlyForward(io.RawIOBase):
    """A file that can be written and nothing else."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, data: Any, /) -> int:
        self.content += data
        return len(data)

    def seekable(self) -> bool:
        return False


@pytest.fixture(scope="module")
def content() -> bytes:
    sink = _OnlyForward()
    write_torch_file(sink, WEIGHTS, archive="step_0050", step=50, loss=2.5)
    return bytes(sink.content)


def test_every_member_is_whole_and_named_as_torch_names_it(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        names = [name.removeprefix("step_0050/") for name in archive.namelist()]
        assert names[:4] == ["data.pkl", ".format_version", ".storage_alignment", "byteorder"]
        assert names[4:-2] == [f"data/{key}" for key in range(len(WEIGHTS))]
        assert names[-2:] == ["version", ".data/serialization_id"]
        assert archive.read("step_0050/version") == b"3\n"
        assert archive.read("step_0050/.data/serialization_id").isdigit()
        assert len(archive.read("step_0050/.data/serialization_id")) == 40
        for key, tensor in enumerate(WEIGHTS):
            assert archive.read(f"step_0050/data/{key}") == tensor.data


def test_data_starts_at_multiples_of_64_and_a_descriptor_follows_it(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
    for member in members:
        name_length, extra_length = struct.unpack_from("<HH", content, member.header_offset + 26)
        start = member.header_offset + 30 + name_length + extra_length
        assert start % 64 == 0
        assert content[start - extra_length : start - extra_length + 2] == b"FB"
        after = start + member.file_size
        assert struct.unpack_from("<4s3L", content, after) == (
            b"PK\7\10",
            member.CRC,
            member.file_size,
            member.file_size,
        )


def test_the_trailer_holds_the_zip64_records_and_ends_the_file(content: bytes) -> None:
    assert content[-98:-94] == b"PK\6\6"
    assert content[-42:-38] == b"PK\6\7"
    assert content[-22:-18] == b"PK\5\6"
    length, start = struct.unpack_from("<LL", content, len(content) - 10)
    assert start + length == len(content) - 98


class _Unpickler(pickle.Unpickler):
    """Reads data.pkl with stand-ins for the three names of torch that it holds."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda *arguments: arguments
        assert (module, name) == ("torch", "FloatStorage")
        return "float32"

    def persistent_load(self, pid: Any) -> Any:
        return pid


def test_the_pickle_describes_every_tensor(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        state = _Unpickler(io.BytesIO(archive.read("step_0050/data.pkl"))).load()
    assert state["step"] == 50
    assert state["loss"] == 2.5
    model = state["model"]
    assert isinstance(model, OrderedDict)
    assert list(model) == [tensor.name for tensor in WEIGHTS]
    rows, columns = WEIGHTS[0].shape
    storage = ("storage", "float32", "0", "cpu", rows * columns)
    assert model["embed.weight"] == (storage, 0, (rows, columns), (columns, 1), False, OrderedDict())


@pytest.mark.parametrize(("shape", "strides"), [((2, 3, 4), (12, 4, 1)), ((5,), (1,))])
def test_strides_are_row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    tensor = Tensor("x", shape, b"\0\0\0\0" * 24)
    sink = _OnlyForward()
    write_torch_file(sink, [tensor], archive="a", step=1, loss=0.0)
    with zipfile.ZipFile(io.BytesIO(bytes(sink.content))) as archive:
        state = _Unpickler(io.BytesIO(archive.read("a/data.pkl"))).load()
    assert state["model"]["x"][2:4] == (shape, strides)
