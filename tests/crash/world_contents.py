"""Names and bytes of a made-up world: the name tells step and kind, a file's own format says where it ends."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

from ckptdeck.core.states import Kind
from tests.crash.contents import Content, Tree


def name_of(step: int, kind: Kind) -> str:
    match kind:
        case Kind.FILE:
            return f"step_{step:04d}.safetensors"
        case Kind.DIRECTORY:
            return f"checkpoint-{step}"
        case Kind.GROUP:
            return f"ckpt-{step}"


def kind_of(name: str) -> Kind:
    if name.startswith("checkpoint-"):
        return Kind.DIRECTORY
    return Kind.GROUP if name.startswith("ckpt-") else Kind.FILE


def step_of(name: str) -> int:
    found = re.search(r"\d+", name)
    assert found is not None
    return int(found[0])


def filler(seed: int, size: int) -> bytes:
    """Bytes without zeros that differ from seed to seed."""
    return bytes((seed * 41 + place * 7) % 255 + 1 for place in range(size))


def safetensors(seed: int) -> bytes:
    """A file of a format that says where it ends."""
    data = filler(seed, 4 * 150)
    header = json.dumps({"w": {"dtype": "F32", "shape": [150], "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def write(path: Path, data: bytes) -> None:
    changed(path, lambda: path.write_bytes(data))


def changed(path: Path, change: Callable[[], object]) -> None:
    """Changes a file so that its ctime moves: a change within one tick of the kernel's clock cannot be told (R32)."""
    before = path.stat().st_ctime_ns if path.exists() else None
    change()
    while path.exists() and path.stat().st_ctime_ns == before:
        os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))


def set_times(path: Path, mtime_ns: int) -> None:
    """Of a file, or of every file below a directory."""
    for each in (path, *path.rglob("*")) if path.is_dir() else (path,):
        if each.is_file() and not each.is_symlink():
            _set_time(each, mtime_ns)


def _set_time(path: Path, mtime_ns: int) -> None:
    changed(path, lambda: os.utime(path, ns=(mtime_ns, mtime_ns)))


def content_of(seed: int, kind: Kind, name: str) -> Content:
    """What a trainer saves under `name`; every seed gives another one."""
    match kind:
        case Kind.FILE:
            return safetensors(seed)
        case Kind.DIRECTORY:
            return Tree({"weights.bin": filler(seed, 700), "state/optim.bin": filler(seed + 99, 300)})
        case Kind.GROUP:
            data, index = f"{name}.data-00000-of-00001", f"{name}.index"
            return Tree({data: filler(seed, 500 + seed), index: filler(seed + 7, 90)}, group=True)
