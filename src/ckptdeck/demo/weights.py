"""Made-up model weights: float32 tensors that look like a small transformer and are the same for the same seed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from ckptdeck.core.values import dataclass

_LAYERS = 4
_FLOATS_PER_WIDTH_SQUARED = 4 + _LAYERS * 12 + 4  # embedding and head are four times as tall as they are wide

# The top byte of a float32 holds its sign and most of its exponent; these four make values of 0.002 to 0.03.
_TOP_BYTES = bytes((0x3B, 0x3C, 0xBB, 0xBC)[value & 3] for value in range(256))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A contiguous little-endian float32 tensor; `data` holds 4 bytes per element of `shape`."""

    name: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def make_weights(size: int, seed: str) -> tuple[Tensor, ...]:
    """All tensors of one model, about `size` bytes together (never under some kilobytes)."""
    width = max(8, math.isqrt(size // 4 // _FLOATS_PER_WIDTH_SQUARED))
    return tuple(Tensor(name, shape, _values(f"{seed}/{name}", math.prod(shape))) for name, shape in _layout(width))


def _layout(width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "embed.weight", (4 * width, width)
    for layer in range(_LAYERS):
        yield f"layers.{layer}.norm.weight", (width,)
        yield f"layers.{layer}.attention.qkv.weight", (3 * width, width)
        yield f"layers.{layer}.attention.out.weight", (width, width)
        yield f"layers.{layer}.mlp.up.weight", (4 * width, width)
        yield f"layers.{layer}.mlp.down.weight", (width, 4 * width)
    yield "head.weight", (4 * width, width)


def _values(seed: str, count: int) -> bytes:
    values = bytearray(random.Random(seed).randbytes(4 * count))
    values[3::4] = values[3::4].translate(_TOP_BYTES)
    return bytes(values)
