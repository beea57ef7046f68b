"""File systems this machine does not have, played on the seam (T7): what servers, Windows drives and sticks do.

Each profile answers as its kernel client was seen to answer (durability.md has the sources). Times are those of the
injected clock, so that a set ages without a pause.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.progress import Clock

_NS = 10**9
_DEVICE = 0xF5


@dataclass(frozen=True, slots=True)
class Profile:
    """What one kind of file system does otherwise. An errno of 0 means that the call works."""

    name: str
    mount: str
    """Type, source and options, as /proc/self/mountinfo ends a line."""
    directory_fsync: int = 0
    no_replace: int = 0
    exchange: int = 0
    link: int = 0
    symlink: int = 0
    lock_directory: int = 0
    lock_file: int = 0
    set_times: int = 0
    set_mode: int = 0
    loses_times: bool = False
    """Setting a time succeeds and is forgotten."""
    settles_late: bool = False
    """A time that was set moves to the server's when the file is closed."""
    step_ns: int = 1
    """Times are kept in such steps."""
    one_time: bool = False
    """The change time is the modification time."""
    modes: bool = True
    case_folds: bool = False
    unicode_folds: bool = False
    open_in_the_way: bool = False
    """What somebody has open can be neither renamed nor replaced nor removed, and a directory not while anything in it
    is open."""
    busy: tuple[int, ...] = ()
    """What a replacing rename answers before it works: somebody else's scanner looks at the file."""
    silly: bool = False
    """What is open and removed stays under a name of the client's until it is closed."""
    read_only_locks: bool = True
    """What is open for reading only can be locked."""
    path_inodes: bool = False
    """Inode numbers are made of the path."""

    def __str__(self) -> str:
        return self.name

    @property
    def local(self) -> bool:
        return self.mount.startswith("ext4")


LOCAL = Profile("local", "ext4 /dev/sda1 rw")
SMB = Profile(
    "smb",
    "cifs //nas/ckpt rw,vers=3.1.1,noserverino",
    exchange=errno.EINVAL,
    link=errno.EOPNOTSUPP,
    symlink=errno.EOPNOTSUPP,
    lock_directory=errno.EBADF,
    settles_late=True,
    step_ns=100,
    open_in_the_way=True,
    busy=(errno.EACCES, errno.EBUSY),
    case_folds=True,
)
OLD_CIFS = Profile(
    "old-cifs",
    "cifs //nas/ckpt rw,vers=1.0",
    directory_fsync=errno.EINVAL,
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    lock_directory=errno.EBADF,
    set_mode=errno.EPERM,
    step_ns=100,
)
ODD_SMB = Profile(
    "odd-smb",
    "smb3 //router/disk rw",
    directory_fsync=errno.ENOENT,
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    link=errno.EOPNOTSUPP,
    lock_directory=errno.EOPNOTSUPP,
    lock_file=errno.EOPNOTSUPP,
    step_ns=_NS,
)
DRVFS = Profile(
    "drvfs",
    "9p D:\\134 rw,aname=drvfs;path=D:\\;uid=0;gid=0;symlinkroot=/mnt/",
    directory_fsync=errno.EIO,
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    link=errno.EPERM,
    symlink=errno.EPERM,
    lock_directory=errno.EINVAL,
    set_times=errno.EPERM,
    set_mode=errno.EPERM,
    step_ns=100,
    open_in_the_way=True,
    case_folds=True,
)
NFS = Profile(
    "nfs",
    "nfs4 server:/export rw,vers=4.2",
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    lock_directory=errno.EBADF,
    silly=True,
    read_only_locks=False,
)
NFS_WITHOUT_LOCKS = Profile(
    "nfs-without-locks",
    "nfs server:/export rw,vers=3",
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    lock_directory=errno.ENOLCK,
    lock_file=errno.ENOLCK,
    silly=True,
)
BLOBFUSE = Profile(
    "blobfuse",
    "fuse.blobfuse2 blobfuse2 rw",
    directory_fsync=errno.ENOSYS,
    no_replace=errno.ENOSYS,
    exchange=errno.ENOSYS,
    link=errno.ENOSYS,
    symlink=errno.ENOSYS,
    lock_directory=errno.ENOSYS,
    lock_file=errno.ENOSYS,
    set_mode=errno.ENOSYS,
    loses_times=True,
    step_ns=_NS,
    one_time=True,
)
RCLONE = Profile(
    "rclone",
    "fuse.rclone remote: rw",
    directory_fsync=errno.ENOSYS,
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    link=errno.ENOSYS,
    symlink=errno.ENOSYS,
    path_inodes=True,
)
FAT = Profile(
    "fat",
    "vfat /dev/sdb1 rw,shortname=mixed",
    no_replace=errno.EINVAL,
    exchange=errno.EINVAL,
    link=errno.EPERM,
    symlink=errno.EPERM,
    set_mode=errno.EPERM,
    step_ns=2 * _NS,
    one_time=True,
    modes=False,
    case_folds=True,
)
APFS = Profile(
    "apfs",
    "smb3 //mac/disk rw",
    exchange=errno.EINVAL,
    lock_directory=errno.EBADF,
    unicode_folds=True,
)
PROFILES = (LOCAL, SMB, OLD_CIFS, ODD_SMB, DRVFS, NFS, NFS_WITHOUT_LOCKS, BLOBFUSE, RCLONE, FAT, APFS)


