"""Calls of the kernel that the standard library has no function for, by way of the C library. Each raises OSError."""

from __future__ import annotations

import ctypes
import mmap
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int64,
]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
_AT_FDCWD = -100
_SYNC_FILE_RANGE_WRITE = 2
_LOWEST_BIT = bytes(value & 1 for value in range(256))


def rename(source: str, target: str, flags: int) -> None:
    """renameat2(2)."""
    if _libc.renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), source, None, target)


def start_sending(fd: int, offset: int, length: int) -> None:
    """sync_file_range(2) that waits for nothing. `offset` and `length` are bytes."""
    if _libc.sync_file_range(fd, offset, length, _SYNC_FILE_RANGE_WRITE) != 0:
        _raise()


def resident_pages(fd: int, offset: int, length: int) -> int:
    """How many pages of these bytes of a file are in memory (mincore(2)); none is touched."""
    address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
    if address == ctypes.c_void_p(-1).value:
        _raise()
    try:
        pages = (length + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        vector = (ctypes.c_ubyte * pages)()
        if _libc.mincore(address, length, vector) != 0:
            _raise()
        return bytes(vector).translate(_LOWEST_BIT).count(1)
    finally:
        _libc.munmap(address, length)


def _raise() -> None:
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code))
