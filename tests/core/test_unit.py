"""Looking at a checkpoint of several files: what is seen, what is not followed, and what its digest stands for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import xxhash

from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.sighting import Identity, Record, RecordMember
from ckptdeck.core.states import Kind, MemberKind, Origin
from ckptdeck.core.unit import (
    DEEPEST,
    OddThing,
    Unit,
    directories_of,
    escapes,
    leading_out,
    look_at,
    record_of_link,
    unit_digest,
    unit_of_record,
    walk,
)
from tests.core.units import HOSTILE, fill, seen

FS = FileSystem()
A, B = "a" * 32, "b" * 32


def kinds(identity: Identity) -> dict[str, MemberKind]:
    return {member.path: member.kind for member in identity.members}


# --- a directory


def test_every_file_link_and_empty_directory_is_a_member_in_the_order_of_their_paths(tmp_path: Path) -> None:
    root = fill(tmp_path / "checkpoint-500", {"b/c.pt": b"12", "a.json": b"{}", "b/to": "c.pt", "logs": None})
    found = seen(root)
    assert [member.path for member in found.members] == ["a.json", "b/c.pt", "b/to", "logs"]
    assert kinds(found) == {
        "a.json": MemberKind.FILE,
        "b/c.pt": MemberKind.FILE,
        "b/to": MemberKind.LINK,
        "logs": MemberKind.DIRECTORY,
    }
    assert (found.size, [member.target for member in found.members if member.target]) == (4, ["c.pt"])
    assert found.node == (root.stat().st_dev, root.stat().st_ino)


def test_the_time_of_a_directory_is_that_of_its_newest_file_and_of_an_empty_one_its_own(tmp_path: Path) -> None:
    root = fill(tmp_path / "full", {"old": b"1", "new": b"1", "to": "new", "empty": None}, at=1_000.0)
    os.utime(root / "new", (2_000.0, 2_000.0))
    assert seen(root).mtime_ns == 2_000 * 10**9
    assert seen(fill(tmp_path / "empty", {}, at=3_000.0)).mtime_ns == 3_000 * 10**9


def test_names_may_hold_any_byte(tmp_path: Path) -> None:
    root = fill(tmp_path / "checkpoint-500", dict.fromkeys(HOSTILE, b"x"))
    assert set(kinds(seen(root))) == set(HOSTILE)


def test_links_are_seen_and_never_followed(tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", {"big.pt": b"x" * 1000})
    links = {"file": str(outside / "big.pt"), "dir": str(outside), "loop": "loop", "up": "..", "gone": "nowhere"}
    root = fill(tmp_path / "checkpoint-500", {**links, "own": b"1"})
    found = seen(root)
    assert found.size == 1
    assert {member.path: member.target for member in found.members if member.target} == links


@pytest.mark.parametrize("what", ["pipe", "socket"])
def test_what_is_neither_file_link_nor_directory_makes_it_no_checkpoint(tmp_path: Path, what: str) -> None:
    root = fill(tmp_path / "d", {"a.pt": b"1"})
    if what == "pipe":
        os.mkfifo(root / "evil\n")
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(root / "evil\n"))
    with pytest.raises(OddThing, match=r"evil\\n in it, which is neither"):
        seen(root)


def test_directories_inside_one_another_have_an_end(tmp_path: Path) -> None:
    deep = "/".join(["d"] * DEEPEST)
    assert kinds(seen(fill(tmp_path / "fits", {f"{deep}/x": b"1"}))) == {f"{deep}/x": MemberKind.FILE}
    with pytest.raises(OddThing, match="deeper than 64"):
        seen(fill(tmp_path / "too-deep", {f"{deep}/d/x": b"1"}))


class _Vanishing(FileSystem):
    """One name goes between the listing and its stat."""

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        return [DirectoryEntry(e.name, None, 2) if e.name == "gone" else e for e in super().list_directory(path)]


def test_a_member_that_cannot_be_looked_at_fails_the_look(tmp_path: Path) -> None:
    root = fill(tmp_path / "checkpoint-500", {"sub/gone": b"1"})
    with pytest.raises(FileNotFoundError) as error:
        walk(_Vanishing(), str(root))
    assert error.value.filename == str(root / "sub" / "gone")


def test_a_name_of_another_kind_is_odd_and_no_name_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("directory")
    for name, kind in (("file", Kind.DIRECTORY), ("link", Kind.DIRECTORY), ("directory", Kind.FILE)):
        with pytest.raises(OddThing):
            look_at(FS, Unit(str(tmp_path), name, kind))
    for kind in (Kind.FILE, Kind.DIRECTORY):
        with pytest.raises(FileNotFoundError):
            look_at(FS, Unit(str(tmp_path), "nothing", kind))


# --- a group


def test_a_group_is_its_names_and_a_missing_one_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {"ckpt-7.index": b"12", "ckpt-7.data-00000-of-00001": b"345", "other": b"6"})
    names = ("ckpt-7.index", "ckpt-7.data-00000-of-00001", "ckpt-7.meta")
    found = look_at(FS, Unit(str(tmp_path), "ckpt-7", Kind.GROUP, names))
    assert [(m.path, m.size) for m in found.members] == [("ckpt-7.data-00000-of-00001", 3), ("ckpt-7.index", 2)]
    assert (found.size, found.node) == (5, None)


def test_a_group_without_any_of_its_names_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        look_at(FS, Unit(str(tmp_path), "ckpt-7", Kind.GROUP, ("ckpt-7.index",)))
    with pytest.raises(FileNotFoundError):
        look_at(FS, Unit(str(tmp_path), "ckpt-7", Kind.GROUP))


@pytest.mark.parametrize("other", ["link", "directory"])
def test_a_group_is_made_of_regular_files(tmp_path: Path, other: str) -> None:
    fill(tmp_path, {"a_1.pt": b"1", "b_1.pt": "a_1.pt" if other == "link" else None})
    with pytest.raises(OddThing, match=r"b_1\.pt is not a regular one"):
        look_at(FS, Unit(str(tmp_path), "1", Kind.GROUP, ("a_1.pt", "b_1.pt")))


def test_where_members_lie(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert Unit(root, "x.pt").path_of("") == f"{root}/x.pt"
    assert Unit(root, "dir", Kind.DIRECTORY).path_of("a/b") == f"{root}/dir/a/b"
    assert Unit(root, "step_1", Kind.GROUP, ("m_1.pt",)).path_of("m_1.pt") == f"{root}/m_1.pt"


def test_the_unit_of_a_record_knows_the_names_of_a_group_only() -> None:
    members = (RecordMember("m_1.pt", 1, A), RecordMember("o_1.pt", 1, B))
    made = Record("step_1", 1, Kind.GROUP, 2, 1, A, members, 1.0, Origin.ADOPTED, None, "box")
    assert unit_of_record("/set", made) == Unit("/set", "step_1", Kind.GROUP, ("m_1.pt", "o_1.pt"))


# --- links that lead out


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("link", "file", False),
        ("link", "./sub/file", False),
        ("link", "sub//file/", False),
        ("sub/link", "../file", False),
        ("a/b/link", "../../c/file", False),
        ("sub/link", "..", False),
        ("link", ".", False),
        ("link", "...", False),
        ("link", "..file", False),
        ("link", "link", False),
        ("link", "..", True),
        ("link", "../file", True),
        ("sub/link", "../../file", True),
        ("link", "/etc/passwd", True),
        ("link", "//etc", True),
        ("link", "", True),
        # `sub` may be a link itself, and then this climbs from wherever it leads
        ("link", "sub/../file", True),
        ("link", "sub/../../file", True),
        ("a/link", "../b/c/../../..", True),
    ],
)
def test_a_link_stays_inside_when_nothing_could_lead_it_out(path: str, target: str, out: bool) -> None:
    assert escapes(path, target) is out


def test_two_harmless_links_cannot_lead_out_together(tmp_path: Path) -> None:
    root = fill(tmp_path / "d", {"a/b/c/deep": b"1", "a/b/x": "..", "top": "a/b/x/../../secret"})
    assert leading_out(seen(root)) == "top is a link to a/b/x/../../secret, outside of the checkpoint"


def test_a_link_that_leads_out_is_told_with_its_name_made_visible(tmp_path: Path) -> None:
    root = fill(tmp_path / "d", {"in": "ok", "ok": b"1", "li\nnk": "/etc/\x1b"})
    assert leading_out(seen(root)) == r"li\nnk is a link to /etc/\e, outside of the checkpoint"


# --- the digest of all of it


def test_the_digest_of_a_file_is_its_own() -> None:
    assert unit_digest([RecordMember("", 4, A)]) == A


def test_the_digest_of_a_directory_is_that_of_its_sorted_lines() -> None:
    lines = f"{A}  b.pt\n{B}  a/c.pt\n".encode()
    members = [RecordMember("b.pt", 1, A), RecordMember("a/c.pt", 2, B)]
    assert unit_digest(members) == unit_digest(reversed(members)) == xxhash.xxh3_128(lines).hexdigest()


def test_a_directory_of_one_file_is_not_the_file() -> None:
    assert unit_digest([RecordMember("x", 4, A)]) != A


def test_a_file_a_link_and_an_empty_directory_are_never_taken_for_one_another() -> None:
    """A file may be called like the line of a link, and hold the very bytes of its target."""
    nothing, target = xxhash.xxh3_128(b"").hexdigest(), xxhash.xxh3_128(b"target").hexdigest()
    variants = [
        RecordMember("x", 0, target, MemberKind.LINK, "target"),
        RecordMember("x", 6, target),
        RecordMember("x@", 6, target),
        RecordMember("x@", 0, target, MemberKind.LINK, "target"),
        RecordMember("x", 0, nothing, MemberKind.DIRECTORY),
        RecordMember("x", 0, nothing),
        RecordMember("x/y", 0, nothing),
    ]
    assert len({unit_digest([variant]) for variant in variants}) == len(variants)


def test_a_link_is_recorded_with_the_digest_of_its_target(tmp_path: Path) -> None:
    broken = os.fsdecode(b"b\xff")
    link, empty = seen(fill(tmp_path / "d", {"a": broken, "b": None})).members
    assert record_of_link(link) == RecordMember("a", 0, xxhash.xxh3_128(b"b\xff").hexdigest(), MemberKind.LINK, broken)
    assert record_of_link(empty) == RecordMember("b", 0, xxhash.xxh3_128(b"").hexdigest(), MemberKind.DIRECTORY)


def test_the_directories_on_the_way_come_deepest_first() -> None:
    assert directories_of(["a/b/c/x", "a/y", "z", "b/x"]) == ["a/b/c", "a/b", "a", "b"]
