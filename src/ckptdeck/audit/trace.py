"""What is known of a value without running anything."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from enum import Flag, auto

from ckptdeck.audit.words import NO_WORDS, Words, speaks_of_temporary, without_temporary

_MOST_WORDS = 120
_MOST_OPENS = 8


class Mark(Flag):
    """What a value may be, apart from what it speaks of."""

    NONE = 0
    TEMPORARY = auto()
    ELSEWHERE = auto()
    """In the system's own place for temporary files, which may be another file system."""
    STREAM = auto()
    """Something to write into that is no path: a buffer, a stream of unknown origin."""
    OPENED = auto()
    """A stream of `open`; the words are those of the path."""
    GIVEN = auto()
    """What an unknown context manager or caller hands over: it may well see to the final name itself."""
    LISTING = auto()
    """Names found in a directory."""
    TIMED = auto()
    """A modification time, or something with one in it."""
    SIZED = auto()
    """The size of a file."""
    NUMBER = auto()
    """A number, or something with one in it."""
    SORTED = auto()
    """Ordered by itself: names of files as text, pairs with a time by the time."""
    BY_TIME = auto()
    BY_KEY = auto()
    """Ordered by a key: a modification time, anything else."""
    SOME = auto()
    """Some of an ordered list: a slice, its first."""


ORDER = Mark.LISTING | Mark.SORTED | Mark.BY_TIME | Mark.BY_KEY | Mark.SOME


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known of a value."""

    words: Words = NO_WORDS
    leaf: Words = NO_WORDS
    """The words of the last component alone, where the value is a path."""
    marks: Mark = Mark.NONE
    same: Words = NO_WORDS
    """Names that hold this very value."""
    within: Words = NO_WORDS
    """Names of what it was built from, directories and beginnings, its own included."""
    opens: tuple[ast.Call, ...] = ()
    """The calls of `open` it comes from."""

    def __or__(self, other: Trace) -> Trace:
        """What is known of a value that may be either."""
        if other is UNKNOWN:
            return self
        if self is UNKNOWN:
            return other
        return Trace(
            bounded(self.words | other.words),
            bounded(self.leaf | other.leaf),
            self.marks | other.marks,
            bounded(self.same | other.same),
            bounded(self.within | other.within),
            self.opens if not other.opens else tuple(dict.fromkeys((*self.opens, *other.opens)))[:_MOST_OPENS],
        )

    def has(self, marks: Mark) -> bool:
        """Any of them."""
        return bool(self.marks & marks)

    def marked(self, marks: Mark) -> Trace:
        return replace(self, marks=self.marks | marks)

    def anonymous(self) -> Trace:
        """A path made from this one: no name holds it."""
        return replace(self, marks=self.marks & ~Mark.STREAM, same=NO_WORDS)

    def final(self) -> Trace:
        """What is derived from a temporary path and need not be temporary: `final_name(tmp)`."""
        return Trace(without_temporary(self.words), without_temporary(self.leaf), within=self.within)


UNKNOWN = Trace()


def temporary_by(words: Words) -> Mark:
    return Mark.TEMPORARY if speaks_of_temporary(words) else Mark.NONE


def bounded(words: Words) -> Words:
    """A hostile source may have a million words."""
    return words if len(words) <= _MOST_WORDS else frozenset(sorted(words)[:_MOST_WORDS])
