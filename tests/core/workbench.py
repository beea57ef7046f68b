"""A pair of initialised sets in a fresh directory, and a machine whose clock stands still well after every mtime."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet, Pair, find_pair
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.plans.plan import Act, PlanItem
from ckptdeck.core.publish import Intent, Published, publish
from ckptdeck.core.sighting import Identity, Record
from ckptdeck.core.states import Role
from ckptdeck.core.unit import member_of
from tests.crash.sandbox import machine


def digest_of(data: bytes) -> str:
    return xxhash.xxh3_128(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Workbench:
    """Two sets and short ways to put things into them."""

    host: Host
    primary: Path
    mirror: Path

    @classmethod
    def fresh(cls, base: Path, fs: FileSystem | None = None) -> Workbench:
        bench = cls(machine(fs or FileSystem()), base / "ckpt", base / "mirror")
        bench.primary.mkdir()
        bench.mirror.mkdir()
        initialise(machine(FileSystem()), str(bench.primary), str(bench.mirror), run_id="llama-ft-07")
        return bench

    @property
    def pair(self) -> Pair:
        return find_pair(self.host.fs, str(self.primary), str(self.mirror))

    def on(self, side: Role) -> CheckpointSet:
        return self.pair.on(side)

    def directory(self, side: Role) -> Path:
        return self.primary if side is Role.PRIMARY else self.mirror

    def manifest(self, side: Role = Role.PRIMARY) -> Manifest:
        return Manifest(self.host.fs, self.on(side))

    def record(self, name: str, side: Role = Role.PRIMARY) -> Record:
        record = self.manifest(side).record(name)
        assert record is not None
        return record

    def publish(self, name: str, data: bytes, *, replace: bool = False, readback: bool = False) -> Published:
        intent = Intent(name, step=1, replace=replace, readback=readback)
        with publish(self.host, self.on(Role.PRIMARY), intent) as (stream, result):
            stream.write(data)
        return result

    def put(self, side: Role, name: str, data: bytes, mtime: float | None = None) -> Path:
        """A file written by somebody who knows nothing of us."""
        path = self.directory(side) / name
        path.write_bytes(data)
        if mtime is not None:
            os.utime(path, (mtime, mtime))
        return path

    def item(self, act: Act, name: str, side: Role, *, source: Role | None = None, **details: str) -> PlanItem:
        """A plan's item about what lies on `source` (the side itself when left out) right now."""
        status = (self.directory(source or side) / name).lstat()
        stamps = Identity((member_of("", status),)).stamps
        return PlanItem(name, side, act, "test", status.st_size, 1, stamps=stamps, inode=status.st_ino, details=details)

    def names(self, side: Role) -> set[str]:
        """What a trainer would list: everything but our control directory."""
        return {path.name for path in self.directory(side).iterdir()} - {".ckptdeck"}
