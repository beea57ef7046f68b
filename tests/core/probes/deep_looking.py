"""Files in memory for full reads, and a reader of one as probes have it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes.deep import probe_deep
from ckptdeck.core.probes.deep_tree import deep_tree
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.progress import UNHURRIED, Effort, Pacer
from ckptdeck.core.sighting import StructureFinding
from tests.core.probes.damage import Damaged
from tests.core.probes.looking import memory_file
from tests.core.probes.trees import tree_of
from tests.crash.sandbox import StillClock, machine


def deep_bytes(
    content: bytes,
    name: str,
    *,
    holes: tuple[tuple[int, int], ...] = (),
    effort: Effort = UNHURRIED,
    fs: FileSystem | None = None,
) -> StructureFinding:
    with memory_file(content, holes) as fd:
        return probe_deep(machine(fs or FileSystem()), fd, len(content), name=name, side="primary", effort=effort)


def deep_damaged(damaged: Damaged, name: str) -> StructureFinding:
    """What a full read says of the damaged file under its own name."""
    return deep_bytes(damaged.content, name.rpartition("/")[2], holes=damaged.holes)


def deep_directory(root: Path) -> StructureFinding:
    return deep_tree(machine(FileSystem()), tree_of(root), "primary")


@contextlib.contextmanager
def long_reader(content: bytes, fs: FileSystem | None = None) -> Iterator[LongReader]:
    with memory_file(content) as fd:
        yield LongReader(
            fs or FileSystem(), fd, len(content), UNHURRIED, pacer=Pacer(StillClock(), UNHURRIED), tell=lambda _: None
        )
