"""What a volume takes for the same name, found out without writing to it."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.folding import folded, folding_of
from ckptdeck.core.sighting import Volume
from ckptdeck.core.states import NameFolding, Role
from tests.core.looks import LOCAL, SERVER, make_bench
from tests.core.profiles import APFS, FAT, NFS, PlayedFileSystem, Profile
from tests.crash.sandbox import StillClock


@pytest.mark.parametrize(
    ("profile", "folding"), [(FAT, NameFolding.CASE), (NFS, NameFolding.UNICODE), (APFS, NameFolding.UNICODE)]
)
def test_the_volume_itself_is_asked_by_the_name_of_a_file_of_ours(
    tmp_path: Path, profile: Profile, folding: NameFolding
) -> None:
    bench = make_bench(tmp_path, role=Role.MIRROR)
    before = sorted(os.listdir(bench.control))
    fs = PlayedFileSystem(profile, tmp_path, StillClock())
    assert folding_of(fs, bench.found, replace(SERVER, fs_class="fuse")) is folding
    assert sorted(os.listdir(bench.control)) == before


def test_a_disk_of_this_machine_keeps_every_byte(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, role=Role.MIRROR)
    assert folding_of(FileSystem(), bench.found, LOCAL) is NameFolding.NONE
    assert folding_of(FileSystem(), bench.found, replace(LOCAL, fs_type="zfs")) is NameFolding.UNICODE


@pytest.mark.parametrize(
    ("volume", "folding"),
    [
        (LOCAL, NameFolding.NONE),
        (replace(SERVER, fs_type="vfat", fs_class="fuse"), NameFolding.CASE),
        (replace(SERVER, fs_type="cifs", fs_class="smb"), NameFolding.CASE),
        (SERVER, NameFolding.UNICODE),
    ],
)
def test_before_init_the_kind_decides(tmp_path: Path, volume: Volume, folding: NameFolding) -> None:
    bench = make_bench(tmp_path, role=Role.MIRROR, initialised=False)
    assert folding_of(FileSystem(), bench.found, volume) is folding


def test_where_it_will_not_say_the_kind_decides(tmp_path: Path) -> None:
    found = make_bench(tmp_path, role=Role.MIRROR).found

    class Silent(FileSystem):
        def lstat(self, path: str) -> os.stat_result:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    assert folding_of(Silent(), found, replace(SERVER, fs_class="win")) is NameFolding.CASE


@pytest.mark.parametrize(
    ("one", "other", "folding"),
    [
        ("A.ckpt", "a.ckpt", NameFolding.CASE),
        ("STRASSE.pt", "stra\u00dfe.pt", NameFolding.CASE),
        ("caf\u00e9.pt", "cafe\u0301.pt", NameFolding.UNICODE),
        ("CAF\u00c9.pt", "cafe\u0301.pt", NameFolding.CASE),
    ],
)
def test_names_that_are_one(one: str, other: str, folding: NameFolding) -> None:
    assert folded(one, folding) == folded(other, folding)
    assert folded(one, NameFolding.NONE) != folded(other, NameFolding.NONE)


def test_bytes_that_are_no_text_stay_apart() -> None:
    one, other = os.fsdecode(b"b\xff.pt"), os.fsdecode(b"b\xfe.pt")
    assert folded(one, NameFolding.CASE) != folded(other, NameFolding.CASE)
