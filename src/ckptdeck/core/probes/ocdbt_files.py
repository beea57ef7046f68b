"""The data files of an OCDBT store: all there, as long as what lies in them reaches, and what lies in them whole.

The tree of the store says all that; where it cannot be read, each file is gone through from its start.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.cursor import Misread
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages
from ckptdeck.core.probes.ocdbt import Store
from ckptdeck.core.probes.ocdbt_sequence import check_sequence
from ckptdeck.core.probes.reading import Damage, Reader, Section, TooLarge
from ckptdeck.core.probes.tree import Tree, some
from ckptdeck.core.probes.zarr_arrays import Array, Stored, read_array
from ckptdeck.core.probes.zarr_chunks import Budget, check_chunk
from ckptdeck.core.states import Structure

_Places = dict[tuple[int, int], bytes | None]

_SMALL, _AHEAD = 4096, 64 * 1024

MISSING_MESSAGE = 'Orbax says "NOT_FOUND" or "FAILED_PRECONDITION: Error reading" with the name of an array'
_CUT_MESSAGE = 'Orbax says "OUT_OF_RANGE: Error reading" with the name of an array'
_SILENT_MESSAGE = "Orbax says nothing and loads wrong values, or that it cannot decode an array"
_APPENDED_MESSAGE = "Orbax says nothing and loads the right values; something else was appended"
_UNNEEDED = " (an earlier stage of the save; the merged manifest does without it, so what Orbax loads may be right)"


class _Value(Section):
    """A value as if it were a file; small ones lie close together and are read with what is near."""

    def __init__(self, outer: Reader, offset: int, length: int) -> None:
        super().__init__(outer, offset, offset + length)
        self._data = outer.near(offset, length, _AHEAD) if length <= _SMALL else b""

    def at(self, offset: int, length: int) -> bytes:
        return self._data[max(0, offset) :][:length] if self._data and offset >= 0 else super().at(offset, length)


class DataFiles:
    """Of the stores in and below one directory, the one that Orbax reads first."""

    def __init__(self, tree: Tree, stores: list[Store], damages: Damages, budget: Budget) -> None:
        self.tree = tree
        self.stores = stores
        self.damages = damages
        self.budget = budget
        self.complete = all(store.complete for store in stores)
        self.places: dict[str, _Places] = {}
        self.manifests: dict[str, str] = {}
        for store in stores:
            for path, places in store.places.items():
                self.places.setdefault(path, {}).update(places)
                self.manifests.setdefault(path, store.manifest)
        self.array_of = cache(self._array_of)

    @property
    def needed(self) -> int:
        return len(self.places)

    def judge(self, paths: list[str]) -> None:
        """Those that are named and those in `paths`, which are there. Damages go to the list."""
        if missing := sorted(path for path in self.places if not self.tree.has(path)):
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{some(missing)}: not there, of {counted(self.needed, 'data file')} that "
                    f"{self.manifests[missing[0]]} leads to{self._unneeded(missing[0])}",
                    loader_says=MISSING_MESSAGE,
                )
            )
        for path in sorted({*paths, *self.places}.intersection(self.tree.files)):
            with self.damages.heard():
                try:
                    self._judge_file(path)
                except TooLarge:
                    self.budget.skipped += 1
                except Damage as damage:
                    text = f"{path}: {damage.text}{self._unneeded(path)}"
                    raise Damage(damage.structure, text, loader_says=damage.loader_says) from damage

    def _unneeded(self, path: str) -> str:
        first = self.stores[0]
        return _UNNEEDED if first.complete and path not in first.places and path in self.places else ""

    def _judge_file(self, path: str) -> None:
        places = self.places.get(path, {})
        expected = max((offset + length for offset, length in places), default=0)
        size = self.tree.size(path)
        if size < expected:
            lost = sum(offset + length > size for offset, length in places)
            raise Damage(
                Structure.CUT,
                f"cut off: {size:,} of {expected:,} bytes, {expected - size:,} missing, which "
                f"{lost:,} of {counted(len(places), 'value')} and nodes reach into",
                loader_says=_CUT_MESSAGE,
            )
        with self.tree.reader(path) as reader:
            if not (places and self.complete):
                self._go_through(reader)
                return
            self._check_values(reader, places)
            self._check_pages(reader, places)
            if size > expected and not check_sequence(reader, self.budget, expected):
                raise Damage(
                    Structure.SUSPECT,
                    f"{counted(size - expected, 'byte')} too many: what it holds ends at byte {expected:,}, "
                    f"the file at {size:,}",
                    loader_says=_APPENDED_MESSAGE,
                )

    def _go_through(self, reader: Reader) -> None:
        if not check_sequence(reader, self.budget):
            whole = Span("the values", 0, reader.size)
            if lost := find_lost_pages(reader, 0, reader.size, lambda _: whole):
                raise Damage(Structure.SUSPECT, lost, loader_says=_SILENT_MESSAGE)

    def _check_values(self, reader: Reader, places: _Places) -> None:
        for (offset, length), key in sorted(places.items()):
            array = None if key is None else self.array_of(_name_of_array(key))
            if key is None or array is None:
                continue
            try:
                check_chunk(_Value(reader, offset, length), array, self.budget)
            except Damage as damage:
                text = f"{_shown(key)}, {length:,} bytes at byte {offset:,}: {damage.text}, counted from there"
                raise Damage(Structure.BROKEN, text, loader_says=damage.loader_says) from damage

    def _check_pages(self, reader: Reader, places: _Places) -> None:
        """Values that were compressed hold no pages of zeros; others may."""
        spans = sorted(
            (offset, length, key)
            for (offset, length), key in places.items()
            if key is not None and (array := self.array_of(_name_of_array(key))) and array.stored is not Stored.PLAIN
        )
        begins = [offset for offset, _, _ in spans]

        def span_at(place: int) -> Span | None:
            index = bisect_right(begins, place) - 1
            if index < 0 or place >= spans[index][0] + spans[index][1]:
                return None
            offset, length, key = spans[index]
            return Span(_shown(key), offset, offset + length)

        if spans and (lost := find_lost_pages(reader, 0, max(sum(span[:2]) for span in spans), span_at)):
            raise Damage(Structure.SUSPECT, lost, loader_says=_SILENT_MESSAGE)

    def _array_of(self, name: bytes) -> Array | None:
        for store in self.stores:
            for suffix in (b"/.zarray", b"/zarr.json"):
                if (text := store.arrays.get(name + suffix)) is not None:
                    try:
                        return read_array(text)
                    except Misread:
                        return None
        return None


def _name_of_array(key: bytes) -> bytes:
    """Of the array that a chunk with this key is of: "w/0.0", or in version 3 "w/c/0/0" and "w/c"."""
    head, slash, _ = (key + b"/").rpartition(b"/c/")
    return head if slash else key.rpartition(b"/")[0]


def _shown(key: bytes) -> str:
    return repr(key.decode("utf-8", "surrogateescape"))
