"""How long a launch script waits: the shortest commands beside the bare interpreter."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tests.bench.contest import Against, Contest, Program, run_once
from tests.bench.deck import deck, recorded_set
from tests.bench.disks import fill
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject

_PYTHON = "python -c pass"
_REACH = 4.0


def run(bench: Bench) -> Iterable[Row]:
    """Help, version, and the resume point of a set whose newest checkpoint has a receipt."""
    path = recorded_set(bench.room / "set", lambda file: fill(file, 1 << 20))
    root = str(path.parent)
    commands = {"ckptdeck --help": deck("--help"), "ckptdeck --version": deck("--version")}
    commands["ckptdeck resume, on a receipt"] = deck("resume", root)
    for words in commands.values():
        run_once(words)
    programs = [Program(name, words) for name, words in commands.items()]
    programs.append(Program(_PYTHON, [sys.executable, "-c", "pass"]))
    return Contest("startup", programs, [Against(name, _PYTHON, reach=_REACH) for name in commands]).run(bench)


SUBJECT = Subject("startup", "--help, --version and resume beside `python -c pass`", run)
