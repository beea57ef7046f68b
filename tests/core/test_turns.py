"""A file is gone through in order, alone or as a pair, and however it ends no thread is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from ckptdeck.core import turns
from ckptdeck.core.turns import each_block

BLOCK = 64
BYTES = bytes(index % 251 for index in range(10 * BLOCK + 7))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(turns, "BLOCK", BLOCK)
    monkeypatch.setattr(turns, "PAIR_FROM", 2 * BLOCK)
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == turns.HELPER]


@pytest.fixture(params=[False, True], ids=["alone", "pair"])
def pair(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


class Reads:
    """A file of `data` that gives at most `most` bytes at a time and fails at an offset when asked to."""

    def __init__(self, data: bytes = BYTES, *, most: int = 2 * BLOCK, fails_at: int | None = None) -> None:
        self.data, self.most, self.fails_at = data, most, fails_at
        self.threads: set[int] = set()

    def __call__(self, buffer: memoryview, offset: int) -> int:
        self.threads.add(threading.get_ident())
        if self.fails_at is not None and offset >= self.fails_at:
            raise OSError(5, "no more")
        found = self.data[offset : offset + min(self.most, len(buffer))]
        buffer[: len(found)] = found
        return len(found)


class Kept:
    """Keeps what it is handed; raises at the block `fails_at`."""

    def __init__(self, *, fails_at: int | None = None, error: BaseException | None = None) -> None:
        self.data = b""
        self.blocks = 0
        self._fails_at, self._error = fails_at, error
        self._busy = threading.Lock()

    def __call__(self, block: memoryview) -> None:
        assert self._busy.acquire(blocking=False), "two blocks at once"
        try:
            if self.blocks == self._fails_at and self._error is not None:
                raise self._error
            self.data += bytes(block)
            self.blocks += 1
        finally:
            self._busy.release()


@pytest.mark.parametrize("most", [2 * BLOCK, BLOCK // 2 + 1, 1])
@pytest.mark.parametrize("start", [0, 5, 8 * BLOCK, len(BYTES) - 1, len(BYTES)])
def test_every_byte_is_handled_once_and_in_order(pair: bool, start: int, most: int) -> None:
    kept = Kept()
    assert each_block(Reads(most=most), kept, start, len(BYTES), pair=pair) == len(BYTES)
    assert kept.data == BYTES[start:]


@pytest.mark.parametrize("length", [0, 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK, 6 * BLOCK - 1, 9 * BLOCK])
def test_a_file_that_ends_early_is_told(pair: bool, length: int) -> None:
    kept = Kept()
    assert each_block(Reads(BYTES[:length]), kept, 0, len(BYTES), pair=pair) == length
    assert kept.data == BYTES[:length]


@pytest.mark.parametrize("block", range(11))
def test_a_failing_read_ends_it_behind_what_came_before(pair: bool, block: int) -> None:
    kept = Kept()
    with pytest.raises(OSError, match="no more"):
        each_block(Reads(fails_at=block * BLOCK), kept, 0, len(BYTES), pair=pair)
    assert BYTES.startswith(kept.data)
    assert len(kept.data) <= block * BLOCK


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()], ids=["full", "Ctrl-C"])
@pytest.mark.parametrize("block", range(11))
def test_a_failing_handler_ends_it_at_once(pair: bool, block: int, error: BaseException) -> None:
    kept = Kept(fails_at=block, error=error)
    with pytest.raises(type(error)):
        each_block(Reads(), kept, 0, len(BYTES), pair=pair)
    assert kept.data == BYTES[: block * BLOCK]


@pytest.mark.parametrize(
    ("asked", "end", "threads"),
    [(True, len(BYTES), 2), (False, len(BYTES), 1), (True, 2 * BLOCK - 1, 1)],
    ids=["pair", "alone", "small"],
)
def test_only_a_large_file_gets_a_second_thread(asked: bool, end: int, threads: int) -> None:
    reads = Reads()
    each_block(reads, Kept(), 0, end, pair=asked)
    assert len(reads.threads) == threads


def test_a_signal_while_the_helper_is_waited_for_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's thread is interrupted twice: in its work, and again while it waits for the helper to end."""
    in_read, go_on = threading.Event(), threading.Event()
    join: Callable[..., None] = threading.Thread.join

    def interrupted_join(self: threading.Thread, timeout: float | None = None) -> None:
        if not go_on.is_set():
            go_on.set()
            raise KeyboardInterrupt
        join(self, timeout)

    def read(buffer: memoryview, offset: int) -> int:
        if offset == BLOCK:
            in_read.set()
            go_on.wait()
        return len(buffer)

    def handle(_block: memoryview) -> None:
        in_read.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted_join)
    with pytest.raises(KeyboardInterrupt):
        each_block(read, handle, 0, len(BYTES), pair=True)
