"""A pair of sets with very many recorded and verified checkpoints, written in seconds instead of hours.

The files hold a few bytes each; what counts is their number.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import xxhash

from ckptdeck.core.checkpoint_set import find_pair
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.record_format import encode_receipt, encode_record
from ckptdeck.core.sighting import Receipt, Record, RecordMember, Stamp
from ckptdeck.core.states import Evidence, Kind, Origin
from ckptdeck.monitor.host import this_host

_STEP_SECONDS = 600.0
SIZE = 64


def make_large_pair(base: Path, count: int) -> tuple[str, str]:
    """Makes `count` checkpoints on both sides of an initialised pair below `base`; the two directories."""
    host = this_host()
    primary, mirror = base / "ckpt", base / "mirror"
    primary.mkdir()
    mirror.mkdir()
    initialise(host, str(primary), str(mirror))
    pair = find_pair(FileSystem(), str(primary), str(mirror))
    for found in pair.sets:
        for step in range(1, count + 1):
            saved = time.time() - (count + 2 - step) * _STEP_SECONDS
            _add(host, Path(found.root), found.control_path("manifest"), found.control_path("receipts"), step, saved)
    return str(primary), str(mirror)


def name_of(step: int) -> str:
    return f"step_{step:06d}.pt"


def _add(host: Host, root: Path, records: str, receipts: str, step: int, saved: float) -> None:
    name = name_of(step)
    content = f"{step:0{SIZE}d}".encode()
    path = root / name
    path.write_bytes(content)
    mtime_ns = int(saved * 1e9)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    status = path.stat()
    digest = xxhash.xxh3_128(content).hexdigest()
    record = Record(
        name, step, Kind.FILE, SIZE, mtime_ns, digest, (RecordMember("", SIZE, digest),), saved, Origin.PUBLISHED,
        None, host.name, metrics={"loss": 2.0},
    )  # fmt: skip
    stamp = Stamp("", status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    receipt = Receipt(name, True, digest, (stamp,), Evidence.DEVICE, time.time(), host.boot_id, "")
    Path(records, f"{name}.json").write_bytes(encode_record(record))
    Path(receipts, f"{name}.json").write_bytes(encode_receipt(receipt))
