"""The figures of a run of the crash tests, printed when it ends."""

from __future__ import annotations

from collections import Counter

FIGURES: Counter[str] = Counter()
"""What was counted → how often, in the order of first mention."""


def count(what: str, number: int = 1) -> None:
    FIGURES[what] += number
