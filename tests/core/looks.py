"""What tests of looking and judging are built from: sightings, inventories, records; and real sets in a directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ckptdeck.core.checkpoint_set import (
    CONTROL_INSIDE,
    SET,
    SUBDIRECTORIES,
    CheckpointSet,
    SetDocument,
    encode_set,
    find_set,
    sibling_control,
)
from ckptdeck.core.filesystem import DirectoryEntry, FileSystem
from ckptdeck.core.host import FindWriters, Host, nobody
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.sighting import (
    Identity,
    Inventory,
    Member,
    Receipt,
    Record,
    RecordMember,
    Sighting,
    Stamp,
    StructureFinding,
    Volume,
)
from ckptdeck.core.states import Condition, Evidence, Kind, Origin, Role, Structure

NOW = 1_790_000_000.0
DAY = 86_400.0
GB = 10**9
BOOT = "boot-1"
MOUNT = "21:8:1"
ONE, OTHER = "1" * 32, "2" * 32
LOCAL = Volume("ext4", "local", 1000 * GB, 500 * GB, 10**6, False, 7, False, MOUNT)
SERVER = replace(LOCAL, fs_type="nfs4", fs_class="nfs", optimistic=True, device=8)


def ns(seconds: float) -> int:
    return int(seconds * 10**9)


def allocated(size: int) -> int:
    """Bytes a file of that length takes on a disk: whole pages."""
    return -(-size // 4096) * 4096


def identity(size: int = GB, *, age: float = DAY, mtime_ns: int | None = None, inode: int = 11) -> Identity:
    mtime = ns(NOW - age) if mtime_ns is None else mtime_ns
    return Identity((Member("", size, mtime, mtime if mtime > 0 else 1, 7, inode, 0o644, 1, allocated(size) // 512),))


def record(name: str = "step_0810.pt", size: int = GB, *, digest: str = ONE, **changes: Any) -> Record:
    members = (RecordMember("", size, digest),)
    made = Record(
        name, None, Kind.FILE, size, ns(NOW - DAY), digest, members, NOW - DAY, Origin.PUBLISHED, "run", "box"
    )
    return replace(made, **changes)


def receipt(
    of: Identity, *, digest: str = ONE, evidence: Evidence = Evidence.DEVICE, name: str = "step_0810.pt", **changes: Any
) -> Receipt:
    return replace(Receipt(name, True, digest, of.stamps, evidence, NOW - 3600, BOOT, MOUNT), **changes)


def structure(what: Structure, text: str = "", proof: str = "exact-size") -> StructureFinding:
    return StructureFinding(what, "torch-zip", text or f"it is {what}", proof=proof)


def sighting(name: str = "step_0810.pt", step: int | None = 810, **changes: Any) -> Sighting:
    made = Sighting(name, step, Kind.FILE, "single-file", rolling=step is None, identity=identity())
    return replace(made, **changes)


def verified(name: str, step: int | None, size: int = GB, *, digest: str = ONE, age: float = DAY) -> Sighting:
    """A sighting that is judged `verified`."""
    there = identity(size, age=age)
    promised = record(name, size, digest=digest, step=step, mtime_ns=there.mtime_ns)
    return sighting(name, step, identity=there, record=promised, receipt=receipt(there, digest=digest, name=name))


def inventory(*sightings: Sighting, role: Role = Role.PRIMARY, **changes: Any) -> Inventory:
    made = Inventory(
        role=role,
        root=f"/{role}",
        control=f"/{role}.control",
        set_id="0" * 32,
        run_id="run",
        condition=Condition.OK,
        why="",
        taken_at=NOW,
        volume=LOCAL if role is Role.PRIMARY else replace(LOCAL, device=9),
        sightings=sightings,
        boot_id=BOOT,
    )
    return replace(made, **changes)


# --- real sets


class SteppedClock:
    """Moves only when told to; sleeping moves it."""

    def __init__(self, now: float) -> None:
        self.time = now
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


class CountingFileSystem(FileSystem):
    """Remembers what was opened and can be told to fail, hide or change things."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.failing: dict[tuple[str, str], int] = {}
        """(call, path) → errno."""
        self.listings: list[str] = []
        self.leases: bool | None = True
        """False: the kernel grants no leases; None: not even an answer about locks."""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        self._fail("open", path)
        self.opened.append(path)
        return super().open(path, flags, mode)

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        self._fail("list_directory", path)
        self.listings.append(path)
        entries = super().list_directory(path)
        return [
            DirectoryEntry(entry.name, None, self.failing[key])
            if (key := ("stat", os.path.join(path, entry.name))) in self.failing
            else entry
            for entry in entries
        ]

    def open_for_writing_elsewhere(self, fd: int) -> bool | None:
        return super().open_for_writing_elsewhere(fd) if self.leases else None

    def lock_table(self) -> str:
        return "" if self.leases is None else super().lock_table()

    def _fail(self, call: str, path: str) -> None:
        code = self.failing.get((call, path))
        if code is not None:
            raise OSError(code, os.strerror(code), path)


