"""Peak memory of commands on large checkpoints, above that of the same command on one of 4 KiB."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.bench.contest import environment
from tests.bench.deck import forget_copy, recorded_pair
from tests.bench.disks import GIB, fill, two_volumes
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject

_REACH = 32.0
_RUN = """
import json, sys
from ckptdeck.cli.main import main
code = main(json.loads(sys.argv[1]))
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak, file=sys.stderr)
sys.exit(code)
"""


def run(bench: Bench) -> Iterable[Row]:
    """Verify and mirror with read-back; 2 and 8 GiB."""
    large = bench.scaled(8 * GIB)
    with two_volumes(bench.room, max(6 * large // 5 + large // 2, GIB)) as (source, target):
        idle = dict(_peaks(source / "idle", target / "idle", 4096))
        for size, name in ((large // 4, "2 GiB"), (large, "8 GiB")):
            for command, peak in _peaks(source / "ckpt", target / "mirror", size):
                yield Row(
                    "memory", f"{command}, {name}", peak - idle[command], "MiB", _REACH, note=f"of {peak:.0f} MiB"
                )
    for command, peak in idle.items():
        yield Row("memory", f"{command}, 4 KiB, all of the process", peak, "MiB")


def _peaks(primary: Path, mirror: Path, size: int) -> Iterable[tuple[str, float]]:
    path, mirror = recorded_pair(primary, mirror, lambda path: fill(path, size))
    yield "verify", _peak("verify", str(primary), path.name, "--quiet")
    yield "mirror", _peak("mirror", str(primary), str(mirror), path.name, "--yes", "--quiet")
    forget_copy(mirror, path.name)
    path.unlink()
    for left in (mirror, primary, primary.parent / f".{primary.name}.ckptdeck"):
        subprocess.run(["rm", "-r", str(left)], check=True)


def _peak(*words: str) -> float:
    """MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        env=environment(),
    )
    return int(done.stderr.split()[-1]) / 1024


SUBJECT = Subject("memory", "peak memory of verify and mirror, 2 and 8 GiB", run)
