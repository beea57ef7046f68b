"""What others keep in memory stays there; what our reading and writing brought in goes."""

from __future__ import annotations

import errno
import os

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.page_cache import WINDOW, ReadTrail, WriteTrail, hot_windows

FD = 7
MIB = 1 << 20


class Cache(FileSystem):
    """A page cache that holds the windows it is told; remembers what it was asked to give back."""

    def __init__(self, *held: int, silent: bool = False) -> None:
        self.held, self.silent = set(held), silent
        self.given_back: list[tuple[int, int]] = []

    def evict(self, fd: int, offset: int = 0, length: int = 0) -> None:
        assert fd == FD
        self.given_back.append((offset, length))

    def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
        if self.silent:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        return 3 if offset in self.held else 0


def read(cache: Cache, size: int, *, start: int = 0) -> list[tuple[int, int]]:
    trail = ReadTrail(cache, FD, start, hot_windows(cache, FD, size))
    for done in (*range(start + MIB, size, MIB), size):
        trail.follow(done)
    trail.finish()
    return cache.given_back


def test_a_reader_gives_back_window_after_window_and_the_rest_at_the_end() -> None:
    assert read(Cache(), 2 * WINDOW + 5) == [(0, WINDOW), (WINDOW, WINDOW), (0, 0)]


def test_windows_of_others_stay() -> None:
    assert read(Cache(0, 2 * WINDOW), 3 * WINDOW + 5) == [(WINDOW, WINDOW), (3 * WINDOW, WINDOW)]


def test_the_last_window_of_others_stays_too() -> None:
    assert read(Cache(WINDOW), WINDOW + 5) == [(0, WINDOW)]


def test_where_nobody_can_tell_everything_stays() -> None:
    assert read(Cache(silent=True), 3 * WINDOW) == [(3 * WINDOW, WINDOW)]  # behind the end: nothing


def test_a_reader_that_starts_within_a_window_gives_all_of_it_back() -> None:
    assert read(Cache(), 2 * WINDOW, start=WINDOW + MIB) == [(WINDOW, WINDOW), (0, 0)]


def test_a_writer_sends_each_window_on_and_gives_back_what_arrived_since() -> None:
    cache = Cache()
    trail = WriteTrail(cache, FD)
    for done in range(MIB, 2 * WINDOW + MIB, MIB):
        trail.follow(done)
    assert cache.given_back == [(0, WINDOW), (0, 2 * WINDOW)]


@pytest.mark.parametrize("offset", [0, 2 * os.sysconf("SC_PAGE_SIZE")])
def test_pages_are_counted_from_an_offset(tmp_path: os.PathLike[str], offset: int) -> None:
    path = os.path.join(tmp_path, "file")
    page = os.sysconf("SC_PAGE_SIZE")
    with open(path, "wb") as file:
        file.write(bytes(5 * page))
    fs = FileSystem()
    fd = fs.open(path, os.O_RDONLY)
    assert fs.resident_pages(fd, 5 * page - offset, offset) == 5 - offset // page
    fs.close(fd)