@dataclass(frozen=True, slots=True)
class Bench:
    """A set on disk and the machine that looks at it."""

    host: Host
    fs: CountingFileSystem
    clock: SteppedClock
    root: Path
    role: Role

    @property
    def found(self) -> CheckpointSet:
        return find_set(FileSystem(), str(self.root), self.role)

    @property
    def manifest(self) -> Manifest:
        return Manifest(FileSystem(), self.found)

    @property
    def control(self) -> Path:
        return Path(self.found.control_path())

    def write(self, name: str, data: bytes = b"x" * 1000, *, age: float = DAY) -> Path:
        path = self.root / name
        path.write_bytes(data)
        set_age(path, self.clock.now(), age)
        return path

    def record(self, name: str, step: int | None = None, **changes: Any) -> Record:
        """Writes a record of what is there."""
        status = (self.root / name).lstat()
        made = record(name, status.st_size, step=step, mtime_ns=status.st_mtime_ns)
        made = replace(made, **changes)
        made = replace(made, members=(RecordMember("", made.size, made.digest),))
        self.manifest.write_record(made)
        return made

    def receive(self, name: str, digest: str = ONE) -> None:
        """Writes a receipt of what is there."""
        status = (self.root / name).lstat()
        stamps = (Stamp("", status.st_size, status.st_mtime_ns, status.st_ctime_ns),)
        self.manifest.write_receipt(
            Receipt(name, True, digest, stamps, Evidence.DEVICE, self.clock.now(), self.host.boot_id, "")
        )

    def opened(self) -> list[str]:
        """Names in the set that were opened since the last time this was asked."""
        names = [os.path.relpath(path, self.root) for path in self.fs.opened]
        self.fs.opened.clear()
        return [name for name in names if not name.startswith(".") or name.endswith(".part")]


def set_age(path: Path, now: float, age: float) -> None:
    os.utime(path, ns=(ns(now - age), ns(now - age)))


def make_bench(
    directory: Path,
    *,
    role: Role = Role.PRIMARY,
    initialised: bool = True,
    now: float | None = None,
    writers: FindWriters = nobody,
    partner: Mapping[str, str] | None = None,
) -> Bench:
    """A fresh set below `directory`. The clock stands an hour after the files' ctime unless `now` says otherwise."""
    root = directory / role.value
    root.mkdir(parents=True)
    if initialised:
        control = Path(sibling_control(str(root))) if role is Role.PRIMARY else root / CONTROL_INSIDE
        control.mkdir()
        for name in SUBDIRECTORIES:
            (control / name).mkdir()
        names = {"partner_id": None, "partner_path": None, **(partner or {})}
        document = SetDocument(f"{role}-id-0000", role, "run", names["partner_id"], names["partner_path"])
        (control / SET).write_bytes(encode_set(document))
    clock = SteppedClock(root.stat().st_ctime + 3600 if now is None else now)
    fs = CountingFileSystem()
    host = Host(fs, clock, "box", BOOT, 4242, "1", find_writers=writers)
    return Bench(host, fs, clock, root, role)
