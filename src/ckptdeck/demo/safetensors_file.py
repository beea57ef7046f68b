"""Writes a safetensors file without the library: u64 header length, JSON header, then the tensors without a gap."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable

from ckptdeck.demo.torch_file import Sink
from ckptdeck.demo.weights import Tensor


def write_safetensors_file(sink: Sink, tensors: Iterable[Tensor]) -> None:
    """The header is padded with spaces to a multiple of 8 bytes, as the reference writer does."""
    tensors = tuple(tensors)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for tensor in tensors:
        end = offset + len(tensor.data)
        header[tensor.name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": (offset, end)}
        offset = end
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    sink.write(struct.pack("<Q", len(encoded)) + encoded)
    for tensor in tensors:
        sink.write(tensor.data)
