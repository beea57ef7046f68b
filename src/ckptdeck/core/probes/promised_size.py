"""The size that a file says it will have, which its header tells before its values are there.

safetensors, GGUF and npy are written front to back with their header first; the other formats say it at their end, or
not at all.
"""

from __future__ import annotations

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import gguf, npy, safetensors
from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge

_HEAD = 16
_MOST_BYTES = 32 * MIB


def promised_size(fs: FileSystem, fd: int, size: int, name: str) -> int | None:
    """Bytes the file will have once it is whole; None while its header is not, or where it does not say.

    Reads the header only, 32 MiB at most. OSError passes through.
    """
    reader = Reader(fs, fd, size, most=_MOST_BYTES)
    head = reader.at(0, _HEAD)
    try:
        if safetensors.looks_like_safetensors(head, name):
            return safetensors.promised_end(reader)
        if gguf.looks_like_gguf(head):
            return gguf.promised_end(reader)
        if head.startswith(npy.MAGIC):
            return npy.read_array_header(reader, 0, size).end
    except (Damage, TooLarge):
        return None
    return None
