"""Idle I/O priority for threads that work in the background, so that the training's reads and saves go first.

`ioprio_set(2)` has no wrapper in libc or Python; the number of the call depends on the machine.
"""

from __future__ import annotations

import ctypes
import os

_CALL_NUMBERS = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "ppc64le": 273, "s390x": 282}
_WHO_PROCESS = 1
_CALLING_THREAD = 0
_IDLE = 3 << 13
"""Class IDLE: served when nobody else asks the device for anything."""


def lower_io_priority() -> bool:
    """Puts the calling thread, and threads it starts from now on, into the idle I/O class. False where it cannot.

    Safe for what the thread does: the class only decides when its requests are sent to the device, not what they
    say or in which order a file's own writes and its fsync are honoured; no other thread of the process changes. A
    busy device can make the thread wait long, which is the point, and it still notices a cancel at its next chunk.
    """
    number = _CALL_NUMBERS.get(os.uname().machine)
    if number is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(number, _WHO_PROCESS, _CALLING_THREAD, _IDLE)) == 0
