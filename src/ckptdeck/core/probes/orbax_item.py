"""An item of an Orbax step that holds arrays: its own documents, and its OCDBT stores or its zarr arrays."""

from __future__ import annotations

import re

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.ocdbt import MANIFEST_NAME, Store, walk_store
from ckptdeck.core.probes.ocdbt_files import MISSING_MESSAGE, DataFiles
from ckptdeck.core.probes.orbax_metadata import ITEM, ItemMetadata, read_item
from ckptdeck.core.probes.reading import Damage
from ckptdeck.core.probes.tree import Tree, below, some
from ckptdeck.core.probes.zarr import ZarrArrays
from ckptdeck.core.probes.zarr_arrays import DESCRIPTIONS
from ckptdeck.core.probes.zarr_chunks import Budget
from ckptdeck.core.states import Structure

_OLD_TREE = "checkpoint"
"""What older versions have in place of `_METADATA`."""
_PROCESS = re.compile(r"ocdbt\.process_[0-9]+", re.ASCII)
_DATA_FILE = re.compile(r"[0-9a-f]{32}", re.ASCII)
_DATA = "d"
_STRINGS = "_strings.json"
_DOCUMENTS = ("_sharding", _STRINGS)
_OF_PROCESSES = "array_metadatas"

_NO_MANIFEST_MESSAGE = 'Orbax says "NOT_FOUND: Error opening zarr driver: Metadata at ... in OCDBT database"'
_NO_METADATA_MESSAGE = 'Orbax says "FileNotFoundError: No structure could be identified for the checkpoint"'
_NO_ARRAY_MESSAGE = 'Orbax says "NOT_FOUND: Error opening zarr driver" with the name of the array'
_NO_STRINGS_MESSAGE = 'Orbax says "NOT_FOUND: Error reading local file ... _strings.json"'


def find_items(tree: Tree) -> list[str]:
    """Where arrays are kept, by anything that tells."""
    found: set[str] = set()
    of_arrays: set[str] = set()
    for path in tree.files:
        *parents, name = path.split("/")
        process = next((index for index, parent in enumerate(parents) if _PROCESS.fullmatch(parent)), None)
        if process is not None:
            found.add("/".join(parents[:process]))
        elif name in (ITEM, MANIFEST_NAME):
            found.add("/".join(parents))
        elif parents and parents[-1] == _DATA and _DATA_FILE.fullmatch(name):
            found.add("/".join(parents[:-1]))
        elif name in DESCRIPTIONS and parents:
            of_arrays.add("/".join(parents[:-1]))
    return sorted(found | {directory for directory in of_arrays if not _is_within(directory, found)})


def _is_within(directory: str, others: set[str]) -> bool:
    while directory:
        if directory in others:
            return True
        directory = directory.rpartition("/")[0]
    return "" in others


