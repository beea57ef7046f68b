"""The file system under a set: what it is, and the two operations whose promises differ from one to the next."""

from __future__ import annotations

import errno
import os
import stat

from ckptdeck.core.errors import from_os_error
from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.host import Host
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Volume, Warning

_LOCAL = frozenset(
    {
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "f2fs",
        "zfs",
        "bcachefs",
        "jfs",
        "reiserfs",
        "tmpfs",
        "ramfs",
        "overlay",
    }
)
_OPTIMISTIC = frozenset({"btrfs", "zfs", "bcachefs", "overlay"})
_MEMORY = frozenset({"tmpfs", "ramfs"})

NOT_SUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP})
HELD_OPEN = frozenset({errno.EACCES, errno.EBUSY, errno.ETXTBSY, errno.EPERM})
"""What servers of Windows' kind say about a file that somebody has open (R11)."""
_ODD_SERVERS = NOT_SUPPORTED | {errno.ENOENT, errno.EACCES, errno.EPERM}
NO_LOCKS = NOT_SUPPORTED | {errno.ENOLCK, errno.EBADF}
_RETRY_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # at most 5 s in all (R11)


def volume_of(fs: FileSystem, path: str) -> Volume:
    """The volume that holds `path` (an absolute, real path). Raises OSError when it cannot be asked."""
    figures = fs.statvfs(path)
    mount_id, fs_type, options = _mount_of(fs.mount_table(), path)
    fs_class = _class_of(fs_type, options)
    return Volume(
        fs_type=fs_type,
        fs_class=fs_class,
        total=figures.f_blocks * figures.f_frsize,
        free=figures.f_bavail * figures.f_frsize,
        free_inodes=figures.f_favail,
        optimistic=fs_type in _OPTIMISTIC or fs_class != "local",
        device=fs.lstat(path).st_dev,
        read_only=bool(figures.f_flag & os.ST_RDONLY),
        mount=mount_id,
    )


def awaits_mount(fs: FileSystem, path: str) -> bool:
    """`path` is where /etc/fstab wants a volume, and none is mounted there. Raises OSError when it cannot be asked."""
    planned = {
        _unescape(fields[1])
        for fields in map(str.split, fs.planned_mounts().splitlines())
        if len(fields) > 1 and not fields[0].startswith("#")
    }
    if path not in planned:
        return False
    mounted = (line.split(" ") for line in fs.mount_table().splitlines())
    return path not in {_unescape(fields[4]) for fields in mounted if len(fields) > 4}


def in_memory(volume: Volume) -> bool:
    """True where memory is the device, so that no eviction is possible or needed."""
    return volume.fs_type in _MEMORY


def sync_data(fs: FileSystem, fd: int, path: str) -> None:
    """fsync of a file's bytes, once. Raises the error a user is told, never an OSError that somebody might retry:

    after a failure the kernel calls the lost pages clean, and a second fsync succeeds without a meaning (R5).
    """
    try:
        fs.fsync(fd)
    except OSError as error:
        raise from_os_error(error, f"Making {visible(path)} durable (fsync)") from error


def fsync_directory(fs: FileSystem, path: str, volume: Volume) -> tuple[Warning, ...]:
    """Makes the names in `path` durable (R14).

    Returns W1 where the file system cannot promise it and W4 where the call is known to do nothing. Raises the
    OSError where it means the name may be lost.
    """
    try:
        fd = fs.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return (_no_durable_names(path, "the directory may not be opened"),)
    try:
        fs.fsync(fd)
    except OSError as error:
        if not _tolerable(fs, path, volume, error.errno or 0):
            raise
        return (_no_durable_names(path, os.strerror(error.errno or 0)),)
    finally:
        fs.close(fd)
    if volume.fs_class in ("nfs", "smb"):
        return (Warning("W4", f"fsync of a directory does nothing on {volume.fs_type}; the server decides"),)
    return ()


def sync_names(fs: FileSystem, path: str) -> None:
    """fsync of one of our own directories. Raises OSError where the names in it may be lost.

    What a server cannot promise of the names of checkpoints (W1) it need not promise of records, which are evidence.
    """
    try:
        with opened(fs, path, os.O_RDONLY | os.O_DIRECTORY) as fd:
            fs.fsync(fd)
    except OSError as error:
        if not _tolerable(fs, path, volume_of(fs, path), error.errno or 0):
            raise


def lock_if_free(fs: FileSystem, fd: int, path: str) -> bool:
    """flock of the file `path` behind `fd`; False while somebody else holds it.

    True as well where a server has no locks to give (W13): there only silence tells that a writer is gone. Raises
    OSError.
    """
    try:
        return fs.try_lock(fd)
    except OSError as error:
        if error.errno not in NO_LOCKS or volume_of(fs, os.path.dirname(path)).fs_class == "local":
            raise
        return True


