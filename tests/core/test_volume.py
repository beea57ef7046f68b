"""What each kind of file system promises about names, played on the seam (R10-R12, R14)."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from ckptdeck.core.errors import NoSpace, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.sighting import Volume
from ckptdeck.core.volume import fsync_directory, rename_into_place, sync_data, volume_of
from tests.crash.sandbox import EPOCH, machine


def volume(fs_class: str) -> Volume:
    return Volume(fs_class, fs_class, 1000, 1000, 100, False, 1, False, "1:1")


class Server(FileSystem):
    """Refuses or fakes single calls as such servers do."""

    def __init__(self, **errors: int | list[int]) -> None:
        self.errors = errors

    def _say(self, call: str) -> None:
        answer = self.errors.get(call, 0)
        code = (answer.pop(0) if answer else 0) if isinstance(answer, list) else answer
        if code:
            raise OSError(code, os.strerror(code))

    def fsync(self, fd: int) -> None:
        self._say("fsync_directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "fsync")

    def rename_no_replace(self, source: str, target: str) -> None:
        self._say("rename_no_replace")
        super().rename_no_replace(source, target)

    def link(self, source: str, target: str) -> None:
        self._say("link")
        super().link(source, target)

    def rename(self, source: str, target: str) -> None:
        self._say("rename")
        super().rename(source, target)
        self._say("after_rename")


@pytest.mark.parametrize(
    ("fs_class", "code", "warns"),
    [
        ("smb", errno.EINVAL, "W1"),
        ("smb", errno.ENOENT, "W1"),
        ("smb", errno.EACCES, "W1"),
        ("fuse", errno.ENOSYS, "W1"),
        ("win", errno.EIO, "W1"),
        ("nfs", errno.EINVAL, "W1"),
        ("nfs", 0, "W4"),
        ("smb", 0, "W4"),
        ("local", 0, None),
    ],
)
def test_a_directory_that_cannot_be_synced_is_a_warning_where_servers_do_so(
    tmp_path: Path, fs_class: str, code: int, warns: str | None
) -> None:
    """For win/EIO the idle parent says the same, so the answer means nothing."""
    warnings = fsync_directory(Server(fsync_directory=code), str(tmp_path), volume(fs_class))
    assert [warning.code for warning in warnings] == ([] if warns is None else [warns])


@pytest.mark.parametrize(
    ("fs_class", "answers"),
    [
        ("local", [errno.EINVAL]),
        ("local", [errno.EIO]),
        ("nfs", [errno.EIO]),
        ("smb", [errno.EIO]),
        ("win", [errno.EIO, 0]),
    ],
)
def test_a_real_failure_of_a_directory_sync_is_raised(tmp_path: Path, fs_class: str, answers: list[int]) -> None:
    """For win the idle parent syncs, so the failure was about this one."""
    with pytest.raises(OSError, match=os.strerror(answers[0])):
        fsync_directory(Server(fsync_directory=answers), str(tmp_path), volume(fs_class))


@pytest.mark.parametrize(("code", "error"), [(errno.EIO, VolumeSuspect), (errno.EDQUOT, NoSpace)])
def test_a_failed_sync_of_data_is_no_os_error_that_could_be_retried(
    tmp_path: Path, code: int, error: type[Exception]
) -> None:
    path = tmp_path / "x"
    path.touch()
    with path.open("rb") as file, pytest.raises(error):
        sync_data(Server(fsync=code), file.fileno(), str(path))


def staged(base: Path) -> tuple[str, str, int]:
    part = base / "x.part"
    part.write_bytes(b"new")
    return str(part), str(base / "x"), part.stat().st_ino


def name(fs: FileSystem, fs_class: str, base: Path, *, replacing: bool = False) -> list[str]:
    part, final, inode = staged(base)
    warnings = rename_into_place(machine(fs), volume(fs_class), part, final, replace=replacing, inode=inode)
    assert Path(final).read_bytes() == b"new"
    assert not Path(part).exists()
    return [warning.code for warning in warnings]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_a_no_clobber_rename_a_link_does_it(tmp_path: Path, code: int) -> None:
    assert name(Server(rename_no_replace=code), "nfs", tmp_path) == []


def test_without_links_too_it_is_checked_just_before_and_said(tmp_path: Path) -> None:
    assert name(Server(rename_no_replace=errno.EINVAL, link=errno.EPERM), "fuse", tmp_path) == ["W8"]


@pytest.mark.parametrize(
    "errors", [{}, {"rename_no_replace": errno.EINVAL}, {"rename_no_replace": errno.EINVAL, "link": 1}]
)
def test_what_is_there_is_never_clobbered_whatever_the_way(tmp_path: Path, errors: dict[str, int]) -> None:
    (tmp_path / "x").write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        name(Server(**errors), "fuse", tmp_path)
    assert (tmp_path / "x").read_bytes() == b"theirs"
    assert (tmp_path / "x.part").read_bytes() == b"new"


def test_a_file_somebody_holds_open_on_a_server_is_tried_again_for_seconds(tmp_path: Path) -> None:
    part, final, inode = staged(tmp_path)
    host = machine(Server(rename=[errno.EACCES, errno.EBUSY, errno.ETXTBSY]))
    rename_into_place(host, volume("smb"), part, final, replace=True, inode=inode)
    assert 0 < host.clock.now() - EPOCH <= 5


@pytest.mark.parametrize("fs_class", ["smb", "local"])
def test_a_refusal_that_stays_is_raised_and_nothing_is_lost(tmp_path: Path, fs_class: str) -> None:
    (tmp_path / "x").write_bytes(b"old")
    part, final, inode = staged(tmp_path)
    host = machine(Server(rename=errno.EACCES))
    with pytest.raises(PermissionError):
        rename_into_place(host, volume(fs_class), part, final, replace=True, inode=inode)
    assert host.clock.now() - EPOCH <= 5
    assert (fs_class == "local") == (host.clock.now() == EPOCH)
    assert Path(final).read_bytes() == b"old"
    assert Path(part).read_bytes() == b"new"


def test_an_error_for_a_rename_that_happened_is_no_failure(tmp_path: Path) -> None:
    assert name(Server(after_rename=errno.EIO), "nfs", tmp_path, replacing=True) == ["W10"]


def test_the_volume_under_a_path_is_named(tmp_path: Path) -> None:
    found = volume_of(FileSystem(), str(tmp_path))
    assert found.device == tmp_path.stat().st_dev
    assert 0 < found.free <= found.total
    proc = volume_of(FileSystem(), "/proc/self")
    assert (proc.fs_type, proc.fs_class) == ("proc", "fuse")


@pytest.mark.parametrize(
    ("line", "fs_class", "optimistic"),
    [
        ("30 1 8:1 / /data rw - ext4 /dev/sda1 rw", "local", False),
        ("30 1 8:1 / /data rw - btrfs /dev/sda1 rw", "local", True),
        ("30 1 0:40 / /data rw - nfs4 server:/x rw", "nfs", True),
        ("30 1 0:40 / /data rw - cifs //server/x rw", "smb", True),
        ("30 1 0:40 / /data rw - 9p D: rw,aname=drvfs;path=D:", "win", True),
        ("30 1 0:40 / /data rw - fuse.sshfs x rw", "fuse", True),
        (r"30 1 8:1 / /da\040ta rw - nfs x rw", "local", False),
    ],
)
def test_the_kind_of_a_volume_decides_what_it_is_trusted_with(line: str, fs_class: str, optimistic: bool) -> None:
    class Mounted(FileSystem):
        def mount_table(self) -> str:
            return f"1 0 8:0 / / rw - ext4 /dev/root rw\nrubbish\n{line}\n"

        def statvfs(self, path: str) -> os.statvfs_result:
            return super().statvfs("/")

        def lstat(self, path: str) -> os.stat_result:
            return super().lstat("/")

    found = volume_of(Mounted(), "/data/ckpt")
    assert (found.fs_class, found.optimistic) == (fs_class, optimistic)
