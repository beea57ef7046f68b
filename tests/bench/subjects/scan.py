"""100,000 files in directories, as sharded checkpoints have them, beside `find -printf`; and the memory it takes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.bench.contest import Against, Contest, Program, environment
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject

_DIRECTORIES = 100
_WALK = """
import gc, os, sys
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.unit import walk
gc.set_threshold(200_000, 20, 20)
kept = [walk(FileSystem(), f"{sys.argv[1]}/{name}") for name in sorted(os.listdir(sys.argv[1]))]
"""
_OURS, _FIND = "every member of every checkpoint", "find -printf"
_MOST_MIB = 200.0


def run(bench: Bench) -> Iterable[Row]:
    root = bench.room / "set"
    _fill(root, bench.scaled(100_000))
    program = [sys.executable, "-c", _WALK, str(root)]
    find = ["find", str(root), "-type", "f", "-printf", "%s %T@ %i %p\\n"]
    contest = Contest("scan", (Program(_OURS, program), Program(_FIND, find)), (Against(_OURS, _FIND, reach=2.0),))
    return [*contest.run(bench), Row("scan", "memory at its most", _peak(program), "MiB", reach=_MOST_MIB)]


def _fill(root: Path, count: int) -> None:
    for number in range(_DIRECTORIES):
        directory = root / f"checkpoint-{number}"
        directory.mkdir(parents=True)
        for shard in range(max(1, count // _DIRECTORIES)):
            os.close(os.open(directory / f"__{shard}_0.distcp", os.O_CREAT | os.O_WRONLY))


def _peak(program: list[str]) -> float:
    """MiB resident at most, of a process of its own."""
    with subprocess.Popen(program, env=environment()) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{program[0]} ended with {child.returncode}")
    usage_of: resource.struct_rusage = usage
    return usage_of.ru_maxrss / 1024


SUBJECT = Subject("scan", "100,000 files in directories beside find, and the memory that takes", run)
