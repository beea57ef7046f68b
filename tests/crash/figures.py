"""The figures of a run of the crash tests, printed when it ends."""

from __future__ import annotations

from collections import Counter

FIGURES: Counter[str] = Counter()
"""What was counted → how often, in this process; tests/conftest.py adds up those of all workers."""


def count(what: str, number: int = 1) -> None:
    FIGURES[what] += number
