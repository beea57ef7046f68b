"""zarr arrays in directories of their own, as Orbax writes them without OCDBT: every chunk of every grid."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.cursor import Misread
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages, zero_tail
from ckptdeck.core.probes.reading import MIB, Damage, TooLarge
from ckptdeck.core.probes.tree import Tree, below, some
from ckptdeck.core.probes.zarr_arrays import DESCRIPTIONS, Array, Stored, read_array
from ckptdeck.core.probes.zarr_chunks import Budget, check_chunk
from ckptdeck.core.states import Structure

_CHUNK = re.compile(r"(?:c(?:[./][0-9]+)*|[0-9]+(?:[./][0-9]+)*)", re.ASCII)
_LARGEST_DESCRIPTION = MIB
_MOST_CHUNKS = 200_000

_DESCRIPTION_MESSAGE = 'Orbax says "Error opening zarr driver" with the name of the array'
_MISSING_MESSAGE = 'Orbax says "NOT_FOUND: chunk {0, 0} stored at local file ... is missing"'
_SILENT_MESSAGE = "Orbax says nothing and loads wrong values, or that it cannot decode the chunk"


class ZarrArrays:
    """The arrays in one directory of a tree."""

    def __init__(self, tree: Tree, directory: str, damages: Damages, budget: Budget) -> None:
        self.tree = tree
        self.directory = directory
        self.damages = damages
        self.budget = budget
        self.judged: set[str] = set()
        self.names: set[str] = set()
        """Arrays with a description, by their paths in the directory."""
        self.chunks = 0
        self.unstored = 0
        """Chunks that are not there and may be so: they hold the fill value."""

    def judge(self, *, all_stored: bool) -> None:
        """`all_stored`: the writer stores chunks of nothing but the fill value too. Damages go to the list."""
        described = self._descriptions()
        for path, name in described.items():
            self.judged.add(path)
            self.names.add(name)
            with self.damages.heard():
                array = self._read(path)
                if array is not None:
                    self._judge_array(path.rpartition("/")[0], array, all_stored=all_stored)
        for name, chunks in self._undescribed().items():
            self.judged.update(chunks)
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{below(name, DESCRIPTIONS[0])} is not there, which describes the array of {some(chunks)}",
                    loader_says=_DESCRIPTION_MESSAGE,
                )
            )

    def _descriptions(self) -> dict[str, str]:
        """The array that each description is of, by the path of the description."""
        found = {}
        for path in self.tree.inside(self.directory):
            array, _, name = path.rpartition("/")
            if name in DESCRIPTIONS and array != self.directory:
                found[path] = array[len(self.directory) :].lstrip("/")
        return found

    def _undescribed(self) -> dict[str, list[str]]:
        """Directories beside the arrays that hold nothing but chunks."""
        found: dict[str, list[str]] = defaultdict(list)
        others: set[str] = set()
        for path in self.tree.inside(self.directory):
            inside = path[len(self.directory) :].lstrip("/")
            array, slash, chunk = inside.partition("/")
            if slash and _CHUNK.fullmatch(chunk) and path not in self.judged:
                found[below(self.directory, array)].append(path)
            elif slash:
                others.add(below(self.directory, array))
        return {array: chunks for array, chunks in found.items() if array not in others}

    def _read(self, path: str) -> Array | None:
        data = self.tree.read(path, _LARGEST_DESCRIPTION)
        try:
            return None if data is None else read_array(data)
        except Misread as error:
            structure = Structure.BROKEN if data else Structure.CUT
            raise Damage(structure, f"{path}: {error}", loader_says=_DESCRIPTION_MESSAGE) from error

    def _judge_array(self, path: str, array: Array, *, all_stored: bool) -> None:
        missing: list[str] = []
        for name in itertools.islice(array.names(), _MOST_CHUNKS):
            chunk = f"{path}/{name}"
            if not self.tree.has(chunk):
                missing.append(chunk)
                continue
            self.judged.add(chunk)
            self.chunks += 1
            with self.damages.heard():
                self._judge_chunk(chunk, array)
        if missing and all_stored:
            raise Damage(
                Structure.INCOMPLETE,
                f"{some(missing)}: not there, of {counted(array.chunks, 'chunk')} of the array",
                loader_says=_MISSING_MESSAGE,
            )
        self.unstored += len(missing)

    def _judge_chunk(self, path: str, array: Array) -> None:
        with self.tree.reader(path) as reader:
            try:
                check_chunk(reader, array, self.budget)
            except TooLarge:
                self.budget.skipped += 1
            except Damage as damage:
                text = f"{path}: {damage.text}"
                raise Damage(damage.structure, text, loader_says=damage.loader_says) from damage
            whole = Span("the chunk", 0, reader.size)
            if array.stored is Stored.PLAIN and zero_tail(reader, 0, reader.size) == 0:
                return
            if lost := find_lost_pages(reader, 0, reader.size, lambda _: whole):
                raise Damage(Structure.SUSPECT, f"{path}: {lost}", loader_says=_SILENT_MESSAGE)
