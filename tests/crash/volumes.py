"""Real ext4, xfs and btrfs on loop images that can be frozen at any instant and mounted as a power cut left them.

An outer xfs with reflink holds the image of each inner volume, so a snapshot is one FICLONE of the image: the state
a device without a volatile cache would hold at that instant (T3). Root and loop devices only.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_SYSTEMS = ("ext4", "xfs", "btrfs")
SHUTDOWN_FILE_SYSTEMS = ("ext4", "xfs")
"""btrfs has no FS_IOC_SHUTDOWN."""

DROP_LOG = 2
"""Shut down as a power cut does: what was not synced is gone, metadata and data."""
FLUSH_LOG = 1
"""Shut down with the metadata log written and the data not: the nastiest legal order."""

_libc = ctypes.CDLL(None, use_errno=True)
_FICLONE = 0x40049409
_FS_IOC_SHUTDOWN = 0x8004587D
_CAP_SYS_ADMIN = 21
_MIB = 1 << 20
_INNER_SIZE = {"ext4": 64 * _MIB, "xfs": 300 * _MIB, "btrfs": 128 * _MIB}
_MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}


def may_mount() -> bool:
    """Root that may mount, on a machine with loop devices: here the power cuts have to run."""
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        return False
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAP_SYS_ADMIN & 1)


def why_no_volumes(fs_type: str | None = None) -> str | None:
    """Why the power cuts cannot run here, or None when they can."""
    if not may_mount():
        return "needs root, CAP_SYS_ADMIN and loop devices"
    needed = ["mkfs.xfs", "losetup"] + ([_MKFS[fs_type][0]] if fs_type else [])
    missing = [tool for tool in needed if shutil.which(tool) is None]
    return f"needs {', '.join(missing)}" if missing else None


@dataclass(frozen=True, slots=True)
class Volume:
    """A mounted image. `device` is the loop device under it."""

    fs_type: str
    image: Path
    root: Path
    device: str

    def snapshot(self, target: Path) -> None:
        """Freezes the image as it is now into `target`, on the same outer volume."""
        _clone(self.image, target)

    def written(self) -> tuple[str, ...]:
        """Changes whenever the device was written to; two snapshots with the same value are the same image."""
        fields = Path(f"/sys/block/{Path(self.device).name}/stat").read_text(encoding="ascii").split()
        writes, sectors, in_flight = fields[4], fields[6], fields[8]
        return writes, sectors, in_flight

    def sync(self) -> None:
        """Everything written so far is on the device."""
        sync_volume(self.root)

    def shut_down(self, how: int) -> None:
        """The file system stops at once; `how` is DROP_LOG or FLUSH_LOG (T2)."""
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, _FS_IOC_SHUTDOWN, struct.pack("I", how))
        finally:
            os.close(fd)


class Bench:
    """The outer volume, and what is mounted from it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._image = directory / "outer.img"
        self._root = directory / "outer"
        self._root.mkdir()
        self._count = 0
        with open(self._image, "wb") as image:
            image.truncate(4 << 30)
        _run("mkfs.xfs", "-q", "-m", "reflink=1", str(self._image))
        self._device = _attach(self._image)
        try:
            _run("mount", self._device, str(self._root))
        except BaseException:
            _detach(self._device)
            raise

    def close(self) -> None:
        _unmount(self._root)
        _detach(self._device)
        self._image.unlink()

    def path(self, stem: str) -> Path:
        """A new name on the outer volume."""
        self._count += 1
        return self._root / f"{self._count}-{stem}"

    def image(self, fs_type: str) -> Path:
        """A fresh file system, not mounted."""
        image = self.path(f"{fs_type}.img")
        with open(image, "wb") as file:
            file.truncate(_INNER_SIZE[fs_type])
        _run(*_MKFS[fs_type], str(image))
        return image

    def copy(self, image: Path) -> Path:
        """A reflinked copy of an image."""
        copy = self.path(image.name.partition("-")[2])
        _clone(image, copy)
        return copy

    @contextlib.contextmanager
    def volume(self, fs_type: str) -> Iterator[Volume]:
        """A fresh, mounted volume."""
        image = self.image(fs_type)
        with self.mounted(image, fs_type) as volume:
            yield volume
        image.unlink()

    @contextlib.contextmanager
    def mounted(self, image: Path, fs_type: str) -> Iterator[Volume]:
        """`image` mounted with its log replayed. A btrfs snapshot only mounts once its original is unmounted."""
        root = self._directory / f"mount-{image.name}"
        root.mkdir()
        device = _attach(image)
        try:
            options = ["-o", "nouuid"] if fs_type == "xfs" else []
            _run("mount", "-t", fs_type, *options, device, str(root))
            try:
                yield Volume(fs_type, image, root, device)
            finally:
                _unmount(root)
        finally:
            _detach(device)
            root.rmdir()


def sync_volume(root: Path) -> None:
    """Everything written so far to the file system of `root` is on its device, and nothing of any other is: a test
    beside this one may be about what is lost unsynced."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if _libc.syncfs(fd) != 0:
            raise OSError(ctypes.get_errno(), "syncfs")
    finally:
        os.close(fd)


@contextlib.contextmanager
def thin_volume(directory: Path, fs_type: str, *, memory: int, promised: int) -> Iterator[Path]:
    """A volume that promises more than its backing tmpfs holds: writes succeed, fsync fails (T4). Sizes in bytes."""
    backing, root = directory / "backing", directory / "thin"
    backing.mkdir()
    root.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={memory}", "tmpfs", str(backing))
    try:
        image = backing / "thin.img"
        with open(image, "wb") as file:
            file.truncate(promised)
        _run(*_MKFS[fs_type], str(image))
        device = _attach(image)
        try:
            _run("mount", "-t", fs_type, device, str(root))
            try:
                yield root
            finally:
                _unmount(root)
        finally:
            _detach(device)
    finally:
        _unmount(backing)


def _clone(source: Path, target: Path) -> None:
    with open(source, "rb") as reader, open(target, "wb") as writer:
        fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())


def _attach(image: Path) -> str:
    return _run("losetup", "--find", "--show", str(image)).strip()


def _detach(device: str) -> None:
    subprocess.run(["losetup", "-d", device], check=False, capture_output=True)


def _unmount(root: Path) -> None:
    if subprocess.run(["umount", str(root)], check=False, capture_output=True).returncode != 0:
        _run("umount", "-l", str(root))


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(done.returncode, f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
