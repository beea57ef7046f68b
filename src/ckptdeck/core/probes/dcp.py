"""P14: torch DCP. `.metadata` says which bytes of which `__R_K.distcp` everything is, so each part has an exact size.

`.metadata` is written last: parts without it are a save that did not finish. Blind to the values.
"""

from __future__ import annotations

import re
from collections import defaultdict

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.dcp_metadata import Piece, read_pieces
from ckptdeck.core.probes.dcp_pieces import check_pieces
from ckptdeck.core.probes.reading import Damage, TooLarge
from ckptdeck.core.probes.tree import KindFinding, Tree, some
from ckptdeck.core.probes.zip_directory import has_end, is_chain
from ckptdeck.core.states import Structure

FORMAT = "dcp"

_METADATA = ".metadata"
_METADATA_OF_RANK = re.compile(r"__[0-9]+\.metadata", re.ASCII)
_UNFINISHED = re.compile(r"(?:__[0-9]+)?\.metadata\.tmp", re.ASCII)
_PART = re.compile(r"__(?P<rank>[0-9]+)_[0-9]+\.distcp", re.ASCII)
_MOST_PIECES_LOOKED_AT = 2048

_UNFINISHED_MESSAGE = "torch says \"FileNotFoundError: No such file or directory: '.metadata'\": it is written last"
_MISSING_MESSAGE = 'torch says "CheckpointException", and below it "FileNotFoundError" for that part'
_CUT_MESSAGE = (
    'torch says "CheckpointException", and below it "PytorchStreamReader failed reading zip archive: '
    'failed finding central directory"'
)
_APPENDED_MESSAGE = "torch says nothing and loads the right values; something else was appended"


