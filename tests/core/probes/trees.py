"""Checkpoints of several files for probes: real ones with one member damaged, and what a probe sees of them."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.probes.directory import probe_tree
from ckptdeck.core.probes.tree import Tree
from ckptdeck.core.sighting import Member, StructureFinding
from ckptdeck.core.states import MemberKind, Structure
from tests.core.probes import damage
from tests.core.probes.damage import Damaged
from tests.core.probes.looking import FIXTURES, PAGE

MISSING = "missing"
STALE = "stale"
TORN_MIX = "torn_mix"
BY_CONTENT: Mapping[str, Callable[[bytes], Damaged]] = {
    **damage.LOST_BYTES,
    **damage.WHOLE_PAGES,
    **damage.ZERO_TAILS,
    "zero_gap": damage.zero_gap,
    "hole_gap": damage.hole_gap,
    **damage.INSIDE_VALUES,
    **damage.TOO_LONG,
}
"""Every damage of the fact tables that needs no other save."""
_SHARES_OF_A_SHORT_FILE = {"zero_tail": (0.73, 1.0), "hole_tail": (0.73, 1.0), "hole_gap": (0.25, 0.4)}

PROVEN = frozenset({Structure.CUT, Structure.BROKEN})
_ENOUGH = {
    "corrupt": PROVEN,
    "incomplete": PROVEN | {Structure.INCOMPLETE},
    "suspect": PROVEN | {Structure.INCOMPLETE, Structure.SUSPECT},
    "nothing": frozenset(Structure),
}
"""What is at least as much as each word of the table."""


def tree_of(root: Path, fs: FileSystem | None = None) -> Tree:
    """The tree below `root`, links and empty directories too, in the order of their paths."""
    members = [_member(root, path) for path in sorted(root.rglob("*"), key=lambda path: path.as_posix())]
    return Tree(fs or FileSystem(), str(root), root.name, tuple(member for member in members if member is not None))


def probe_directory(root: Path, fs: FileSystem | None = None) -> StructureFinding:
    return probe_tree(tree_of(root, fs))


def copied(layout: str, into: Path, *, name: str = "", which: str = "one_save") -> Path:
    """A copy of the real checkpoint `layout` ("orbax_ocdbt/100") in `into`, under its own name or another."""
    root = into / (name or layout.rpartition("/")[2])
    shutil.copytree(FIXTURES / which / layout, root)
    return root


def made(files: Mapping[str, bytes], root: Path) -> Path:
    """A directory of these files."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def damaged_copy(layout: str, into: Path, member: str, kind: str, *, name: str = "") -> Path:
    """A copy with one damage in one member: a key of BY_CONTENT, MISSING, STALE or TORN_MIX."""
    root = copied(layout, into, name=name)
    another = FIXTURES / "another_save" / layout / member
    match kind:
        case "missing":
            (root / member).unlink()
        case "stale":
            (root / member).write_bytes(another.read_bytes())
        case "torn_mix":
            write(root / member, damage.torn_mix((root / member).read_bytes(), another.read_bytes()))
        case _:
            spoil(root / member, kind)
    return root


def spoil(path: Path, kind: str) -> None:
    """Damages a file where it lies."""
    write(path, damaged(path.read_bytes(), kind))


def damaged(content: bytes, kind: str) -> Damaged:
    """`content` damaged. What falls on whole pages falls on any byte of a file that has too few of them."""
    share, until = _SHARES_OF_A_SHORT_FILE.get(kind, (0.0, 1.0))
    start, end = int(len(content) * share), max(1, int(len(content) * until))
    has_pages = start // PAGE < end // PAGE if kind == "hole_gap" else len(content) > PAGE
    if has_pages or kind not in _SHARES_OF_A_SHORT_FILE:
        return BY_CONTENT[kind](content)
    return Damaged(content[:start] + bytes(end - start) + content[end:])


def write(path: Path, spoilt: Damaged) -> None:
    """Writes what is left of a file, its holes as holes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(len(spoilt.content))
        position = 0
        for start, end in (*spoilt.holes, (len(spoilt.content), len(spoilt.content))):
            os.pwrite(file.fileno(), spoilt.content[position:start], position)
            position = end


def members_of(layout: str) -> list[str]:
    """The paths of the files of a real checkpoint."""
    root = FIXTURES / "one_save" / layout
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


@cache
def expectations(layout: str, tier: str = "quick") -> Mapping[tuple[str, str], frozenset[Structure]]:
    """(member, damage) -> the structures that say enough, by expectations.json; `tier` "quick" or "deep"."""
    prefix = layout.replace("/", "~").replace("~", "/", 1) + ("~" if "/" in layout else "/")
    table = json.loads((FIXTURES / "expectations.json").read_text())
    found = {}
    for key, row in table.items():
        member, _, kind = key.removeprefix(prefix).rpartition("__")
        if key.startswith(prefix) and member:
            found[_member_named(layout, member), kind] = at_least(row[tier])
    return found


def at_least(word: str) -> frozenset[Structure]:
    """The structures that say at least "corrupt", "incomplete", "suspect" or "nothing"."""
    return _ENOUGH[word]


def _member_named(layout: str, key: str) -> str:
    """ "~" stands for "/", and "hex0" for the first file of its directory."""
    member = key.replace("~", "/")
    directory, _, name = member.rpartition("/")
    if name != "hex0":
        return member
    return next(path for path in members_of(layout) if path.rpartition("/")[0] == directory)


def _member(root: Path, path: Path) -> Member | None:
    status = path.lstat()
    if path.is_symlink():
        kind = MemberKind.LINK
    elif path.is_dir():
        if any(path.iterdir()):
            return None
        kind = MemberKind.DIRECTORY
    else:
        kind = MemberKind.FILE
    return Member(
        path=path.relative_to(root).as_posix(),
        size=status.st_size if kind is MemberKind.FILE else 0,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        device=status.st_dev,
        inode=status.st_ino,
        mode=stat.S_IMODE(status.st_mode),
        links=status.st_nlink,
        blocks=status.st_blocks,
        kind=kind,
        target=os.readlink(path) if kind is MemberKind.LINK else "",
    )
