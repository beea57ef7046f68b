"""What `publish` adds to a trainer's own careful save: write, fsync, rename, fsync of the directory; 1 GiB."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import ckptdeck
from tests.bench.contest import Against, Contest, Program, run_once
from tests.bench.deck import deck, forget_checkpoint
from tests.bench.disks import GIB, MIB, settle
from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject

NAME = "step_0001.pt"
BARE, OURS, PROVEN = "bare save", "publish", "publish, read back"
_PIECE = 16 * MIB
"""What a trainer hands over at a time: a tensor."""


def run(bench: Bench) -> Iterable[Row]:
    """In this process, as in a trainer's: nothing starts."""
    root = bench.room / "set"
    root.mkdir()
    run_once(deck("init", root))
    data = memoryview(os.urandom(_PIECE))
    pieces = bench.scaled(GIB // _PIECE)
    fresh = partial(_fresh, root)
    contest = Contest(
        "publish",
        [
            Program(BARE, partial(_save, root, data, pieces), fresh),
            Program(OURS, partial(_publish, root, data, pieces, readback=False), fresh),
            Program(PROVEN, partial(_publish, root, data, pieces, readback=True), fresh),
        ],
        [Against(OURS, BARE, 1.05), Against(PROVEN, BARE)],
        allowance=0.6,
        memory=2 * pieces * _PIECE,
    )
    return contest.run(bench)


def _fresh(root: Path) -> None:
    forget_checkpoint(root, NAME)
    settle(root)


def _save(root: Path, data: memoryview, pieces: int) -> None:
    staged = root / f"{NAME}.tmp"
    with open(staged, "wb") as file:
        for _ in range(pieces):
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(staged, root / NAME)
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(directory)
    os.close(directory)


def _publish(root: Path, data: memoryview, pieces: int, *, readback: bool) -> None:
    with ckptdeck.publish(root, NAME, readback=readback) as file:
        for _ in range(pieces):
            file.write(data)


SUBJECT = Subject("publish", "a trainer's save of 1 GiB, bare and published", run)
