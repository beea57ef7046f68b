"""Work in the background stands back: its thread asks the device last, and gets little of a busy processor.

So the training's reads, saves and computing go first, and where nobody else wants anything the work is as fast as ever.
`ioprio_set(2)` has no wrapper in libc or Python; the number of the call depends on the machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

_SET = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "ppc64le": 273, "s390x": 282}
"""`ioprio_get` is the next number everywhere."""
_WHO_PROCESS = 1
_CALLING_THREAD = 0
_IDLE = 3 << 13
"""Class IDLE: served when nobody else asks the device for anything."""
_NICENESS = 15
"""About a thirtieth of a processor that somebody else wants all of."""


def lower_priority() -> bool:
    """Puts the calling thread, and threads it starts from now on, behind everybody else. False where I/O cannot be.

    Safe for what the thread does: the class only decides when its requests are sent to the device, not what they
    say or in which order a file's own writes and its fsync are honoured; no other thread of the process changes. A
    busy machine can make the thread wait long, which is the point, and it still notices a cancel at its next chunk.
    """
    niceness = os.getpriority(os.PRIO_PROCESS, _CALLING_THREAD)
    os.setpriority(os.PRIO_PROCESS, _CALLING_THREAD, max(niceness, _NICENESS))
    return _set_io_class(_IDLE)


@contextlib.contextmanager
def lowered_priority() -> Iterator[None]:
    """The same for a while; only root may go back to a better place among the processes."""
    niceness, io_class = os.getpriority(os.PRIO_PROCESS, _CALLING_THREAD), _io_class()
    lower_priority()
    try:
        yield
    finally:
        _set_io_class(io_class)
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, _CALLING_THREAD, niceness)


def _set_io_class(value: int) -> bool:
    return _call(0, value) == 0


def _io_class() -> int:
    return max(0, _call(1))


def _call(after_set: int, *value: int) -> int:
    number = _SET.get(os.uname().machine)
    if number is None:
        return -1
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(number + after_set, _WHO_PROCESS, _CALLING_THREAD, *value))
