"""Only the thread that asks is put behind, and what is put behind for a while comes back."""

from __future__ import annotations

import ctypes
import os
import threading

import pytest

from ckptdeck.monitor.priority import lower_priority, lowered_priority

_GET = {"x86_64": 252, "aarch64": 31, "riscv64": 31}
_CLASS_SHIFT = 13
_IDLE = 3

pytestmark = pytest.mark.skipif(os.uname().machine not in _GET, reason="the number of ioprio_get is not known here")


def io_class() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(_GET[os.uname().machine], 1, 0)) >> _CLASS_SHIFT


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def test_the_calling_thread_and_those_it_starts_stand_back_and_no_other() -> None:
    before = (io_class(), niceness())
    found: list[tuple[int, int]] = []

    def work() -> None:
        assert lower_priority()
        found.append((io_class(), niceness()))
        child = threading.Thread(target=lambda: found.append((io_class(), niceness())))
        child.start()
        child.join()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(_IDLE, 15), (_IDLE, 15)]
    assert (io_class(), niceness()) == before != found[0]


def test_afterwards_it_is_as_it_was() -> None:
    before = (io_class(), niceness())
    after: list[tuple[int, int]] = []

    def work() -> None:
        with lowered_priority():
            assert io_class() == _IDLE
        after.append((io_class(), niceness()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert after[0][0] == before[0]
    assert after[0][1] in (before[1], 15)  # who is not root may not come back
