"""What zstd frames hold, where a decompressor is at hand: Python's own from 3.14 on, or the `zstandard` package.

Neither is needed: without one, frames are walked (zstd.py) and what only their content could tell stays untold.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Protocol

_OWN = "compression.zstd"
_PACKAGE = "zstandard"
_LARGEST_WINDOW = 1 << 27
"""What the library itself allows by default."""
_PIECE = 256
"""Bytes; sixty-four blocks of 128 kB at most."""


class Source(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def can_decompress() -> bool:
    return _module(_OWN) is not None or _module(_PACKAGE) is not None


def decompress(data: bytes, limit: int) -> bytes | None:
    """The content of the one frame in `data`; None where nothing can decompress it.

    Raises ValueError when it is no whole frame of at most `limit` bytes. No length in the frame sizes a buffer.
    """
    if own := _module(_OWN):
        return _decompress_with_own(own, data, limit)
    if package := _module(_PACKAGE):
        return _decompress_with_package(package, data, limit)
    return None


def lengths_of_content(source: Source, piece: int) -> Iterator[int]:
    """Unpacks all frames that `source` reads, at most `piece` bytes at a time, and tells how many bytes each time.

    Nothing where nothing can decompress them. Raises ValueError for what is damaged, or cannot be unpacked here.
    """
    if own := _module(_OWN):
        module, stream = own, own.ZstdFile(source)
    elif package := _module(_PACKAGE):
        machine = package.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
        module, stream = package, machine.stream_reader(source, read_across_frames=True)
    else:
        return
    while True:
        try:
            length = len(stream.read(piece))
        except (module.ZstdError, EOFError) as error:
            raise ValueError(str(error)) from None
        if not length:
            return
        yield length


def _decompress_with_own(zstd: ModuleType, data: bytes, limit: int) -> bytes:
    machine = zstd.ZstdDecompressor()
    try:
        content: bytes = machine.decompress(data, limit + 1)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from None
    if not machine.eof or machine.unused_data or len(content) > limit:
        raise ValueError(f"no whole frame of at most {limit:,} bytes")
    return content


def _decompress_with_package(zstd: ModuleType, data: bytes, limit: int) -> bytes:
    """Fed in small pieces: the package limits only what goes in, and a piece cannot hold much."""
    machine = zstd.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
    content = bytearray()
    for place in range(0, len(data), _PIECE):
        if machine.eof or len(content) > limit:
            break
        try:
            content += machine.decompress(data[place : place + _PIECE])
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from None
    if not machine.eof or machine.unused_data or place + _PIECE < len(data) or len(content) > limit:
        raise ValueError(f"no whole frame of at most {limit:,} bytes")
    return bytes(content)


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
