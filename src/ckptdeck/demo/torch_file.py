"""Writes what `torch.save({"step": ..., "loss": ..., "model": state_dict}, file)` writes, without torch.

The layout is that of torch 2.x (`PyTorchStreamWriter`): a stored zip whose members start at multiples of 64 bytes
(padded with an extra field "FB"), sizes and CRC-32 in a descriptor after the data, always the zip64 end record and
its locator, `.data/serialization_id` last.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Protocol

from ckptdeck.core.values import dataclass
from ckptdeck.demo.weights import Tensor

_ALIGNMENT = 64
_FLAGS = 0x0808  # sizes follow the data; names are UTF-8
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_DESCRIPTOR = struct.Struct("<4s3L")
_DIRECTORY_ENTRY = struct.Struct("<4s6H3L5H2L")
_ZIP64_END = struct.Struct("<4sQ2H2L4Q")
_ZIP64_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")


class Sink(Protocol):
    """All that is asked of the file: it is written front to back, nothing is ever sought."""

    def write(self, data: bytes, /) -> int: ...


def write_torch_file(sink: Sink, tensors: Iterable[Tensor], *, archive: str, step: int, loss: float) -> None:
    """One checkpoint of under 4 GiB. `archive` is the folder inside the zip; torch takes the file's own stem."""
    tensors = tuple(tensors)
    zip_file = _TorchZip(sink, archive)
    zip_file.add("data.pkl", _pickled_state(tensors, step, loss))
    zip_file.add(".format_version", b"1")
    zip_file.add(".storage_alignment", str(_ALIGNMENT).encode())
    zip_file.add("byteorder", b"little")
    for key, tensor in enumerate(tensors):
        zip_file.add(f"data/{key}", tensor.data)
    zip_file.add("version", b"3\n")
    zip_file.add(".data/serialization_id", zip_file.serialization_id())
    zip_file.finish()


# --- the zip


@dataclass(frozen=True, slots=True)
class _Entry:
    name: bytes
    crc: int
    size: int
    offset: int


class _TorchZip:
    def __init__(self, sink: Sink, archive: str) -> None:
        self._sink = sink
        self._archive = archive
        self._offset = 0
        self._entries: list[_Entry] = []

    def add(self, name: str, data: bytes) -> None:
        entry = _Entry(f"{self._archive}/{name}".encode(), zlib.crc32(data), len(data), self._offset)
        self._entries.append(entry)
        padding = _padding(self._offset + _LOCAL_HEADER.size + len(entry.name))
        self._put(
            _LOCAL_HEADER.pack(b"PK\3\4", 0, _FLAGS, 0, 0, 0, 0, 0, 0, len(entry.name), len(padding))
            + entry.name
            + padding
        )
        self._put(data)
        self._put(_DESCRIPTOR.pack(b"PK\7\10", entry.crc, entry.size, entry.size))

    def serialization_id(self) -> bytes:
        """40 digits: 20 for the members' names, 20 for their contents, as torch's own tell saves apart."""
        names = contents = 0
        for entry in self._entries:
            names = _combined(names, zlib.crc32(entry.name))
            contents = _combined(contents, entry.crc)
        return f"{names:020}{contents:020}".encode()

    def finish(self) -> None:
        start, count = self._offset, len(self._entries)
        for entry in self._entries:
            sizes = (entry.crc, entry.size, entry.size)
            self._put(
                _DIRECTORY_ENTRY.pack(
                    b"PK\1\2", 0, 0, _FLAGS, 0, 0, 0, *sizes, len(entry.name), 0, 0, 0, 0, 0, entry.offset
                )
                + entry.name
            )
        end = self._offset
        length = end - start
        self._put(_ZIP64_END.pack(b"PK\6\6", 44, 0x031E, 0x2D, 0, 0, count, count, length, start))
        self._put(_ZIP64_LOCATOR.pack(b"PK\6\7", 0, end, 1))
        self._put(_END.pack(b"PK\5\6", 0, 0, count, count, length, start, 0))

    def _put(self, data: bytes) -> None:
        self._sink.write(data)
        self._offset += len(data)


def _padding(header_end: int) -> bytes:
    """The extra field that moves the data to the next multiple of 64; its own 4-byte head is always there."""
    filler = -(header_end + 4) % _ALIGNMENT
    return b"FB" + struct.pack("<H", filler) + b"Z" * filler


def _combined(seed: int, value: int) -> int:
    return (seed ^ (value + 0x9E3779B9 + (seed << 6) + (seed >> 2))) & 0xFFFF_FFFF_FFFF_FFFF


# --- the pickle, protocol 2: written opcode by opcode, since nothing of torch is here to be pickled

_ORDERED_DICT = b"ccollections\nOrderedDict\n" + b")R"
_REBUILD_TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"
_FLOAT_STORAGE = b"ctorch\nFloatStorage\n"


def _pickled_state(tensors: tuple[Tensor, ...], step: int, loss: float) -> bytes:
    model = b"".join(_text(tensor.name) + _tensor(key, tensor) for key, tensor in enumerate(tensors))
    state = (
        _text("step") + _integer(step),
        _text("loss") + b"G" + struct.pack(">d", loss),
        _text("model") + _ORDERED_DICT + b"(" + model + b"u",
    )
    return b"\x80\x02" + b"}(" + b"".join(state) + b"u."


def _tensor(key: int, tensor: Tensor) -> bytes:
    storage = _tuple(_text("storage"), _FLOAT_STORAGE, _text(str(key)), _text("cpu"), _integer(tensor.elements))
    shape = _tuple(*map(_integer, tensor.shape))
    strides = _tuple(*map(_integer, _row_major(tensor.shape)))
    requires_grad = b"\x89"
    arguments = _tuple(storage + b"Q", _integer(0), shape, strides, requires_grad, _ORDERED_DICT)
    return _REBUILD_TENSOR + arguments + b"R"


def _row_major(shape: tuple[int, ...]) -> list[int]:
    strides = [1]
    for length in shape[:0:-1]:
        strides.insert(0, strides[0] * length)
    return strides


def _tuple(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def _text(text: str) -> bytes:
    encoded = text.encode()
    return b"X" + struct.pack("<L", len(encoded)) + encoded


def _integer(value: int) -> bytes:
    return b"J" + struct.pack("<l", value)
