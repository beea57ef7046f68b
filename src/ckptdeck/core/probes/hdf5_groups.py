"""The groups of an HDF5 file of the old layout, superblock 0 and 1: whether what they name is where they say.

A group is a B-tree of symbol nodes and a heap of names; every node, heap and object header begins in a known way. They
lie all over the file, so lost ranges that reach one of them are proven without looking at any values.
"""

from __future__ import annotations

import struct

from ckptdeck.core.probes.reading import Damage, Reader, is_zero
from ckptdeck.core.states import Structure

WIDTH = 8
"""Bytes of an address in every file that is walked; other widths have not been written for decades."""

_ENTRY = struct.Struct("<QQLLQQ")
_IS_GROUP = 1
_TREE = struct.Struct("<4sBBHQQ")
_CHILD = struct.Struct("<QQ")
_NODE = struct.Struct("<4sBBH")
_NOWHERE = (1 << 64) - 1
_MOST_PLACES = 4096

_BEGINNINGS = {
    "object": (b"OHDR", b"\x01\0"),
    "B-tree": (b"TREE",),
    "symbol node": (b"SNOD",),
    "heap of names": (b"HEAP",),
}
_LOADER_SAYS = (
    'h5py says "bad object header version number", "wrong B-tree signature" or "bad symbol table node signature", once '
    "that object is used"
)


def check_groups(reader: Reader, base: int, entry: int) -> None:
    """Looks at up to 4096 places that the groups name, from the entry of the root at byte `entry` on.

    Raises Damage at the first where something else is. Addresses in the file count from `base`.
    """
    walk = _Walk(reader, base)
    walk.follow_entries(reader.near(entry, _ENTRY.size))
    walk.run()


class _Walk:
    def __init__(self, reader: Reader, base: int) -> None:
        self._reader = reader
        self._base = base
        self._waiting: list[tuple[str, int]] = []
        self._seen: set[int] = set()

    def run(self) -> None:
        while self._waiting and len(self._seen) <= _MOST_PLACES:
            kind, place = self._waiting.pop()
            self._check(kind, place)
            if kind == "B-tree":
                self._follow_tree(place)
            elif kind == "symbol node":
                count = int(_NODE.unpack(self._reader.near(place, _NODE.size))[3])
                self.follow_entries(self._reader.near(place + _NODE.size, count * _ENTRY.size))

    def follow_entries(self, raw: bytes) -> None:
        """Each names an object, and of a group its tree and heap besides."""
        for at in range(0, len(raw) - _ENTRY.size + 1, _ENTRY.size):
            _, header, cached, _, tree, heap = _ENTRY.unpack_from(raw, at)
            self._add("object", header)
            if cached == _IS_GROUP:
                self._add("heap of names", heap)
                self._add("B-tree", tree)

    def _follow_tree(self, place: int) -> None:
        _, _, level, count, _, _ = _TREE.unpack(self._reader.near(place, _TREE.size))
        children = self._reader.near(place + _TREE.size, count * _CHILD.size)
        for at in range(0, len(children) - _CHILD.size + 1, _CHILD.size):
            self._add("B-tree" if level else "symbol node", _CHILD.unpack_from(children, at)[1])

    def _add(self, kind: str, address: int) -> None:
        place = self._base + address
        if address != _NOWHERE and place not in self._seen:
            self._seen.add(place)
            self._waiting.append((kind, place))

    def _check(self, kind: str, place: int) -> None:
        raw = self._reader.near(place, _TREE.size)
        if len(raw) < _TREE.size or not raw.startswith(_BEGINNINGS[kind]):
            found = "the end of the file" if len(raw) < _TREE.size else "zeros" if is_zero(raw) else "something else"
            raise Damage(
                Structure.BROKEN,
                f"its tables put {'an' if kind == 'object' else 'a'} {kind} at byte {place:,}; found {found}",
                loader_says=_LOADER_SAYS,
            )