def rename_into_place(
    host: Host, volume: Volume, staged: str, final: str, *, replace: bool, inode: int
) -> tuple[Warning, ...]:
    """Gives `staged` (whose inode is `inode`) its final name in one step (R10-R12).

    With `replace` whatever is there is replaced; without it FileExistsError is raised and nothing is touched.
    Where the server refuses because somebody holds the file open, it is tried for up to 5 s.
    """
    delays = iter(_RETRY_SECONDS if volume.fs_class in ("smb", "win") else ())
    while True:
        try:
            if replace:
                host.fs.rename(staged, final)
                return ()
            return _rename_no_clobber(host.fs, staged, final)
        except FileExistsError:
            if replace:  # what some servers say of a file that somebody has open
                delay = next(delays, None)
                if delay is None:
                    raise
                host.clock.sleep(delay)
                continue
            if volume.fs_class != "local" and _link_happened(host.fs, staged, final, inode):
                return (_ambiguous(),)
            raise
        except OSError as error:
            if volume.fs_class != "local" and _did_happen(host.fs, staged, final, inode):
                return (_ambiguous(),)
            delay = next(delays, None) if error.errno in HELD_OPEN else None
            if delay is None:
                raise
            host.clock.sleep(delay)


def exchange_directories(host: Host, staged: str, final: str) -> bool:
    """Lets a staged directory and the one it replaces change places in one step.

    False where the file system cannot (a directory cannot be renamed over a full one either); nothing is changed then.
    """
    try:
        host.fs.exchange(staged, final)
    except OSError as error:
        if error.errno in NOT_SUPPORTED:
            return False
        raise
    return True


def _rename_no_clobber(fs: FileSystem, staged: str, final: str) -> tuple[Warning, ...]:
    try:
        fs.rename_no_replace(staged, final)
        return ()
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
    if not stat.S_ISDIR(fs.lstat(staged).st_mode):
        try:
            fs.link(staged, final)
        except OSError as error:
            if error.errno not in NOT_SUPPORTED | {errno.EPERM, errno.EMLINK}:
                raise
        else:
            _drop_second_name(fs, staged)
            return ()
    try:
        fs.lstat(final)
    except FileNotFoundError:
        fs.rename(staged, final)
        return (Warning("W8", "this file system cannot rename without the risk of replacing; checked just before"),)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), final)


def _link_happened(fs: FileSystem, staged: str, final: str, inode: int) -> bool:
    """The same of a link, which leaves the staged name for us to take away."""
    try:
        if fs.lstat(staged).st_ino == fs.lstat(final).st_ino == inode:
            fs.unlink(staged)
    except OSError:
        return _did_happen(fs, staged, final, inode)
    return _did_happen(fs, staged, final, inode)


def _drop_second_name(fs: FileSystem, staged: str) -> None:
    """A crash here leaves one inode under both names, and so does a server that will not: `recover` drops the part."""
    try:
        fs.unlink(staged)
    except OSError as error:
        if error.errno not in HELD_OPEN:
            raise


def _did_happen(fs: FileSystem, staged: str, final: str, inode: int) -> bool:
    """A server may do a rename and lose the answer: true when the staged name is gone and its inode is final."""
    try:
        fs.lstat(staged)
    except FileNotFoundError:
        try:
            return fs.lstat(final).st_ino == inode
        except OSError:
            return False
    except OSError:
        return False
    return False


def _tolerable(fs: FileSystem, path: str, volume: Volume, code: int) -> bool:
    if volume.fs_class == "local":
        return False
    if volume.fs_class == "nfs":
        return code in NOT_SUPPORTED
    if code == errno.EIO and volume.fs_class in ("win", "fuse"):
        # Some servers answer EIO to any fsync of a directory: only believed when an idle one says the same.
        return _idle_directory_says(fs, _idle_directory(fs, path), errno.EIO)
    return code in _ODD_SERVERS


def _idle_directory(fs: FileSystem, path: str) -> str:
    """One beside `path` on the same volume: that it lies in, or, of a mount point, one that lies in it."""
    parent = os.path.dirname(path)
    device = fs.lstat(path).st_dev
    if fs.lstat(parent).st_dev == device:
        return parent
    inside = (entry for entry in fs.list_directory(path) if entry.stat is not None)
    return next((os.path.join(path, e.name) for e in inside if e.stat and stat.S_ISDIR(e.stat.st_mode)), parent)


def _idle_directory_says(fs: FileSystem, path: str, code: int) -> bool:
    try:
        fd = fs.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fs.fsync(fd)
    except OSError as error:
        return error.errno == code
    finally:
        fs.close(fd)
    return False


def _no_durable_names(path: str, reason: str) -> Warning:
    return Warning("W1", f"names in this directory may not survive a power cut: {reason}")


def _ambiguous() -> Warning:
    return Warning("W10", "the server reported an error for a rename that had happened")


def _class_of(fs_type: str, options: str) -> str:
    if fs_type in _LOCAL:
        return "local"
    if fs_type in ("nfs", "nfs4"):
        return "nfs"
    if fs_type in ("cifs", "smb3", "smbfs"):
        return "smb"
    if fs_type == "drvfs" or (fs_type == "9p" and "aname=drvfs" in options):
        return "win"
    return "fuse"


def _mount_of(table: str, path: str) -> tuple[str, str, str]:
    """(identity, type, super options) of the mount that holds `path`; the last of equally long ones is on top."""
    best = ("0:0:0", "unknown", "")
    best_length = -1
    for line in table.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ", 2)
        if len(fields) < 5 or len(tail) < 2:
            continue
        point = _unescape(fields[4])
        inside = path == point or path.startswith(point if point.endswith("/") else point + "/")
        if inside and len(point) >= best_length:
            best_length = len(point)
            best = (f"{fields[0]}:{fields[2]}", tail[0], tail[2] if len(tail) > 2 else "")
    return best


def _unescape(text: str) -> str:
    """mountinfo writes space, tab, newline and backslash as octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
