"""Patterns of names, each asked only of names that have the letters it cannot do without.

Compiling all of them takes as long as everything else that a launch script waits for when a set is at rest, and a large
set asks each of them of every name.
"""

from __future__ import annotations

import re

FLAGS = re.ASCII | re.DOTALL


class NamePattern:
    """A regular expression for whole names. `needs` is in every name that matches."""

    __slots__ = ("_compiled", "needs", "text")

    def __init__(self, text: str, *, needs: str = "") -> None:
        self.text = text
        self.needs = needs
        self._compiled: re.Pattern[str] | None = None

    def fullmatch(self, name: str) -> re.Match[str] | None:
        if self.needs not in name:
            return None
        if self._compiled is None:
            self._compiled = re.compile(self.text, FLAGS)
        return self._compiled.fullmatch(name)
