"""Hashing one recorded file where it lies, beside programs that hash: from memory and from the device.

`verify` proves what the device holds, so of a file on a disk it reads nothing from the page cache. Where memory is the
device (tmpfs) it reads memory, and that is the hot case. The last row shows what the proof costs of a file that the
page cache has.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from tests.bench.contest import Against, Contest, Program
from tests.bench.deck import deck, recorded_set
from tests.bench.disks import GIB, fill, in_memory, make_cold, make_hot
from tests.bench.figures import Row, not_here
from tests.bench.subject import Bench, Subject

ONE_CORE = ("taskset", "--cpu-list", "0")
_SMALL = 4096
OURS, XXHSUM = "ckptdeck verify", "xxhsum -H2"
START = "the same of 4 KiB"


def run(bench: Bench) -> Iterable[Row]:
    """One file of 2 GiB."""
    size = bench.scaled(2 * GIB)
    yield from _hot(bench, size)
    path = recorded_set(bench.room / "set", lambda path: fill(path, size))
    yield from _cold(path).run(bench)
    yield from _proven(path).run(bench)


def _hot(bench: Bench, size: int) -> Iterable[Row]:
    memory = in_memory(size)
    if memory is None:
        yield not_here("verify, in memory", f"{OURS} / {XXHSUM}", f"a tmpfs with {size} bytes free")
        return
    with tempfile.TemporaryDirectory(prefix="bench-", dir=memory) as room:
        path = recorded_set(Path(room) / "set", lambda path: fill(path, size))
        small = recorded_set(Path(room) / "small", lambda path: fill(path, _SMALL))
        yield from _contest("verify, in memory", path, small, 0.90, more=_other_hashes(path)).run(bench)
        yield from _contest("verify, in memory, one thread", path, small, 1.03, prefix=ONE_CORE).run(bench)


def _contest(
    subject: str, path: Path, small: Path, reach: float, *, prefix: Sequence[str] = (), more: Sequence[Program] = ()
) -> Contest:
    ours = [*prefix, *deck("verify", path.parent, path.name, "--quiet")]
    start = [*prefix, *deck("verify", small.parent, small.name, "--quiet")]
    return Contest(
        subject,
        [
            Program(OURS, ours),
            Program(START, start),
            Program(XXHSUM, [*prefix, "xxhsum", "-H2", str(path)], needs=("xxhsum", *prefix[:1])),
            *more,
        ],
        [
            Against(OURS, XXHSUM, reach),
            Against(OURS, XXHSUM, reach, less=START),
            *(Against(other.name, XXHSUM) for other in more),
        ],
    )


def _other_hashes(path: Path) -> list[Program]:
    return [
        Program("b3sum", ["b3sum", str(path)], needs=("b3sum",)),
        Program("cat", f"cat {path} > /dev/null"),
    ]


def _cold(path: Path) -> Contest:
    cold = partial(make_cold, path)
    return Contest(
        "verify, from the device",
        [
            Program(OURS, deck("verify", path.parent, path.name, "--quiet"), cold),
            Program(XXHSUM, ["xxhsum", "-H2", str(path)], cold, needs=("xxhsum",)),
            Program("b3sum", ["b3sum", str(path)], cold, needs=("b3sum",)),
        ],
        [Against(OURS, XXHSUM, 1.10), Against("b3sum", XXHSUM)],
        memory=path.stat().st_size,
    )


def _proven(path: Path) -> Contest:
    hot = partial(make_hot, path)
    return Contest(
        "verify, from the device though cached",
        [
            Program(OURS, deck("verify", path.parent, path.name, "--quiet"), hot),
            Program(XXHSUM, ["xxhsum", "-H2", str(path)], hot, needs=("xxhsum",)),
        ],
        [Against(OURS, XXHSUM)],
    )


SUBJECT = Subject("verify", "one file of 2 GiB hashed, in memory and from the device", run)
