"""Hashing what was recorded, and what becomes of the news."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.sighting import Record, RecordMember
from ckptdeck.core.states import Kind, MemberKind, Origin, Role, State
from ckptdeck.core.unit import record_of_link, unit_digest
from ckptdeck.core.verify import Verification, verify_one
from tests.core.units import fill, seen
from tests.core.workbench import Workbench, digest_of


def test_bad_news_without_room_takes_the_good_receipt_back(tmp_path: Path) -> None:
    class Full(FileSystem):
        full = False

        def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().pwrite(fd, data, offset)

    fs = Full()
    bench = Workbench.fresh(tmp_path, fs)
    bench.publish("step_1.pt", b"x" * 5000, readback=True)
    path = bench.primary / "step_1.pt"
    times = path.stat()
    path.write_bytes(b"y" * 5000)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    fs.full = True
    assert verify_one(bench.host, bench.on(Role.PRIMARY), "step_1.pt").state is State.CORRUPT
    assert bench.manifest().receipt("step_1.pt") is None


def directory_of(bench: Workbench, files: dict[str, bytes | str | None], side: Role = Role.PRIMARY) -> Path:
    """A directory that is recorded as it is."""
    root = fill(bench.directory(side) / "step_500", files, at=1_000_000_000.0)
    identity = seen(root)
    members = tuple(
        RecordMember(m.path, m.size, digest_of((root / m.path).read_bytes()))
        if m.kind is MemberKind.FILE
        else record_of_link(m)
        for m in identity.members
    )
    bench.manifest(side).write_record(
        Record(
            name="step_500",
            step=500,
            kind=Kind.DIRECTORY,
            size=identity.size,
            mtime_ns=identity.mtime_ns,
            digest=unit_digest(members),
            members=members,
            recorded_at=1_000_000_001.0,
            origin=Origin.ADOPTED,
            run_id=None,
            host="box",
        )
    )
    return root


FILES: dict[str, bytes | str | None] = {"a/x.dat": b"1" * 5000, "b.dat": b"2" * 70, "to": "b.dat", "empty": None}


def verified(bench: Workbench, side: Role = Role.PRIMARY) -> Verification:
    return verify_one(bench.host, bench.on(side), "step_500")


def keep_time(path: Path, data: bytes) -> None:
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_directory_is_proven_file_by_file_with_its_links(bench: Workbench) -> None:
    directory_of(bench, FILES)
    found = verified(bench)
    assert (found.state, found.bytes_read) == (State.VERIFIED, 5070)
    assert found.receipt is not None
    assert [stamp.path for stamp in found.receipt.stamps] == ["a/x.dat", "b.dat", "empty", "to"]


@pytest.mark.parametrize("side", list(Role))
def test_one_flipped_byte_is_told_with_its_file(bench: Workbench, side: Role) -> None:
    root = directory_of(bench, FILES, side)
    keep_time(root / "a" / "x.dat", b"1" * 4999 + b"0")
    found = verified(bench, side)
    assert found.state is State.CORRUPT
    assert found.reason.startswith("a/x.dat: the size fits and the content does not")
    assert found.receipt is not None
    assert not found.receipt.good


def test_a_short_and_a_missing_file_are_told_together(bench: Workbench) -> None:
    root = directory_of(bench, FILES)
    keep_time(root / "a" / "x.dat", b"1" * 10)
    (root / "b.dat").unlink()
    found = verified(bench)
    assert found.state is State.TRUNCATED
    assert found.reason == "a/x.dat: 10 of 5000 bytes, 4990 are missing; 1 other file differs too"


def test_a_link_that_leads_elsewhere_is_other_content(bench: Workbench) -> None:
    root = directory_of(bench, FILES)
    (root / "to").unlink()
    (root / "to").symlink_to("a/x.dat")
    assert verified(bench).reason == "to: it leads to a/x.dat, to b.dat when it was recorded"


def test_the_newest_file_missing_is_no_new_save(bench: Workbench) -> None:
    root = directory_of(bench, FILES)
    os.utime(root / "a" / "x.dat", (900_000_000.0, 900_000_000.0))
    (root / "b.dat").unlink()
    assert verified(bench).state is State.INCOMPLETE


def test_a_newer_file_on_the_primary_is_the_trainer_s(bench: Workbench) -> None:
    root = directory_of(bench, FILES)
    (root / "b.dat").write_bytes(b"new")
    assert verified(bench).state is State.CHANGED


@pytest.mark.parametrize("what", ["file", "link", "pipe inside"])
def test_what_can_be_no_directory_is_suspect_and_nobody_s_write(bench: Workbench, what: str) -> None:
    root = directory_of(bench, FILES)
    if what == "pipe inside":
        os.mkfifo(root / "pipe")
    else:
        root.rename(bench.primary / "elsewhere")
        if what == "file":
            root.write_bytes(b"1")
        else:
            root.symlink_to("elsewhere")
    found = verified(bench)
    assert found.state is State.SUSPECT
    assert found.reason.startswith("recorded as a directory, it is ")
    assert bench.manifest().receipt("step_500") is None


def test_a_directory_that_is_gone_is_missing(bench: Workbench) -> None:
    directory_of(bench, FILES).rename(bench.primary.parent / "away")
    assert verified(bench).state is State.MISSING
