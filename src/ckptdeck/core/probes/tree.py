"""A directory or a group as probes see it: names and sizes from one look, and each file opened when it is asked for.

Paths are relative to the checkpoint, "/" between their parts. Nothing here follows a link.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.probes.json_text import parse_json
from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.sighting import Member
from ckptdeck.core.states import MemberKind
from ckptdeck.core.values import dataclass

_LARGEST_JSON = 32 * MIB
MOST_BYTES_OF_ALL = 1024 * MIB
"""Read of all files of a tree at most; what a quick look needs of a thousand shards is a tenth of it."""


_AFTER_SLASH = chr(ord("/") + 1)


@dataclass(frozen=True, slots=True)
class KindFinding:
    """What the rules of one layout say about a tree that fits them."""

    format: str
    """"dcp", "hf-trainer", "orbax", ..."""
    text: str
    """One clause with what was shown: "2 shards with the sizes .metadata gives"."""
    judged: frozenset[str] = frozenset()
    """Files the layout's own rules answered for; the others are judged each by its own format."""


class LostInTree(Exception):
    """A file that was listed is not what it was: the tree changed while it was read."""


@dataclasses.dataclass(slots=True)
class _Spent:
    """Bytes read so far."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of one checkpoint of several files."""

    fs: FileSystem
    root: str
    """What member paths are relative to."""
    name: str
    members: tuple[Member, ...]
    effort: Effort = UNHURRIED
    files: Mapping[str, Member] = field(init=False, repr=False, compare=False)
    """Regular files by path, in the order of their paths."""
    directories: Mapping[str, list[str]] = field(init=False, repr=False, compare=False)
    """Names of the files that lie directly in a directory, by its path; "" is the root. Of those that hold files."""
    _paths: list[str] = field(init=False, repr=False, compare=False)
    _spent: _Spent = field(init=False, repr=False, compare=False, default_factory=_Spent)

    def __post_init__(self) -> None:
        files = {member.path: member for member in self.members if member.kind is MemberKind.FILE}
        directories: dict[str, list[str]] = {}
        for path in files:
            directory, _, name = path.rpartition("/")
            directories.setdefault(directory, []).append(name)
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "directories", directories)
        object.__setattr__(self, "_paths", sorted(files))

    def has(self, *paths: str) -> bool:
        """All of these files are there."""
        return all(path in self.files for path in paths)

    def inside(self, directory: str) -> list[str]:
        """Files at any depth below `directory`, in the order of their paths; "" for all."""
        if not directory:
            return list(self._paths)
        return self._paths[
            bisect_left(self._paths, directory + "/") : bisect_left(self._paths, directory + _AFTER_SLASH)
        ]

    def beside(self, directory: str) -> list[str]:
        """Names of the files that lie directly in `directory`."""
        return self.directories.get(directory, [])

    def size(self, path: str) -> int:
        """Bytes. Raises KeyError for what is not there."""
        return self.files[path].size

    @contextlib.contextmanager
    def descriptor(self, path: str) -> Iterator[int]:
        """One file, open for reading. Raises LostInTree when it is not the one listed, OSError."""
        member = self.files[path]
        with opened(self.fs, os.path.join(self.root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            status = self.fs.fstat(fd)
            if (status.st_ino, status.st_size) != (member.inode, member.size):
                raise LostInTree(path)
            yield fd

    @contextlib.contextmanager
    def reader(self, path: str) -> Iterator[Reader]:
        """A bounded reader of one file.

        Raises LostInTree when it is not the one listed, TooLarge when the tree has had its share, OSError.
        """
        if self._spent.count > MOST_BYTES_OF_ALL:
            raise TooLarge
        with self.descriptor(path) as fd:
            reader = Reader(self.fs, fd, self.size(path), self.effort)
            try:
                yield reader
            finally:
                self._spent.count += reader.bytes_read

    def read(self, path: str, limit: int) -> bytes | None:
        """All of a file of at most `limit` bytes, else None."""
        if self.size(path) > limit:
            return None
        with self.reader(path) as reader:
            return reader.at(0, limit)

    def json(self, path: str) -> Any:
        """The parsed document; None when it is too large for a quick look. Raises Damage when it is not JSON."""
        data = self.read(path, _LARGEST_JSON)
        if data is None:
            return None
        try:
            return parse_json(data)
        except Damage as damage:
            damage.text = f"{path}: {damage.text}"
            raise


def below(directory: str, name: str) -> str:
    """The path of `name` in `directory`, which is "" for the root."""
    return f"{directory}/{name}" if directory else name


def some(names: Iterable[str], most: int = 3) -> str:
    """The first of `names` and how many more: "a, b, c and 4 more"."""
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest:,} more" if rest > 0 else "")
