"""Going through a file block by block, alone or as a pair of threads that take turns.

Each of a pair reads every second block while the other handles the one before; what was read is handled by who read
it, in the order of the file and never by both at once. On bytes in memory that halves the time: copying them out of the
page cache is nearly all of the cost, and two processors can do it at once. A device gains nothing by it.
"""

from __future__ import annotations

import contextlib
import mmap
import threading
from collections.abc import Callable
from queue import SimpleQueue

BLOCK = 1 << 20
"""Bytes read at a time: larger ones fall out of the processor's cache and are slower (performance.md 1.1)."""
PAIR_FROM = 32 * BLOCK
"""Less than this is over before a second thread would help: trees of many small files start none."""

_HUGE_PAGE = 2 << 20

HELPER = "every second block"
"""Name of the second thread."""

Read = Callable[[memoryview, int], int]
"""(buffer, offset) → bytes read, 0 at the end. A pair calls it from both threads at once."""
Handle = Callable[[memoryview], None]
"""Gets each block in its turn, on either thread."""


def each_block(read: Read, handle: Handle, start: int, end: int, *, pair: bool) -> int:
    """Reads from `start` up to `end` and lets every block be handled; returns how far it came.

    That is less than `end` when the file ends early. What `read` or `handle` raises, on either thread, ends both and is
    raised here; no thread is left when this returns, in whatever way.
    """
    turns = _Turns(read, handle, start, end)
    if not pair or end - start < PAIR_FROM:
        turns.alone()
    else:
        turns.together()
    return turns.came_to


def _buffer(size: int) -> memoryview:
    """For blocks of `size` bytes in all; in one huge page where that is worth it and the kernel has it.

    Copying a file's bytes into small pages takes a third longer: the processor looks up 256 of them for each block.
    """
    if size < PAIR_FROM:
        return memoryview(bytearray(min(BLOCK, size)))
    memory = mmap.mmap(-1, max(BLOCK, _HUGE_PAGE))
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)[:BLOCK]


class _Turns:
    def __init__(self, read: Read, handle: Handle, start: int, end: int) -> None:
        self._read = read
        self._handle = handle
        self._end = end
        self._failure: BaseException | None = None
        self._turn: tuple[SimpleQueue[bool], SimpleQueue[bool]] = (SimpleQueue(), SimpleQueue())
        """Of the caller's thread and of the helper: true is a turn, false is the end of the work."""
        self.came_to = start

    def alone(self) -> None:
        buffer = _buffer(self._end - self.came_to)
        while self.came_to < self._end and self._take(self._fill(buffer, self.came_to)):
            continue

    def together(self) -> None:
        start = self.came_to
        helper = threading.Thread(target=self._help, args=(start + BLOCK,), name=HELPER)
        try:
            helper.start()
            self._turn[0].put(True)
            self._work(0, start)
        finally:
            self._turn[1].put(False)
            _join(helper)
        if self._failure is not None:
            raise self._failure

    def _help(self, start: int) -> None:
        try:
            self._work(1, start)
        except BaseException as failure:  # noqa: BLE001 - raised again on the caller's thread
            self._failure = failure
        finally:
            self._turn[0].put(False)

    def _work(self, me: int, start: int) -> None:
        mine, other = self._turn[me], self._turn[1 - me]
        buffer = _buffer(self._end - start)
        for offset in range(start, self._end, 2 * BLOCK):
            block = self._fill(buffer, offset)
            if not mine.get():
                return
            whole = self._take(block)
            other.put(whole)
            if not whole:
                return
        mine.get()  # the last block may be the other's

    def _fill(self, buffer: memoryview, offset: int) -> memoryview:
        """One block, or what there is of it: the kernel may give less at a time."""
        wanted = min(BLOCK, self._end - offset)
        filled = 0
        while filled < wanted:
            count = self._read(buffer[filled:wanted], offset + filled)
            if count == 0:
                break
            filled += count
        return buffer[:filled]

    def _take(self, block: memoryview) -> bool:
        """False when the file ended within this block."""
        wanted = min(BLOCK, self._end - self.came_to)
        if block:
            self._handle(block)
        self.came_to += len(block)
        return len(block) == wanted


def _join(helper: threading.Thread) -> None:
    """Waits for it, whatever a signal raises meanwhile: it must not outlive the descriptors it works with."""
    interruption: BaseException | None = None
    while helper.is_alive():
        try:
            helper.join()
        except BaseException as raised:  # noqa: BLE001 - raised again below
            interruption = raised
    if interruption is not None:
        raise interruption
