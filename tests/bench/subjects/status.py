"""`ckptdeck status` of large recorded sets beside `rclone lsjson -R`, which lists the same trees and judges nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.bench.contest import Against, Contest, Program, run_once
from tests.bench.figures import Row
from tests.bench.large_pair import make_large_pair
from tests.bench.subject import Bench, Subject

_LATER = (
    "import time; now = time.time; time.time = lambda: now() + 86400; "
    "from ckptdeck.cli.main import main; raise SystemExit(main())"
)
"""The sets were made a moment ago, and what is that young is opened and looked at twice: a day later it is at rest."""
_COUNTS = (1, 10, 100, 1_000, 10_000)
_OURS, _BOTH = "status of a primary", "status of a pair"
_RCLONE, _RCLONE_BARE, _RCLONE_BOTH = (
    "rclone lsjson, primary and records",
    "rclone lsjson, primary alone",
    "rclone, pair",
)


def status_later(*directories: str | Path) -> list[str]:
    return [sys.executable, "-c", _LATER, "status", *map(str, directories)]


def run(bench: Bench) -> Iterable[Row]:
    """A primary without its mirror and the pair, at 10,000; then how the first grows."""
    count = bench.scaled(10_000)
    base, alone = bench.room / "pair", bench.room / "alone"
    base.mkdir()
    primary, _ = make_large_pair(base, count)
    lone = _without_mirror(alone, count)
    for words in (status_later(primary), status_later(lone)):
        run_once(words)  # the first look opens every record and leaves the index that the second one reads
    contest = Contest(
        "status",
        (
            Program(_OURS, status_later(lone)),
            Program(_BOTH, status_later(primary)),
            Program(_RCLONE, ["rclone", "lsjson", "-R", str(alone)], needs=("rclone",)),
            Program(_RCLONE_BARE, ["rclone", "lsjson", "-R", str(lone)], needs=("rclone",)),
            Program(_RCLONE_BOTH, ["rclone", "lsjson", "-R", str(base)], needs=("rclone",)),
        ),
        (
            Against(_OURS, _RCLONE, reach=2.0),
            Against(_OURS, _RCLONE_BARE),
            Against(_BOTH, _RCLONE_BOTH, reach=2.0),
        ),
    )
    return [*contest.run(bench), *_growth(bench)]


def _growth(bench: Bench) -> list[Row]:
    counts = sorted({bench.scaled(count) for count in _COUNTS})
    programs = []
    for count in counts:
        lone = _without_mirror(bench.room / f"grows-{count}", count)
        run_once(status_later(lone))
        programs.append(Program(f"status of {count:,}", status_later(lone)))
    against = [Against(program.name, programs[0].name) for program in programs[1:]]
    return Contest("status", programs, against).run(bench)


def _without_mirror(base: Path, count: int) -> Path:
    base.mkdir()
    primary, mirror = make_large_pair(base, count)
    shutil.rmtree(mirror)
    root = Path(primary)
    document = root.parent / f".{root.name}.ckptdeck" / "set.json"
    text = document.read_text(encoding="utf-8").splitlines(keepends=True)
    document.write_text("".join(_unpaired(line) for line in text), encoding="utf-8")
    return root


def _unpaired(line: str) -> str:
    return ' "partner_id": null\n' if '"partner_id"' in line else "" if '"partner_path"' in line else line


SUBJECT = Subject("status", "looking at 10,000 recorded checkpoints beside rclone lsjson, and how it grows", run)
