"""A full read is gentle: paced, stoppable, told of, bounded in memory, and leaves no pages behind."""

from __future__ import annotations

import os

import pytest

from ckptdeck.core.errors import Cancelled, SourceChanged
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.hashing import Share
from ckptdeck.core.host import Host
from ckptdeck.core.probes.deep import probe_deep
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.progress import UNHURRIED, CancelToken, Effort, Pacer, Progress
from ckptdeck.core.states import Structure
from tests.core.probes.deep_looking import deep_bytes, long_reader
from tests.core.probes.looking import memory_file
from tests.core.probes.test_deep_zips import LARGE, torch_file
from tests.crash.sandbox import StillClock, machine

MIB = 1 << 20
CONTENT = torch_file(*[LARGE] * 12)


class NotingFileSystem(FileSystem):
    def __init__(self) -> None:
        self.evicted: list[tuple[int, int]] = []
        self.largest = 0

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        self.largest = max(self.largest, len(buffer))
        return super().read_into(fd, buffer, offset)

    def evict(self, fd: int, offset: int = 0, length: int = 0) -> None:
        self.evicted.append((offset, length))


def test_pieces_are_the_bytes() -> None:
    with long_reader(LARGE) as reader:
        for begin, end in ((0, len(LARGE)), (5, 10), (MIB - 3, 2 * MIB + 7), (len(LARGE) - 2, len(LARGE) + 9), (7, 7)):
            assert b"".join(map(bytes, reader.pieces(begin, end))) == LARGE[begin:end]
        assert all(len(piece) <= MIB for piece in reader.pieces(0, len(LARGE)))


def test_pages_are_given_back_behind_the_pass() -> None:
    fs = NotingFileSystem()
    assert deep_bytes(CONTENT, "model.pt", fs=fs).structure is Structure.OK
    assert fs.largest <= MIB
    assert fs.evicted[-1] == (0, 0)
    behind = fs.evicted[:-1]
    assert behind[0][0] < MIB
    assert sum(length for _, length in behind) > len(CONTENT) - 9 * MIB


def test_progress_ends_with_the_file_and_never_goes_back() -> None:
    seen: list[Progress] = []
    deep_bytes(CONTENT, "model.pt", effort=Effort(report=seen.append))
    assert {(each.phase, each.name, each.side, each.total) for each in seen} == {
        ("deep", "model.pt", "primary", len(CONTENT))
    }
    done = [each.done for each in seen]
    assert done == sorted(done)
    assert done[-1] == len(CONTENT)
    assert len(done) > 20


def test_progress_of_one_file_among_several() -> None:
    seen: list[Progress] = []
    with memory_file(CONTENT) as fd:
        probe_deep(
            machine(FileSystem()),
            fd,
            len(CONTENT),
            name="model.pt",
            side="mirror",
            effort=Effort(report=seen.append),
            share=Share(500, 10**9),
        )
    assert (seen[-1].done, seen[-1].total, seen[-1].side) == (500 + len(CONTENT), 10**9, "mirror")


def test_a_rate_is_kept() -> None:
    clock = StillClock()
    host = Host(fs=FileSystem(), clock=clock, name="box", boot_id="b", pid=1, process_start="s")
    before = clock.monotonic()
    with memory_file(CONTENT) as fd:
        probe_deep(host, fd, len(CONTENT), name="model.pt", side="primary", effort=Effort(bytes_per_second=10 * MIB))
    spent = clock.monotonic() - before
    assert 0.9 < spent / (len(CONTENT) / (10 * MIB)) < 1.2


def test_it_stops_within_a_piece() -> None:
    token, seen = CancelToken(), list[Progress]()

    def stop(progress: Progress) -> None:
        seen.append(progress)
        token.cancel()

    with pytest.raises(Cancelled):
        deep_bytes(CONTENT, "model.pt", effort=Effort(report=stop, cancel=token))
    assert len(seen) == 1


def test_a_file_that_becomes_shorter_is_no_finding() -> None:
    with memory_file(LARGE) as fd:
        reader = LongReader(
            FileSystem(), fd, len(LARGE), UNHURRIED, pacer=Pacer(StillClock(), UNHURRIED), tell=lambda _: None
        )
        pieces = reader.pieces(0, len(LARGE))
        next(pieces)
        os.ftruncate(fd, MIB + 5)
        with pytest.raises(SourceChanged, match="became shorter"):
            list(pieces)
