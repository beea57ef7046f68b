"""The tables of what damage does to a checkpoint of several files, as they are written down."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.core.states import Structure
from tests.core.probes.trees import at_least

_WORDS = {"C": "corrupt", "I": "incomplete", "S": "suspect", ".": "nothing"}


def cells(table: str, columns: Sequence[tuple[str, str]]) -> list[tuple[str, str, str, frozenset[Structure]]]:
    """(layout, member, damage, the structures that say enough) of every cell that is filled in.

    A line is a damage and a letter for each column: C, I, S, "." for nothing; "-" where the damage does not apply.
    """
    found = []
    for line in table.strip().splitlines():
        kind, *letters = line.split()
        for (layout, member), letter in zip(columns, letters, strict=True):
            if letter != "-":
                found.append((layout, member, kind, at_least(_WORDS[letter])))
    return found
