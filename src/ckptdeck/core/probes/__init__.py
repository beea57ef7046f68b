"""What the format of a file says about it, by headers and trailers alone. Nothing is unpickled, mapped or imported.

A finding is never an error of the program: content can be as hostile as it likes. Structure.OK means that the outside
fits; values are not looked at, so it is never the word "verified".
"""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import npy, torch_legacy
from ckptdeck.core.probes.compressed import looks_compressed, probe_compressed
from ckptdeck.core.probes.generic import probe_tiny, probe_zeros, recognise_format
from ckptdeck.core.probes.gguf import looks_like_gguf, probe_gguf
from ckptdeck.core.probes.hdf5 import looks_like_hdf5, probe_hdf5
from ckptdeck.core.probes.lost_head import looks_headless, probe_headless
from ckptdeck.core.probes.msgpack import looks_like_msgpack, probe_msgpack
from ckptdeck.core.probes.pickle_file import looks_like_pickle, probe_pickle
from ckptdeck.core.probes.reading import PAGE, Reader, TooLarge
from ckptdeck.core.probes.safetensors import looks_like_safetensors, probe_safetensors
from ckptdeck.core.probes.torch_zip import looks_like_zip, probe_zip
from ckptdeck.core.probes.xz import looks_like_xz, probe_xz
from ckptdeck.core.probes.zstd import looks_like_zstd, probe_zstd
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_Recognise = Callable[[bytes, str], bool]
"""By the first page and the name."""
_Probe = Callable[[Reader, str], StructureFinding]

_BY_CONTENT_OR_NAME: tuple[tuple[_Recognise, _Probe], ...] = (
    (lambda head, name: head.startswith(npy.MAGIC), lambda reader, name: npy.probe_npy(reader)),
    (
        lambda head, name: head.startswith(torch_legacy.MAGIC),
        lambda reader, name: torch_legacy.probe_torch_legacy(reader),
    ),
    (lambda head, name: looks_like_gguf(head), lambda reader, name: probe_gguf(reader)),
    (lambda head, name: looks_like_xz(head), lambda reader, name: probe_xz(reader)),
    (lambda head, name: looks_like_zstd(head), lambda reader, name: probe_zstd(reader)),
    (looks_compressed, probe_compressed),
    (looks_like_pickle, probe_pickle),
    (looks_like_msgpack, probe_msgpack),
    (looks_headless, probe_headless),
)
"""The first that recognises a file judges it; those that go by a name alone come last."""


def probe_file(fs: FileSystem, fd: int, size: int, name: str, effort: Effort = UNHURRIED) -> StructureFinding:
    """The finding for the open regular file `fd` of `size` bytes.

    Never raises for content; OSError of the file system and Cancelled pass through. Reads at most 256 MiB, usually some
    kilobytes. The result holds only if the file did not change meanwhile, which the caller checks by its stat.
    """
    return probe_open_file(Reader(fs, fd, size, effort), name)


def probe_open_file(reader: Reader, name: str) -> StructureFinding:
    """`probe_file` of a file that has its reader already."""
    if tiny := probe_tiny(reader.size):
        return tiny
    head = reader.at(0, PAGE)
    if zeros := probe_zeros(reader, head, name):
        return zeros
    try:
        if looks_like_zip(reader, head):
            return probe_zip(reader)
        if looks_like_safetensors(head, name):
            return probe_safetensors(reader)
        if looks_like_hdf5(reader, head, name):
            return probe_hdf5(reader)
        for looks_like, probe in _BY_CONTENT_OR_NAME:
            if looks_like(head, name):
                return probe(reader, name)
    except TooLarge:
        return StructureFinding(
            Structure.UNKNOWN, "", "its tables are too large for a quick look; only a hash can tell"
        )
    if known := recognise_format(head):
        return StructureFinding(Structure.UNKNOWN, known, f"starts as {known}; its structure is not judged")
    return StructureFinding(Structure.UNKNOWN, "", "no known format")
