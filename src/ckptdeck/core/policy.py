"""A set's policy: what `ckptdeck.toml` in the primary's control directory may say, decoded strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass

MINIMUM_AGE = 300.0
"""Seconds. The age guard can be raised, never lowered (invariant 2)."""


@dataclass(frozen=True, slots=True)
class KeepBest:
    """Keep the best `count` checkpoints by a recorded metric."""

    count: int
    metric: str
    highest: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """What is in force for a pair of sets. Times in seconds, rates in bytes per second."""

    patterns: tuple[re.Pattern[str], ...] = ()
    """Own names of checkpoints; each has a group called `step`."""
    ignore: tuple[str, ...] = ()
    """Glob patterns of names that are never checkpoints."""
    keep_last: int = 12
    keep_every: int | None = None
    keep_best: KeepBest | None = None
    prune_sides: tuple[str, ...] = ("primary", "mirror")
    min_age: float = MINIMUM_AGE
    max_receipt_age: float = 7 * 86400.0
    rate: float | None = None
    readback: bool = True
    reserve_fraction: float = 0.01
    poll: float = 2.0
    notify: str | None = None
    resume_command: str | None = None


DEFAULT_POLICY = Policy()
