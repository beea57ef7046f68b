"""A directory or a group as probes see it: names and sizes from one look, and each file opened when it is asked for.

Paths are relative to the checkpoint, "/" between their parts. Nothing here follows a link.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ckptdeck.core.filesystem import FileSystem, opened
from ckptdeck.core.probes.reading import MIB, Damage, Reader
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.sighting import Member
from ckptdeck.core.states import MemberKind, Structure

_LARGEST_JSON = 64 * MIB


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

    def __post_init__(self) -> None:
        files = {member.path: member for member in self.members if member.kind is MemberKind.FILE}
        object.__setattr__(self, "files", files)

    def has(self, *paths: str) -> bool:
        """All of these files are there."""
        return all(path in self.files for path in paths)

    def inside(self, directory: str) -> list[str]:
        """Files at any depth below `directory`; "" for all."""
        prefix = directory + "/" if directory else ""
        return [path for path in self.files if path.startswith(prefix)]

    def beside(self, directory: str) -> list[str]:
        """Names of the files that lie directly in `directory`."""
        return [path.rpartition("/")[2] for path in self.files if path.rpartition("/")[0] == directory]

    def size(self, path: str) -> int:
        """Bytes. Raises KeyError for what is not there."""
        return self.files[path].size

    @contextlib.contextmanager
    def reader(self, path: str) -> Iterator[Reader]:
        """A bounded reader of one file. Raises LostInTree when it is not the one listed, OSError."""
        member = self.files[path]
        with opened(self.fs, os.path.join(self.root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            status = self.fs.fstat(fd)
            if (status.st_ino, status.st_size) != (member.inode, member.size):
                raise LostInTree(path)
            yield Reader(self.fs, fd, member.size, self.effort)

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
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            structure = Structure.BROKEN if data else Structure.CUT
            raise Damage(structure, f"{path}: {len(data):,} bytes that are not JSON ({error})") from None


def some(names: Iterable[str], most: int = 3) -> str:
    """The first of `names` and how many more: "a, b, c and 4 more"."""
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest:,} more" if rest > 0 else "")
