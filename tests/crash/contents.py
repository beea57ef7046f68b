"""What a checkpoint of a test holds, and how it is read back from disk: bytes, or a tree of them.

The digests are computed here from the design's own words (2-core.md "A record"), not by the code under test.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import xxhash

GROUP_MARKER = ".index"
"""The name of a group that says that the rest is there ends with this."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory; or a group, whose files lie beside one another in the set and which has no name of its own there."""

    files: Mapping[str, bytes]
    """Bytes by path."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Target by path."""
    empty: frozenset[str] = frozenset()
    """Directories that hold nothing."""
    group: bool = False

    @property
    def directories(self) -> list[str]:
        """Every directory below the top, each before what is in it."""
        found = set(self.empty)
        for path in (*self.files, *self.links, *self.empty):
            found.update(parent for parent in map(str, Path(path).parents) if parent != ".")
        return sorted(found)


Content = bytes | Tree


def digest_of(content: Content) -> str:
    """xxh3_128 of bytes; of a tree over its byte-sorted lines. A link ends with "//", an empty directory with "/"."""
    if isinstance(content, bytes):
        return xxhash.xxh3_128_hexdigest(content)
    nothing = xxhash.xxh3_128_hexdigest(b"")
    lines = [f"{digest_of(data)}  {path}\n" for path, data in content.files.items()]
    lines += [f"{digest_of(os.fsencode(target))}  {path}//\n" for path, target in content.links.items()]
    lines += [f"{nothing}  {path}/\n" for path in content.empty]
    return xxhash.xxh3_128_hexdigest(b"".join(sorted(map(os.fsencode, lines))))


def read_content(path: Path) -> Content:
    """What has this name. Raises OSError."""
    return read_directory(path) if path.is_dir() and not path.is_symlink() else path.read_bytes()


def read_directory(path: Path) -> Tree:
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    empty = set()
    for inside, directories, names in os.walk(path):
        for name in (*names, *directories):
            member = Path(inside, name)
            if member.is_symlink():
                links[str(member.relative_to(path))] = os.readlink(member)
            elif name in names:
                files[str(member.relative_to(path))] = member.read_bytes()
        if not names and not directories and inside != str(path):
            empty.add(str(Path(inside).relative_to(path)))
    return Tree(files, links, frozenset(empty))


def read_group(root: Path, members: Iterable[str]) -> Tree:
    """Those of `members` that are there. A group whose marker is among them claims to be whole."""
    present = (name for name in sorted(members) if os.path.lexists(root / name))
    return Tree({name: (root / name).read_bytes() for name in present}, group=True)


def claims_to_be_whole(group: Tree) -> bool:
    return any(name.endswith(GROUP_MARKER) for name in group.files)


def in_words(content: Content) -> str:
    """What is there, for a violation: enough to see how it is broken."""
    if isinstance(content, bytes):
        kind = "empty" if not content else "all zeros" if not content.strip(b"\0") else "never whole"
        return f"{kind}, {len(content)} bytes"
    sizes = [f"{path} {_size(data)}" for path, data in sorted(content.files.items())]
    others = [*content.links, *content.empty]
    return f"never whole: {', '.join([*sizes, *sorted(others)]) or 'nothing in it'}"


def _size(data: bytes) -> str:
    return "zeros" if data and not data.strip(b"\0") else str(len(data))
