"""OCDBT stores: from a manifest down to every value, to know which data files are needed and what lies in them.

Manifest and nodes have a CRC-32C each. They are compressed: without a decompressor only the manifest is judged here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ckptdeck.core.probes.cursor import Misread
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.lost_pages import zero_tail
from ckptdeck.core.probes.ocdbt_format import (
    HEADER,
    KEYS,
    MANIFEST,
    VERSIONS,
    Body,
    Place,
    open_envelope,
    read_keys,
    read_manifest,
    read_versions,
    stated_length,
)
from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge, is_zero
from ckptdeck.core.probes.tree import Tree, below
from ckptdeck.core.states import Structure

MANIFEST_NAME = "manifest.ocdbt"

_LARGEST_MANIFEST = 4 * MIB
_LARGEST_NODE = 8 * MIB
_MOST_NODES = 20_000
_MOST_NODE_BYTES = 32 * MIB
"""Of one store. Their checksums are computed in pure Python: two seconds."""
_MOST_VALUES = 300_000

_MANIFEST_MESSAGE = 'Orbax says "DATA_LOSS: Error opening zarr driver: Error reading ... in OCDBT database"'
_NODE_MESSAGE = 'Orbax says "DATA_LOSS" or "Error opening zarr driver" with the name of an array that is whole'


@dataclass(slots=True)
class Store:
    """What a manifest leads to. Paths are those of the tree."""

    manifest: str
    places: dict[str, dict[tuple[int, int], bytes | None]] = field(default_factory=lambda: defaultdict(dict))
    """By data file: the key of the value at (offset, length), None for a node."""
    arrays: dict[bytes, bytes] = field(default_factory=dict)
    """Descriptions of arrays by their keys."""
    blind: bool = False
    """Nodes could not be decompressed."""
    partial: bool = False
    """There is more than was looked at, or a node is missing or damaged: `places` are not all."""

    @property
    def complete(self) -> bool:
        return not (self.blind or self.partial)


def walk_store(tree: Tree, directory: str, damages: Damages) -> Store:
    """Everything that the manifest in `directory` leads to; damages of it and of nodes go to the list."""
    store = Store(below(directory, MANIFEST_NAME))
    try:
        _Walk(tree, directory, store, damages).walk(_open_manifest(tree, store.manifest))
    except TooLarge:
        store.partial = True
    except Damage as damage:
        store.partial = True
        damages.add(damage)
    return store


def _open_manifest(tree: Tree, path: str) -> Body | None:
    """None where nothing here can decompress it. Raises Damage, TooLarge."""
    data = tree.read(path, _LARGEST_MANIFEST)
    if data is None:
        raise TooLarge
    try:
        body = open_envelope(data, MANIFEST)
        return None if body is None else read_manifest(body)
    except Misread as error:
        cut = data[:4] == MANIFEST[: len(data)] and (len(data) < HEADER or stated_length(data) > len(data))
        text = f"cut off at {len(data):,} bytes, as a manifest that is longer" if cut else f"no whole manifest: {error}"
        if not cut and is_zero(data[:4]):
            text = f"no manifest: its first bytes are zeros ({error})"
        structure = Structure.CUT if cut else Structure.BROKEN
        raise Damage(structure, f"{path}: {text}", loader_says=_MANIFEST_MESSAGE) from error


class _Walk:
    """Goes down from one manifest, each node once."""

    def __init__(self, tree: Tree, directory: str, store: Store, damages: Damages) -> None:
        self.tree = tree
        self.directory = directory
        self.store = store
        self.damages = damages
        self.waiting: list[tuple[Place, bytes]] = []
        self.nodes = 0
        self.node_bytes = 0
        self.values = 0

    def walk(self, manifest: Body | None) -> None:
        """Raises TooLarge when there is more than may be looked at."""
        if manifest is None:
            self.store.blind = True
            return
        self._take_in(manifest)
        while self.waiting:
            place, magic = self.waiting.pop()
            path = below(self.directory, place.path)
            if not self.tree.has(path) or place.end > self.tree.size(path):
                self.store.partial = True
                continue
            try:
                with self.tree.reader(path) as reader:
                    body = self._open_node(reader, place, magic)
                self._take_in(read_keys(body, place.base) if magic == KEYS else read_versions(body, place.base))
            except Misread as error:
                self.store.partial = True
                self.damages.add(
                    Damage(
                        Structure.BROKEN,
                        f"{path}: a node of {place.length:,} bytes should be at byte {place.offset:,}: {error}",
                        loader_says=_NODE_MESSAGE,
                    )
                )

    def _open_node(self, reader: Reader, place: Place, magic: bytes) -> bytes:
        """Raises Misread, TooLarge."""
        self.nodes += 1
        self.node_bytes += place.length
        if place.length > _LARGEST_NODE or self.node_bytes > _MOST_NODE_BYTES or self.nodes > _MOST_NODES:
            raise TooLarge
        data = reader.at(place.offset, place.length)
        if data and is_zero(data[:HEADER]):
            zeros = zero_tail(reader, 0, place.end)
            raise Misread("found zeros" + ("" if zeros is None else f", as everything from byte {zeros:,} on"))
        body = open_envelope(data, magic)
        if body is None:
            raise TooLarge
        return body

    def _take_in(self, body: Body) -> None:
        for places, magic in ((body.keys, KEYS), (body.versions, VERSIONS)):
            for place in places:
                if self._is_new(place, None):
                    self.waiting.append((place, magic))
        for key, place in body.values:
            self._is_new(place, key)
        self.store.arrays.update(body.descriptions)

    def _is_new(self, place: Place, key: bytes | None) -> bool:
        known = self.store.places[below(self.directory, place.path)]
        if (place.offset, place.length) in known:
            return False
        known[place.offset, place.length] = key
        self.values += 1
        if self.values > _MOST_VALUES:
            raise TooLarge
        return True
