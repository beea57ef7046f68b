"""Only the thread that asks is put behind."""

from __future__ import annotations

import ctypes
import os
import threading

import pytest

from ckptdeck.monitor.io_priority import lower_io_priority

_GET = {"x86_64": 252, "aarch64": 31, "riscv64": 31}
_CLASS_SHIFT = 13
_IDLE = 3


def io_class() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(_GET[os.uname().machine], 1, 0)) >> _CLASS_SHIFT


@pytest.mark.skipif(os.uname().machine not in _GET, reason="the number of ioprio_get is not known here")
def test_the_calling_thread_and_those_it_starts_become_idle_and_no_other() -> None:
    before = io_class()
    classes: list[int] = []

    def work() -> None:
        assert lower_io_priority()
        classes.append(io_class())
        child = threading.Thread(target=lambda: classes.append(io_class()))
        child.start()
        child.join()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert classes == [_IDLE, _IDLE]
    assert io_class() == before != _IDLE