def judge_dcp(tree: Tree) -> KindFinding | None:
    """None without a part or a `.metadata`. Raises the worst Damage of every directory that has one."""
    directories = _directories(tree)
    if not directories:
        return None
    damages = Damages()
    judged: set[str] = set()
    said = []
    for directory in directories:
        found = _Directory(tree, directory, damages, _MOST_PIECES_LOOKED_AT // len(directories))
        with damages.heard():
            said.append(found.judge())
        judged |= found.judged
    damages.raise_worst(judged)
    return KindFinding(FORMAT, some(said, 2), frozenset(judged))


def _directories(tree: Tree) -> list[str]:
    """Each with "/" at its end, or ""."""
    found = set()
    for path in tree.files:
        directory, slash, name = path.rpartition("/")
        if name == _METADATA or _METADATA_OF_RANK.fullmatch(name) or _PART.fullmatch(name):
            found.add(directory + slash)
    return sorted(found)


class _Directory:
    """One checkpoint of DCP: a directory of the tree, "" or with "/" at its end."""

    def __init__(self, tree: Tree, directory: str, damages: Damages, most_pieces: int) -> None:
        self.tree = tree
        self.directory = directory
        self.damages = damages
        self.most_pieces = most_pieces
        self.names = tree.beside(directory.removesuffix("/"))
        self.metadata = [name for name in self.names if name == _METADATA or _METADATA_OF_RANK.fullmatch(name)]
        self.parts = [name for name in self.names if _PART.fullmatch(name)]
        self.judged = {directory + name for name in (*self.metadata, *self.parts)}

    def judge(self) -> str:
        """What was shown. Raises Damage; damages of the parts go to the list."""
        if not self.metadata:
            raise self._unfinished()
        try:
            pieces = self._read_metadata()
        except TooLarge:
            return self._judge_without_sizes()
        by_part: dict[str, list[Piece]] = defaultdict(list)
        for piece in pieces:
            by_part[piece.part].append(piece)
        looked_at = 0
        for part in sorted(by_part):
            of_part = sorted(by_part[part], key=lambda piece: (piece.offset, piece.end))
            with self.damages.heard():
                looked_at += self._judge_part(part, of_part, self.most_pieces * len(of_part) // len(pieces) + 1)
        self._judge_members(by_part)
        self.judged |= {self.directory + part for part in by_part if self.tree.has(self.directory + part)}
        return (
            f"{counted(len(by_part), 'part')} of the size that {self.directory}{_METADATA} gives, "
            f"{looked_at:,} of {counted(len(pieces), 'piece')} in them looked at"
        )

    def _read_metadata(self) -> list[Piece]:
        pieces: list[Piece] = []
        for name in self.metadata:
            with self.tree.reader(self.directory + name) as reader:
                pieces += read_pieces(reader, self.directory + name)
        return pieces

    def _judge_part(self, part: str, pieces: list[Piece], most: int) -> int:
        path = self.directory + part
        if not self.tree.has(path):
            return 0
        expected = max(piece.end for piece in pieces)
        size = self.tree.size(path)
        if size < expected:
            lost = sum(piece.end > size for piece in pieces)
            raise Damage(
                Structure.CUT,
                f"{path}: cut off: {size:,} of {expected:,} bytes, {expected - size:,} missing, which "
                f"{lost:,} of {counted(len(pieces), 'piece')} reach into",
                loader_says=_CUT_MESSAGE,
            )
        lumped = len({piece.offset for piece in pieces if piece.length}) < sum(piece.length > 0 for piece in pieces)
        if lumped:  # as safetensors: a table and all pieces behind one offset, so that the end is not said here
            return 0
        with self.tree.reader(path) as reader:
            looked_at = check_pieces(reader, path, pieces, most)
        if size > expected:
            raise Damage(
                Structure.SUSPECT,
                f"{path}: {size - expected:,} bytes too many: its last piece ends at byte {expected:,}, "
                f"the file at {size:,}",
                loader_says=_APPENDED_MESSAGE,
            )
        return looked_at

    def _judge_members(self, by_part: dict[str, list[Piece]]) -> None:
        if missing := sorted(part for part in by_part if not self.tree.has(self.directory + part)):
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{some([self.directory + part for part in missing])}: not there, of "
                    f"{counted(len(by_part), 'part')} that {_METADATA} names",
                    loader_says=_MISSING_MESSAGE,
                )
            )
        if unnamed := sorted(set(self.parts).difference(by_part)):
            self.damages.add(
                Damage(
                    Structure.SUSPECT,
                    f"{some([self.directory + part for part in unnamed])}: {_METADATA} names no such part; it is of "
                    "another save to this directory, begun later or left by an earlier one",
                    loader_says="torch says nothing and reads the parts that are named",
                )
            )

    def _judge_without_sizes(self) -> str:
        """By the ends of the parts alone. Raises Damage for one that does not end as a piece does."""
        for name in self.parts:
            path = self.directory + name
            with self.damages.heard(), self.tree.reader(path) as reader:
                if not (reader.size and (has_end(reader) or is_chain(reader))):
                    raise Damage(
                        Structure.CUT,
                        f"{path}: {reader.size:,} bytes that do not end as a piece does; its size is not known",
                        loader_says=_CUT_MESSAGE,
                    )
        size = sum(self.tree.size(self.directory + name) for name in self.metadata)
        return (
            f"{counted(len(self.parts), 'part')} that end as a piece does; their sizes are unknown, since "
            f"{self.directory}{_METADATA} of {size:,} bytes is more than a quick look reads"
        )

    def _unfinished(self) -> Damage:
        ranks = {int(match["rank"]) for part in self.parts if (match := _PART.fullmatch(part))}
        begun = [name for name in self.names if _UNFINISHED.fullmatch(name)]
        gaps = f", the highest {max(ranks)}, some without any" if len(ranks) <= max(ranks) else ""
        return Damage(
            Structure.INCOMPLETE,
            f"{self.directory}{_METADATA} is not there, which is written last: the save did not finish. "
            f"There {'is' if len(self.parts) == 1 else 'are'} {counted(len(self.parts), 'part')} of "
            f"{counted(len(ranks), 'rank')}{gaps}" + (f", and {begun[0]}" if begun else ""),
            loader_says=_UNFINISHED_MESSAGE,
        )
