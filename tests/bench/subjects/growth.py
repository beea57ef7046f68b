"""How the cost grows with the size of one file: from 1 MiB to 8 GiB."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tests.bench.contest import Against, Contest, Program
from tests.bench.deck import deck, forget_copy, recorded_pair
from tests.bench.disks import GIB, MIB, fill, make_cold, make_hot, settle, two_volumes
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject

SIZES = {"1 MiB": MIB, "16 MiB": 16 * MIB, "128 MiB": 128 * MIB, "1 GiB": GIB, "8 GiB": 8 * GIB}
VERIFY, MIRROR, XXHSUM, CP = "verify", "mirror, read back", "xxhsum -H2", "cp; sync"


def run(bench: Bench) -> Iterable[Row]:
    """Both against the plain tool of the same size; the seconds are the curve."""
    for name, full in SIZES.items():
        size = bench.scaled(full)
        few = replace(bench, rounds=min(bench.rounds, 2)) if full > GIB else bench
        with two_volumes(bench.room / "_".join(name.split()), max(5 * size // 2, GIB)) as (source, target):
            path, mirror = recorded_pair(source / "ckpt", target / "mirror", lambda path: fill(path, size))  # noqa: B023
            contest = _contest(name, path, mirror)
            yield from contest.run(few)
            for program in (VERIFY, MIRROR):
                seconds = statistics.median(contest.times[program])
                yield Row(f"growth, {name}", f"{program}: MiB a second", size / MIB / seconds, "MiB/s", seconds=seconds)


def _contest(name: str, path: Path, mirror: Path) -> Contest:
    copy = mirror / path.name

    def cold() -> None:
        forget_copy(mirror, path.name)  # that of cp is young and has no record: it would be looked at twice
        make_cold(path)

    def fresh() -> None:
        forget_copy(mirror, path.name)
        settle(mirror)
        make_hot(path)

    return Contest(
        f"growth, {name}",
        [
            Program(VERIFY, deck("verify", path.parent, path.name, "--quiet"), cold),
            Program(XXHSUM, ["xxhsum", "-H2", str(path)], cold, needs=("xxhsum",)),
            Program(MIRROR, deck("mirror", path.parent, mirror, path.name, "--yes", "--quiet"), fresh),
            Program(CP, f"cp {path} {copy} && sync {copy}", fresh),
        ],
        [Against(VERIFY, XXHSUM), Against(MIRROR, CP)],
        allowance=0.6,
        memory=path.stat().st_size,
    )


SUBJECT = Subject("growth", "verify and mirror of 1 MiB to 8 GiB", run)
