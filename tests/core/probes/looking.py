"""Files for probes that live in memory, and a file system that counts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import probe_file
from ckptdeck.core.sighting import StructureFinding

FIXTURES = Path(__file__).parents[2] / "fixtures"
PAGE = 4096


class CountingFileSystem(FileSystem):
    def __init__(self) -> None:
        self.reads = 0
        self.bytes_read = 0

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        count = super().read_into(fd, buffer, offset)
        self.reads += 1
        self.bytes_read += count
        return count


@contextlib.contextmanager
def memory_file(content: bytes, holes: tuple[tuple[int, int], ...] = ()) -> Iterator[int]:
    """An open file that holds `content`, but stores nothing in the whole pages of `holes`."""
    fd = os.memfd_create("probed")
    try:
        os.ftruncate(fd, len(content))
        position = 0
        for start, end in (*holes, (len(content), len(content))):
            os.pwrite(fd, content[position:start], position)
            position = end
        yield fd
    finally:
        os.close(fd)


def probe_bytes(content: bytes, name: str, *, holes: tuple[tuple[int, int], ...] = ()) -> StructureFinding:
    with memory_file(content, holes) as fd:
        return probe_file(FileSystem(), fd, len(content), name)


def probe_fixture(path: Path) -> StructureFinding:
    return probe_bytes(path.read_bytes(), path.name)


def save(name: str, which: str = "one_save") -> bytes:
    """A real file, by its path in the fixtures; "another_save" is another save of the same layout."""
    return (FIXTURES / which / name).read_bytes()