class PlayedFileSystem(FileSystem):
    """`profile` mounted at `base`; everything else is the real thing."""

    def __init__(self, profile: Profile, base: Path, clock: Clock) -> None:
        self.profile = profile
        self.timeless: set[str] = set()
        """Names whose times read 0."""
        self.stale = 0
        """So many listings and reads fail: the handle the client has is of before."""
        self.close_says: dict[str, int] = {}
        """What closing the file of this name says next, when it was written: its data did not reach the server."""
        self.losing: set[str] = set()
        """Calls whose next answer is lost: "rename x.pt" is that of a rename to the name x.pt."""
        self._base = str(base)
        self._clock = clock
        self._mount = 1
        self._open: dict[int, bool] = {}
        """Descriptor → something was written through it."""
        self._paths_only: set[int] = set()
        """Descriptors that the server knows nothing of."""
        self._busy: dict[str, list[int]] = {}
        self._silly: dict[int, str] = {}

    def remount(self) -> None:
        """Inode numbers are others now, where the server does not give them."""
        self._mount += 1

    # --- descriptors

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if not self._here(path):
            return super().open(path, flags, mode)
        path = self._found(path)
        fd = super().open(path, flags, mode)
        if flags & os.O_PATH:
            self._paths_only.add(fd)
            return fd
        self._open[fd] = False
        if flags & os.O_CREAT:
            self._stamp(fd)
        return fd

    def close(self, fd: int) -> None:
        written = self._open.pop(fd, None)
        self._paths_only.discard(fd)
        inode, name = os.fstat(fd).st_ino, os.path.basename(_path_of(fd))
        if written and self.profile.settles_late:
            self._stamp(fd)
        super().close(fd)
        if inode in self._silly and not self._is_open(inode):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._silly.pop(inode))
        if written and name in self.close_says:
            raise _error(self.close_says.pop(name))

    def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
        count = super().pwrite(fd, data, offset)
        if fd in self._open:
            self._open[fd] = True
            self._stamp(fd)
        return count

    def read_into(self, fd: int, buffer: memoryview, offset: int) -> int:
        if fd in self._open:
            self._refuse_stale()
        return super().read_into(fd, buffer, offset)

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        if fd in self._open:
            self._stamp(fd)

    def fsync(self, fd: int) -> None:
        if fd in self._open and self.profile.directory_fsync and stat.S_ISDIR(os.fstat(fd).st_mode):
            raise _error(self.profile.directory_fsync)
        # The disk below is not asked: no power is cut here, and it would be what the tests wait for.

    def fstat(self, fd: int) -> os.stat_result:
        status = super().fstat(fd)
        return self._shown(_path_of(fd), status) if fd in self._open or fd in self._paths_only else status

    def set_times(self, fd: int, atime_ns: int, mtime_ns: int) -> None:
        if fd not in self._open:
            super().set_times(fd, atime_ns, mtime_ns)
            return
        _refuse(self.profile.set_times)
        if not self.profile.loses_times:
            super().set_times(fd, atime_ns, mtime_ns)

    def set_mode(self, fd: int, mode: int) -> None:
        if fd in self._open:
            _refuse(self.profile.set_mode)
        super().set_mode(fd, mode)

    def try_lock(self, fd: int) -> bool:
        if fd not in self._open:
            return super().try_lock(fd)
        is_directory = stat.S_ISDIR(os.fstat(fd).st_mode)
        _refuse(self.profile.lock_directory if is_directory else self.profile.lock_file)
        if not self.profile.read_only_locks and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise _error(errno.EBADF)
        return super().try_lock(fd)

    def open_for_writing_elsewhere(self, fd: int) -> bool | None:
        return super().open_for_writing_elsewhere(fd) if self.profile.local else None

    def resident_pages(self, fd: int, size: int, offset: int = 0) -> int:
        return 0  # nothing was made durable below, so the kernel keeps pages that it would have dropped

    # --- names

    def rename(self, source: str, target: str) -> None:
        if not self._here(target):
            super().rename(source, target)
            return
        source, target = self._found(source), self._found(target)
        self._refuse_open(source, target)
        if os.path.lexists(target) and "ckptdeck/" not in target:
            answers = self._busy.setdefault(target, list(self.profile.busy))
            if answers:
                raise _error(answers.pop(0))
        super().rename(source, target)
        self._lose_answer("rename", target, errno.ENOENT)

    def rename_no_replace(self, source: str, target: str) -> None:
        if not self._here(target):
            super().rename_no_replace(source, target)
            return
        _refuse(self.profile.no_replace)
        source, target = self._found(source), self._found(target)
        self._refuse_open(source, target)
        super().rename_no_replace(source, target)

    def exchange(self, one: str, other: str) -> None:
        if self._here(other):
            _refuse(self.profile.exchange)
        super().exchange(one, other)

    def link(self, source: str, target: str) -> None:
        if self._here(target):
            _refuse(self.profile.link)
        super().link(self._found(source), self._found(target))
        self._lose_answer("link", target, errno.EEXIST)

    def symlink(self, target: str, path: str) -> None:
        if self._here(path):
            _refuse(self.profile.symlink)
        super().symlink(target, self._found(path))

    def unlink(self, path: str) -> None:
        if not self._here(path):
            super().unlink(path)
            return
        path = self._found(path)
        inode = os.lstat(path).st_ino
        if self.profile.open_in_the_way and self._is_open(inode):
            raise _error(errno.ETXTBSY)
        if self.profile.silly and self._is_open(inode):
            kept = os.path.join(os.path.dirname(path), f".nfs{inode:016x}")
            os.rename(path, kept)
            self._silly[inode] = kept
            return
        super().unlink(path)
        self._lose_answer("unlink", path, errno.ENOENT)

    def make_directory(self, path: str, mode: int = 0o777) -> None:
        super().make_directory(self._found(path), mode)

    def remove_directory(self, path: str) -> None:
        super().remove_directory(self._found(path))

    def unlink_in(self, directory: int, name: str) -> None:
        if directory in self._open:
            self.unlink(os.path.join(_path_of(directory), name))
        else:
            super().unlink_in(directory, name)

    # --- looking

    def list_open_directory(self, fd: int) -> list[DirectoryEntry]:
        return self.list_directory(_path_of(fd)) if fd in self._open else super().list_open_directory(fd)

    def lstat(self, path: str) -> os.stat_result:
        path = self._found(path)
        status = super().lstat(path)
        return self._shown(path, status) if self._here(path) else status

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        path = self._found(path)
        if self._here(path):
            self._refuse_stale()
        entries = super().list_directory(path)
        if not self._here(path):
            return entries
        return [
            DirectoryEntry(e.name, None if e.stat is None else self._shown(f"{path}/{e.name}", e.stat), e.error)
            for e in entries
        ]

    def mount_table(self) -> str:
        base = self._base.replace("\\", "\\134").replace(" ", "\\040")
        return f"1 0 8:0 / / rw - ext4 /dev/root rw\n30 1 0:40 / {base} rw - {self.profile.mount}\n"

    # --- how it is done

    def _here(self, path: str) -> bool:
        return path == self._base or path.startswith(self._base + "/")

    def _found(self, path: str) -> str:
        """What the server takes this name for."""
        if not (self.profile.case_folds or self.profile.unicode_folds) or not self._here(path) or path == self._base:
            return path
        if os.path.lexists(path):
            return path
        parent, name = os.path.split(path)
        parent = self._found(parent)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for other in os.listdir(parent):
                if self._folded(other) == self._folded(name):
                    return os.path.join(parent, other)
        return os.path.join(parent, name)

    def _folded(self, name: str) -> str:
        name = unicodedata.normalize("NFC", name) if self.profile.unicode_folds else name
        return name.casefold() if self.profile.case_folds else name

    def _shown(self, path: str, status: os.stat_result) -> os.stat_result:
        profile = self.profile
        mtime = status.st_mtime_ns // profile.step_ns * profile.step_ns
        ctime = mtime if profile.one_time else status.st_ctime_ns
        if os.path.basename(path) in self.timeless:
            mtime = ctime = 0
        mode = status.st_mode if profile.modes else stat.S_IFMT(status.st_mode) | 0o755
        inode = status.st_ino if profile.local else self._inode(path, status.st_ino)
        plain = (mode, inode, _DEVICE, status.st_nlink, status.st_uid, status.st_gid, status.st_size)
        times = {
            "st_atime": status.st_atime,
            "st_mtime": mtime / _NS,
            "st_ctime": ctime / _NS,
            "st_atime_ns": status.st_atime_ns,
            "st_mtime_ns": mtime,
            "st_ctime_ns": ctime,
            "st_blksize": status.st_blksize,
            "st_blocks": status.st_blocks,
        }
        seconds = (int(status.st_atime), mtime // _NS, ctime // _NS)
        return os.stat_result((*plain, *seconds), times)

    def _inode(self, path: str, inode: int) -> int:
        what = path if self.profile.path_inodes else str(inode)
        digest = hashlib.blake2b(f"{self._mount} {what}".encode("utf-8", "surrogateescape"), digest_size=7)
        return int.from_bytes(digest.digest())

    def _stamp(self, fd: int) -> None:
        now = int(self._clock.now() * _NS)
        os.utime(fd, ns=(now, now))

    def _is_open(self, inode: int) -> bool:
        return any(os.fstat(fd).st_ino == inode for fd in self._open)

    def _refuse_open(self, *paths: str) -> None:
        if not self.profile.open_in_the_way:
            return
        held = {_path_of(fd) for fd in self._open}
        for path in paths:
            if any(one == path or one.startswith(path + "/") for one in held):
                raise _error(errno.EACCES)

    def _lose_answer(self, call: str, path: str, code: int) -> None:
        what = f"{call} {os.path.basename(path)}"
        if what in self.losing:
            self.losing.remove(what)
            raise _error(code)

    def _refuse_stale(self) -> None:
        if self.stale:
            self.stale -= 1
            raise _error(errno.ESTALE)


def _path_of(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def _refuse(code: int) -> None:
    if code:
        raise _error(code)


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
