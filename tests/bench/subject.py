"""A subject of the bench: one file in `subjects/` with a `SUBJECT`. It is found by being there."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.bench import subjects
from tests.bench.figures import Row


@dataclass(frozen=True, slots=True)
class Bench:
    """What a subject is given."""

    room: Path
    """An empty directory of its own on a real disk; removed afterwards."""
    rounds: int
    scale: float
    """1 for the sizes of the table; the smoke test passes a small one. `scaled` applies it."""

    @property
    def trial(self) -> bool:
        """Only tries whether the bench works: nobody waits for an idle machine."""
        return self.scale < 1

    def scaled(self, amount: int) -> int:
        """`amount` bytes or pieces at this scale, at least 1."""
        return max(1, int(amount * self.scale))


@dataclass(frozen=True, slots=True)
class Subject:
    """Some rows about one matter. `name` is what is chosen on the command line."""

    name: str
    about: str
    run: Callable[[Bench], Iterable[Row]]


def all_subjects() -> list[Subject]:
    """Every subject there is, by name."""
    names = (module.name for module in pkgutil.iter_modules(subjects.__path__))
    found: list[Subject] = [importlib.import_module(f"{subjects.__name__}.{name}").SUBJECT for name in names]
    return sorted(found, key=lambda subject: subject.name)
