"""Probes damaged at random: `python -m tests.mutant_report [HOW_MANY] [SEED]`. A figure, not a test.

Seeded mutants of every real checkpoint, files and directories in turn. Prints how many were tried, the slowest of each
layout and what escaped as an exception; exit code 1 when anything did.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes import probe_file
from tests.core.probes.looking import FIXTURES, memory_file
from tests.core.probes.test_mutants import SEEDS, mutate
from tests.core.probes.trees import probe_directory
from tests.damage_report import TREES

ONE = FIXTURES / "one_save"
_TREES_EVERY = 20
"""A tree costs as much as many files."""


@dataclass(slots=True)
class Tally:
    tried: int = 0
    slowest: float = 0.0


def main(arguments: list[str]) -> int:
    wanted = int(arguments[0]) if arguments else 500_000
    values = random.Random(arguments[1] if len(arguments) > 1 else "mutants")
    tallies: dict[str, Tally] = {}
    escaped: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        for number, (layout, probe) in enumerate(_mutants(values, Path(place)), start=1):
            tally = tallies.setdefault(layout, Tally())
            begun = time.thread_time()
            try:
                probe()
            except Exception:  # noqa: BLE001 - what escapes is what is looked for
                escaped.append(f"{layout}, mutant {number}:\n{traceback.format_exc()}")
            tally.tried += 1
            tally.slowest = max(tally.slowest, time.thread_time() - begun)
            if number >= wanted:
                break
    for layout, tally in sorted(tallies.items(), key=lambda item: -item[1].slowest):
        _say(f"{tally.tried:9,}  slowest {tally.slowest * 1000:6.1f} ms  {layout}")
    _say(f"{sum(tally.tried for tally in tallies.values()):,} mutants, {len(escaped)} exceptions")
    for text in escaped[:5]:
        _say(text)
    return 1 if escaped else 0


def _mutants(values: random.Random, place: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    files = {name: (ONE / name).read_bytes() for name in SEEDS}
    trees = [_Tree(layout, place) for layout in TREES]
    turn = 0
    while True:
        for name, content in files.items():
            yield name, _file_probe(mutate(content, values), name.rpartition("/")[2])
            turn += 1
            if turn % _TREES_EVERY == 0:
                tree = trees[turn // _TREES_EVERY % len(trees)]
                tree.damage(values)
                yield tree.layout, tree.probe


def _file_probe(mutant: bytes, name: str) -> Callable[[], object]:
    def probe() -> object:
        with memory_file(mutant) as fd:
            return probe_file(FileSystem(), fd, len(mutant), name)

    return probe


class _Tree:
    """A copy of a real checkpoint of which one member at a time is damaged."""

    def __init__(self, layout: str, place: Path) -> None:
        self.layout = layout
        self._root = place / layout
        shutil.copytree(ONE / layout, self._root)
        self._whole = {path: path.read_bytes() for path in sorted(self._root.rglob("*")) if path.is_file()}
        self._spoilt: Path | None = None

    def damage(self, values: random.Random) -> None:
        if self._spoilt is not None:
            self._spoilt.write_bytes(self._whole[self._spoilt])
        self._spoilt = values.choice([*self._whole])
        self._spoilt.write_bytes(mutate(self._whole[self._spoilt], values))

    def probe(self) -> object:
        return probe_directory(self._root)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
