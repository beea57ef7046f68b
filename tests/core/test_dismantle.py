"""Taking apart what has no name any more: all of it, nothing else, and in an order that never looks whole."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from ckptdeck.core.dismantle import dismantle
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from tests.core.units import HOSTILE, contents, fill


def path_of(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


class Remembering(FileSystem):
    """Knows in which order names went; with `strict` directories guard what is in them, as for anybody but root."""

    def __init__(self, *, strict: bool = False) -> None:
        self.gone: list[str] = []
        self.strict = strict

    def unlink(self, path: str) -> None:
        self._may(path)
        super().unlink(path)
        self.gone.append(os.path.basename(path))

    def remove_directory(self, path: str) -> None:
        self._may(path)
        super().remove_directory(path)
        self.gone.append(os.path.basename(path) + "/")

    def unlink_in(self, directory: int, name: str) -> None:
        self.unlink(os.path.join(path_of(directory), name))

    def remove_directory_in(self, directory: int, name: str) -> None:
        self.remove_directory(os.path.join(path_of(directory), name))

    def _may(self, path: str) -> None:
        if self.strict and not os.lstat(os.path.dirname(path)).st_mode & stat.S_IWUSR:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def test_everything_goes_and_nothing_a_link_leads_to(tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", {"keep": b"1", "sub/keep": b"2"})
    files: dict[str, bytes | str | None] = dict.fromkeys(HOSTILE, b"x")
    files |= {"to": str(outside), "up": "..", "loop": "loop", "deep/er/x": b"1", "empty": None}
    dismantle(FileSystem(), str(fill(tmp_path / "gone", files)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]
    assert contents(outside) == {"keep": b"1", "sub/keep": b"2"}


def test_pipes_and_sockets_keep_nothing_behind(tmp_path: Path) -> None:
    """A leftover that cannot be removed would stop every later save of its name."""
    root = fill(tmp_path / "gone", {"a": b"1"})
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
    dismantle(FileSystem(), str(root))
    assert not root.exists()


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    root = fill(tmp_path / "gone", {"/".join(["d"] * 100) + "/x": b"1"})
    dismantle(FileSystem(), str(root))
    assert not root.exists()


def test_markers_go_first_and_directories_last(tmp_path: Path) -> None:
    fs = Remembering()
    files: dict[str, bytes | str | None] = {
        ".metadata": b"1",
        "__0_0.distcp": b"2",
        "sub/trainer_state.json": b"3",
        "sub/z.pt": b"4",
        "model.safetensors.index.json": b"5",
    }
    dismantle(fs, str(fill(tmp_path / "gone", files)))
    assert set(fs.gone[:3]) == {".metadata", "trainer_state.json", "model.safetensors.index.json"}
    assert fs.gone[-2:] == ["sub/", "gone/"]


def test_directories_that_only_may_be_read_are_emptied_all_the_same(tmp_path: Path) -> None:
    root = fill(tmp_path / "gone", {"a/b/x": b"1", "a/y": b"2"})
    os.chmod(root / "a" / "b", 0o555)
    os.chmod(root / "a", 0o500)
    dismantle(Remembering(strict=True), str(root))
    assert not root.exists()


def test_what_is_gone_already_is_no_error(tmp_path: Path) -> None:
    dismantle(FileSystem(), str(tmp_path / "nothing"))
    root = fill(tmp_path / "gone", {"a": b"1", "sub/b": b"2"})

    class Racing(FileSystem):
        def list_open_directory(self, fd: int) -> list[DirectoryEntry]:
            entries = super().list_open_directory(fd)
            if path_of(fd) == str(root):
                (root / "a").unlink()
                (root / "sub" / "b").unlink()
                (root / "sub").rmdir()
            return entries

    dismantle(Racing(), str(root))
    assert not root.exists()


def test_what_cannot_be_looked_at_is_told_and_nothing_is_removed(tmp_path: Path) -> None:
    root = fill(tmp_path / "kept", {"a": b"1", "b": b"2"})

    class Failing(FileSystem):
        def list_open_directory(self, fd: int) -> list[DirectoryEntry]:
            return [DirectoryEntry(one.name, None, errno.EIO) for one in super().list_open_directory(fd)]

    with pytest.raises(OSError, match="Input/output error"):
        dismantle(Failing(), str(root))
    assert contents(root) == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize("where", ["", "sub", "sub/deep"])
@pytest.mark.parametrize("moment", ["list", "unlink", "rmdir"])
def test_a_link_that_takes_a_directory_s_place_meanwhile_leads_nowhere(tmp_path: Path, moment: str, where: str) -> None:
    """B66, R25: between the look and the removal somebody who may write there puts a link in its place."""
    outside = fill(tmp_path / "outside", {"b": b"1", "deep/b": b"2", "deep/er/b": b"3"})
    root = fill(tmp_path / "gone", {"a": b"1", "sub/b": b"2", "sub/deep/b": b"3", "sub/deep/er/b": b"4"})

    class Swapping(FileSystem):
        swapped = False

        def swap(self, directory: int, when: str) -> None:
            if when == moment and not self.swapped and path_of(directory) == str(root / where):
                self.swapped = True
                (root / "sub").rename(tmp_path / "moved")
                (root / "sub").symlink_to(outside)

        def list_open_directory(self, fd: int) -> list[DirectoryEntry]:
            entries = super().list_open_directory(fd)
            self.swap(fd, "list")
            return entries

        def unlink_in(self, directory: int, name: str) -> None:
            self.swap(directory, "unlink")
            super().unlink_in(directory, name)

        def remove_directory_in(self, directory: int, name: str) -> None:
            self.swap(directory, "rmdir")
            super().remove_directory_in(directory, name)

    fs = Swapping()
    with pytest.raises(OSError, match=r"Not a directory|Too many levels|another directory has taken its place"):
        dismantle(fs, str(root))
    assert fs.swapped
    assert contents(outside) == {"b": b"1", "deep/b": b"2", "deep/er/b": b"3"}
    dismantle(FileSystem(), str(root))
    assert contents(outside) == {"b": b"1", "deep/b": b"2", "deep/er/b": b"3"}
