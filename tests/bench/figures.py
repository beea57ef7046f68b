"""What the bench comes to: one figure a row, with what it has to reach and which way is worse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which way a figure improves."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    `value` is None where something that it needs is not here. `unit` is "x" for a ratio to another program of the
    same rounds, else "MiB", "%", "ms", ... A row without `reach` is a peer's, or only shows how cost grows.
    """

    subject: str
    name: str
    value: float | None
    unit: str = "x"
    reach: float | None = None
    better: Better = Better.LOWER
    seconds: float | None = None
    """Median wall time behind a ratio."""
    spread: tuple[float, float] | None = None
    """Least and greatest of the rounds."""
    note: str = ""

    @property
    def key(self) -> str:
        """Under which a baseline keeps it."""
        return f"{self.subject}: {self.name}"

    @property
    def missed(self) -> bool:
        """It has to reach something and does not."""
        if self.value is None or self.reach is None:
            return False
        return self.value > self.reach if self.better is Better.LOWER else self.value < self.reach

    def regressed(self, before: float) -> bool:
        """It is more than a fifth worse than it was."""
        if self.value is None or before <= 0:
            return False
        return self.value > before * 1.2 if self.better is Better.LOWER else self.value < before / 1.2


def not_here(subject: str, name: str, what: str) -> Row:
    """The row of something this machine lacks."""
    return Row(subject, name, None, note=f"not here: {what}")
