"""Where the bench works: two file systems on loop devices as root, two directories otherwise; and files to copy."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.crash.volumes import may_mount

MIB = 1 << 20
GIB = 1 << 30
_BLOCK = 64 * MIB


@contextlib.contextmanager
def two_volumes(room: Path, size: int, fs_type: str = "ext4") -> Iterator[tuple[Path, Path]]:
    """Directories on two file systems of `size` bytes each, or both in `room` where nothing can be mounted."""
    room.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        if may_mount():
            places = [stack.enter_context(_volume(room / name, size, fs_type)) for name in ("source", "target")]
        else:
            places = [room / name for name in ("source", "target")]
            for place in places:
                place.mkdir()
        yield places[0], places[1]


@contextlib.contextmanager
def _volume(root: Path, size: int, fs_type: str) -> Iterator[Path]:
    image = root.with_suffix(".img")
    with open(image, "wb") as file:
        file.truncate(size)
    force = {"ext4": ("-F", "-E", "lazy_itable_init=0,lazy_journal_init=0")}.get(fs_type, ("-f",))
    _run(f"mkfs.{fs_type}", "-q", *force, str(image))
    device = _run("losetup", "--direct-io=on", "--find", "--show", str(image))
    try:
        root.mkdir()
        _run("mount", device, str(root))
        try:
            yield root
        finally:
            _run("umount", str(root))
    finally:
        _run("losetup", "--detach", device)
        image.unlink()


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def fill(path: Path, size: int) -> None:
    """A durable file of random bytes, last written long ago; no two MiB of it are alike."""
    block = bytearray(os.urandom(min(size, _BLOCK)))
    with open(path, "wb", buffering=0) as file:
        done = 0
        while done < size:
            for start in range(0, len(block), MIB):
                block[start : start + 8] = (done + start).to_bytes(8, "big")
            done += file.write(memoryview(block)[: size - done])
        os.fsync(file.fileno())
    os.utime(path, (1e9, 1e9))
    make_cold(path)


def make_hot(path: Path) -> None:
    """All of the file is in the page cache."""
    buffer = bytearray(MIB)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            continue


def make_cold(path: Path) -> None:
    """Nothing of the file is in the page cache."""
    with open(path, "rb", buffering=0) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def in_memory(size: int) -> Path | None:
    """A tmpfs with room for twice `size`, None where there is none."""
    place = Path("/dev/shm")
    if not place.is_dir() or shutil.disk_usage(place).free < 2 * size:
        return None
    return place


def settle(place: Path) -> None:
    """What was deleted or written there before is done with."""
    _run("sync", "--file-system", str(place))
