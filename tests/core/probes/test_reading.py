from __future__ import annotations

import errno

import pytest

from ckptdeck.core.errors import Cancelled
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import probe_file
from ckptdeck.core.probes.lost_pages import holes, zero_tail
from ckptdeck.core.probes.reading import MOST_BYTES, Reader, TooLarge
from ckptdeck.core.progress import CancelToken, Effort
from ckptdeck.core.states import Structure
from tests.core.probes.looking import FIXTURES, PAGE, CountingFileSystem, memory_file

MODEL = FIXTURES / "one_save" / "safetensors" / "model.safetensors"


def test_reads_end_where_the_file_ends() -> None:
    with memory_file(b"0123456789") as fd:
        reader = Reader(FileSystem(), fd, 10)
        assert reader.at(8, 1 << 60) == b"89"
        assert reader.at(10, 4) == b""
        assert reader.at(1 << 62, 4) == b""
        assert reader.at(-4, 8) == b""
        assert reader.near(9, 8) == b"9"


def test_a_file_that_shrank_meanwhile_gives_what_is_left() -> None:
    with memory_file(b"0123456789") as fd:
        assert Reader(FileSystem(), fd, 4096).at(4, 100) == b"456789"


def test_small_things_close_together_cost_one_read() -> None:
    fs = CountingFileSystem()
    with memory_file(bytes(range(200))) as fd:
        reader = Reader(fs, fd, 200)
        assert [reader.near(place, 4) for place in (10, 20, 100)] == [
            bytes(range(place, place + 4)) for place in (10, 20, 100)
        ]
    assert fs.reads == 1


def test_more_than_a_quick_look_is_not_read() -> None:
    with memory_file(b"") as fd:
        FileSystem().truncate(fd, MOST_BYTES * 2)
        with pytest.raises(TooLarge):
            Reader(FileSystem(), fd, MOST_BYTES * 2).at(0, MOST_BYTES + 1)


class ShortReads(FileSystem):
    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        return super().read_into(fd, buffer[:7], offset)


class NoHoles(FileSystem):
    def next_hole(self, fd: int, offset: int) -> int:
        raise OSError(errno.EINVAL, "SEEK_HOLE is unknown here")


class FailingDisk(FileSystem):
    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        raise OSError(errno.EIO, "input/output error")


@pytest.mark.parametrize("fs", [ShortReads(), NoHoles()])
def test_short_reads_and_file_systems_without_holes_change_nothing(fs: FileSystem) -> None:
    content = MODEL.read_bytes()
    with memory_file(content) as fd:
        assert probe_file(fs, fd, len(content), "model.safetensors").structure is Structure.OK


def test_what_the_disk_says_is_not_taken_for_damage() -> None:
    with memory_file(b"x" * 100) as fd, pytest.raises(OSError, match="input/output"):
        probe_file(FailingDisk(), fd, 100, "model.safetensors")


def test_a_probe_can_be_stopped() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with memory_file(b"x" * 100) as fd, pytest.raises(Cancelled):
        probe_file(FileSystem(), fd, 100, "model.safetensors", Effort(cancel=cancel))


def test_holes_are_listed_as_they_lie() -> None:
    content = bytes(10 * PAGE)
    with memory_file(content, ((2 * PAGE, 4 * PAGE), (7 * PAGE, 10 * PAGE))) as fd:
        reader = Reader(FileSystem(), fd, len(content))
        assert holes(reader, 0, len(content)) == [(2 * PAGE, 4 * PAGE), (7 * PAGE, 10 * PAGE)]
        assert holes(reader, 3 * PAGE, 5 * PAGE) == [(3 * PAGE, 4 * PAGE)]
        assert reader.bytes_read == 0


@pytest.mark.parametrize("begin", [0, 100, PAGE])
@pytest.mark.parametrize("pages", [1, 2, 3, 7, 40, 1000])
def test_the_zeros_at_the_end_are_found_to_the_page(begin: int, pages: int) -> None:
    content = b"x" * (1024 * PAGE - pages * PAGE) + bytes(pages * PAGE - 1000)
    with memory_file(content) as fd:
        reader = Reader(FileSystem(), fd, len(content))
        assert zero_tail(reader, begin, len(content)) == (1024 - pages) * PAGE
        assert reader.bytes_read < 200_000


def test_zeros_from_the_very_beginning_are_told_from_zeros_after_it() -> None:
    with memory_file(bytes(5 * PAGE)) as fd:
        assert zero_tail(Reader(FileSystem(), fd, 5 * PAGE), 100, 5 * PAGE) == 100
    with memory_file(bytes(200) + b"x" + bytes(5 * PAGE)) as fd:
        assert zero_tail(Reader(FileSystem(), fd, 5 * PAGE + 201), 100, 5 * PAGE + 201) == PAGE


def test_a_last_page_that_holds_a_value_is_no_zero_tail() -> None:
    content = b"x" * PAGE + bytes(3 * PAGE) + b"x"
    with memory_file(content) as fd:
        assert zero_tail(Reader(FileSystem(), fd, len(content)), 0, len(content)) is None
