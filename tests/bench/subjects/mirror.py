"""One checkpoint of 2 GiB copied to another file system, durable and named, without and with its proof.

Its source is in the page cache, as after a save.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tests.bench.contest import Against, Contest, Program
from tests.bench.deck import deck, forget_copy, recorded_pair, set_readback
from tests.bench.disks import GIB, fill, make_cold, make_hot, settle, two_volumes
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject

OURS, PROVEN = "ckptdeck mirror, no read-back", "ckptdeck mirror, read back"
CP, CMP = "cp; sync", "cp; sync; drop; cmp"
RSYNC, RCLONE = "rsync --fsync", "rclone copyto; sync"


def run(bench: Bench) -> Iterable[Row]:
    """Every peer."""
    return copies("mirror", bench, hot=True)


def copies(subject: str, bench: Bench, *, hot: bool) -> list[Row]:
    """The rows of a source that is in the page cache or is not."""
    size = bench.scaled(2 * GIB)
    with two_volumes(bench.room, max(5 * size // 2, GIB)) as (source, target):
        path, mirror = recorded_pair(source / "ckpt", target / "mirror", lambda path: fill(path, size))
        return _contest(subject, path, mirror, hot=hot).run(bench)


def _contest(subject: str, path: Path, mirror: Path, *, hot: bool) -> Contest:
    copy = mirror / path.name
    fresh = partial(_fresh, path, mirror, hot=hot)
    ours = deck("mirror", path.parent, mirror, path.name, "--yes", "--quiet")
    drop = f"dd if={copy} iflag=nocache count=0 status=none"
    programs = [
        Program(OURS, ours, partial(_fresh, path, mirror, hot=hot, readback=False)),
        Program(PROVEN, ours, partial(_fresh, path, mirror, hot=hot, readback=True)),
        Program(CP, f"cp {path} {copy} && sync {copy}", fresh),
        Program(CMP, f"cp {path} {copy} && sync {copy} && {drop} && cmp {path} {copy}", fresh),
        Program(RSYNC, ["rsync", "--fsync", str(path), str(copy)], fresh, needs=("rsync",)),
        Program(RCLONE, f"rclone copyto {path} {copy} && sync {copy}", fresh, needs=("rclone",)),
    ]
    ratios = [
        Against(OURS, CP, 0.75 if hot else None),
        Against(PROVEN, CP, 1.50 if hot else None),
        Against(PROVEN, CMP, 0.60 if hot else None),
        Against(PROVEN, RCLONE, 0.50 if hot else None),
        Against(PROVEN, RSYNC),
        Against(CMP, CP),
        Against(RSYNC, CP),
        Against(RCLONE, CP),
    ]
    return Contest(
        subject,
        programs if hot else programs[:4],
        ratios if hot else ratios[:3],
        allowance=0.6,
        memory=2 * path.stat().st_size,
    )


def _fresh(path: Path, mirror: Path, *, hot: bool, readback: bool = True) -> None:
    set_readback(path.parent, wanted=readback)
    forget_copy(mirror, path.name)
    settle(mirror)
    (make_hot if hot else make_cold)(path)


SUBJECT = Subject("mirror", "2 GiB copied between two file systems, without and with read-back", run)
