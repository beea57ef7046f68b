"""What comes back is blocks, once, and only with the last name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ckptdeck.core.bookkeeping import list_quarantine
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.freed import freed_by, freed_together
from ckptdeck.core.sighting import BLOCK, Identity, Member
from ckptdeck.core.states import Kind, MemberKind
from ckptdeck.core.unit import Unit, look_at
from tests.core.looks import LOCAL, SERVER, make_bench

MB = 1 << 20
FUSE = replace(LOCAL, fs_type="fuse.sshfs", fs_class="fuse")


def file(inode: int, blocks: int, *, links: int = 1, size: int = 0, path: str = "") -> Member:
    return Member(path, size or blocks * BLOCK, 1, 1, 7, inode, 0o644, links, blocks)


def one(*members: Member, directory: Member | None = None) -> Identity:
    return Identity(members, directory)


def test_a_file_with_one_name_gives_its_blocks_back() -> None:
    assert freed_by([one(file(1, 8)), one(file(2, 16))], [LOCAL, LOCAL]) == [8 * BLOCK, 16 * BLOCK]


def test_a_file_with_another_name_gives_nothing_back() -> None:
    assert freed_by([one(file(1, 8, links=2))], [LOCAL]) == [0]


def test_with_its_last_name_it_does_wherever_the_others_were() -> None:
    twice = file(1, 8, links=2)
    assert freed_by([one(twice), one(file(2, 8)), one(twice)], [LOCAL] * 3) == [0, 8 * BLOCK, 8 * BLOCK]
    both = (replace(twice, path="a"), replace(twice, path="b"))
    assert freed_by([one(*both)], [LOCAL]) == [8 * BLOCK]
    assert freed_together(both, None) == 8 * BLOCK


def test_equal_inodes_of_two_devices_are_two_files() -> None:
    elsewhere = replace(file(1, 8, links=2), device=9)
    assert freed_by([one(file(1, 8, links=2)), one(elsewhere)], [LOCAL, LOCAL]) == [0, 0]


def test_a_directory_has_blocks_of_its_own_and_its_links_are_no_names() -> None:
    directory = replace(file(5, 8, links=3), kind=MemberKind.DIRECTORY)
    empty = replace(file(6, 8, links=2, path="empty"), kind=MemberKind.DIRECTORY)
    tree = one(file(1, 16, path="a"), empty, directory=directory)
    assert freed_by([tree], [LOCAL]) == [32 * BLOCK]


def test_where_no_blocks_are_told_the_length_is_taken() -> None:
    silent = one(file(1, 0, size=3 * MB))
    assert freed_by([silent] * 4, [LOCAL, SERVER, FUSE, None]) == [0, 0, 3 * MB, 0]


def test_real_files_sparse_and_linked(tmp_path: Path) -> None:
    (tmp_path / "full.pt").write_bytes(os.urandom(MB))
    with (tmp_path / "sparse.pt").open("wb") as stream:
        stream.truncate(8 * MB)
    (tmp_path / "linked.pt").write_bytes(os.urandom(MB))
    os.link(tmp_path / "linked.pt", tmp_path / "elsewhere")
    names = ("full.pt", "sparse.pt", "linked.pt")
    fs = FileSystem()
    found = [look_at(fs, Unit(str(tmp_path), name, Kind.FILE)) for name in names]
    full, sparse, linked = freed_by(found, [LOCAL] * 3)
    assert MB <= full < MB + 64 * 1024
    assert sparse == found[1].allocated < MB
    assert linked == 0
    assert found[1].size == 8 * MB
    assert MB <= found[2].allocated < MB + 64 * 1024


def test_what_is_in_quarantine_knows_what_purging_gives_back(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    place = bench.control / "quarantine"
    (place / "one").write_bytes(os.urandom(MB))
    os.link(place / "one", tmp_path / "kept")
    (place / "two").mkdir()
    (place / "two" / "a.bin").write_bytes(os.urandom(MB))
    found = {entry.id: entry for entry in list_quarantine(bench.fs, bench.found)}
    assert (found["one"].size, found["one"].frees) == (MB, 0)
    assert found["two"].size == MB <= found["two"].frees