class Items:
    """What came up about the items of one tree. `judged` are the files they answered for."""

    def __init__(self, tree: Tree, damages: Damages) -> None:
        self.tree = tree
        self.damages = damages
        self.judged: set[str] = set()
        self.budget = Budget()
        self.data_files = 0
        self.chunks = 0
        self.unstored = 0
        self.blind = False
        self.partial = False
        self.modern = False
        """One was written by an Orbax that gives each step a `_CHECKPOINT_METADATA`."""

    def summary(self) -> str:
        """What was shown."""
        said = []
        if self.chunks:
            said.append(f"{counted(self.chunks, 'chunk')} there and as long as what they hold")
        if self.unstored:
            said.append(f"{counted(self.unstored, 'chunk')} not stored, which read as the fill value")
        if self.blind:
            said.append(
                "the data files that are there end where what they hold does; it cannot be told whether all are there, "
                "since nothing here decompresses zstd (Python 3.14 does, and the package zstandard)"
            )
        elif self.partial:
            said.append("its tables are more than a quick look reads, so whether all data files are there is unknown")
        elif self.data_files:
            said.append(f"{counted(self.data_files, 'data file')}, all that the manifests lead to and as they say")
        if self.budget.skipped:
            said.append(f"{counted(self.budget.skipped, 'chunk')} or files not gone through to the end")
        return ", ".join(said)

    def judge(self, directory: str) -> None:
        metadata = self._read_metadata(directory)
        self._judge_documents(directory, metadata)
        manifest = self.tree.has(below(directory, MANIFEST_NAME))
        stores = self._stores(directory)
        data = self._data_files(directory)
        arrays: set[str] | None = None
        if manifest or stores or data or (metadata is not None and metadata.uses_ocdbt):
            if not manifest:
                self.damages.add(
                    Damage(
                        Structure.INCOMPLETE,
                        f"{below(directory, MANIFEST_NAME)} is not there, which says where everything is"
                        + (f"; what {len(stores):,} processes wrote was not merged" if stores else ""),
                        loader_says=_NO_MANIFEST_MESSAGE,
                    )
                )
            arrays = self._judge_stores(([directory] if manifest else []) + stores, data)
            if metadata is not None and metadata.arrays:
                self._judge_empty_stores(([directory] if manifest else []) + stores)
        else:
            zarr = ZarrArrays(self.tree, directory, self.damages, self.budget)
            zarr.judge(all_stored=metadata is not None and metadata.stores_fill_values)
            self.judged |= zarr.judged
            self.chunks += zarr.chunks
            self.unstored += zarr.unstored
            arrays = zarr.names
        if metadata is not None and arrays is not None:
            self._judge_arrays(directory, metadata, arrays)

    def _read_metadata(self, directory: str) -> ItemMetadata | None:
        path = below(directory, ITEM)
        if self.tree.has(path):
            self.judged.add(path)
            with self.damages.heard():
                metadata = read_item(self.tree, path)
                self.modern |= metadata is not None and metadata.is_modern
                return metadata
        elif not self.tree.has(below(directory, _OLD_TREE)):
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{path} is not there, which says what tree the arrays make",
                    loader_says=_NO_METADATA_MESSAGE,
                )
            )
        return None

    def _judge_documents(self, directory: str, metadata: ItemMetadata | None) -> None:
        names = [below(directory, name) for name in _DOCUMENTS]
        names += [below(below(directory, _OF_PROCESSES), n) for n in self.tree.beside(below(directory, _OF_PROCESSES))]
        for path in names:
            if self.tree.has(path):
                self.judged.add(path)
                with self.damages.heard():
                    self.tree.json(path)
        if metadata is not None and metadata.has_strings and not self.tree.has(below(directory, _STRINGS)):
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{below(directory, _STRINGS)} is not there, and {below(directory, ITEM)} speaks of texts",
                    loader_says=_NO_STRINGS_MESSAGE,
                )
            )

    def _stores(self, directory: str) -> list[str]:
        """Directories of the stores that single processes wrote, before they were merged."""
        found = [parent for parent in self.tree.directories if parent.rpartition("/")[0] == directory]
        return sorted(
            parent
            for parent in found
            if _PROCESS.fullmatch(parent.rpartition("/")[2]) and self.tree.has(below(parent, MANIFEST_NAME))
        )

    def _data_files(self, directory: str) -> list[str]:
        """Those of the item and of its processes."""
        found = []
        for parent in self.tree.directories:
            owner, _, name = parent.rpartition("/")
            if name == _DATA and (owner == directory or self._is_process_of(owner, directory)):
                found += [f"{parent}/{file}" for file in self.tree.beside(parent)]
        return found

    @staticmethod
    def _is_process_of(owner: str, directory: str) -> bool:
        item, _, name = owner.rpartition("/")
        return item == directory and bool(_PROCESS.fullmatch(name))

    def _judge_stores(self, directories: list[str], data: list[str]) -> set[str] | None:
        """The arrays in the first store; None where it cannot be told."""
        stores = [walk_store(self.tree, directory, self.damages) for directory in directories]
        files = DataFiles(self.tree, stores, self.damages, self.budget)
        files.judge(data)
        self.judged |= {store.manifest for store in stores}.union(data, files.places.keys() & self.tree.files.keys())
        self.data_files += files.needed
        self.blind |= any(store.blind for store in stores)
        self.partial |= any(store.partial for store in stores)
        return _arrays_of(stores[0]) if stores and stores[0].complete else None

    def _judge_empty_stores(self, directories: list[str]) -> None:
        """Told without a decompressor too: whoever writes a manifest has written a node to its own data files first."""
        for directory in directories if self.blind else []:
            data = below(directory, _DATA)
            if not self.tree.beside(data):
                self.damages.add(
                    Damage(
                        Structure.INCOMPLETE,
                        f"{data}/ is not there, or empty, and {below(directory, MANIFEST_NAME)} leads into it",
                        loader_says=MISSING_MESSAGE,
                    )
                )

    def _judge_arrays(self, directory: str, metadata: ItemMetadata, arrays: set[str]) -> None:
        missing = sorted(metadata.arrays - arrays)
        if missing and len(missing) < len(metadata.arrays):
            self.damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{some(missing)}: no such array, of {counted(len(metadata.arrays), 'array')} "
                    f"that {below(directory, ITEM)} names",
                    loader_says=_NO_ARRAY_MESSAGE,
                )
            )


def _arrays_of(store: Store) -> set[str]:
    return {key.decode("utf-8", "surrogateescape").rpartition("/")[0] for key in store.arrays}
