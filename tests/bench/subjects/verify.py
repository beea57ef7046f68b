"""Hashing one recorded file where it lies, beside programs that hash: from the page cache and from the device."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tests.bench.contest import Against, Contest, Program
from tests.bench.deck import deck, recorded_set
from tests.bench.disks import GIB, fill, make_cold
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject


def run(bench: Bench) -> Iterable[Row]:
    """One file of 2 GiB."""
    path = recorded_set(bench.room / "set", lambda path: fill(path, bench.scaled(2 * GIB)))
    return _cold(path).run(bench)


def _cold(path: Path) -> Contest:
    cold = partial(make_cold, path)
    return Contest(
        "verify, cold",
        [
            Program("ckptdeck verify", deck("verify", path.parent, path.name, "--quiet"), cold),
            Program("xxhsum -H2", ["xxhsum", "-H2", str(path)], cold, needs=("xxhsum",)),
            Program("b3sum", ["b3sum", str(path)], cold, needs=("b3sum",)),
        ],
        [Against("ckptdeck verify", "xxhsum -H2", reach=1.10), Against("b3sum", "xxhsum -H2")],
    )


SUBJECT = Subject("verify", "one file of 2 GiB hashed, hot and cold", run)
