"""The pieces of OCDBT, TensorStore's B+tree in files: manifests, nodes of versions, nodes of keys.

Each is an envelope (magic, length, CRC-32C) around a body that is usually compressed with zstd. Source of the layout:
google.github.io/tensorstore/kvstore/ocdbt.
"""

from __future__ import annotations

from ckptdeck.core.probes.crc32c import crc32c
from ckptdeck.core.probes.cursor import Cursor, Misread
from ckptdeck.core.probes.reading import MIB, TooLarge
from ckptdeck.core.probes.zstd_content import decompress
from ckptdeck.core.values import dataclass

MANIFEST = bytes.fromhex("0cdb3a2a")
KEYS = bytes.fromhex("0cdb20de")
VERSIONS = bytes.fromhex("0cdb1234")
HEADER = 12
"""Bytes of the magic and the length, which counts the whole envelope."""
SHORTEST = 18

_PLAIN, _ZSTD = 0, 1
_LARGEST_BODY = 64 * MIB
_MOST_KEY_BYTES = 64 * MIB
_MOST_KEYS = 300_000
"""Of one node, which are seconds to read; the format allows a million."""
_MOST_FILES = 100_000
_LONGEST_PATH = 0xFFFF
_NOWHERE = (1 << 64) - 1
_SINGLE = 0
_ARRAY_DESCRIPTIONS = (b"/.zarray", b"/zarr.json")


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes in a data file, `path` relative to the directory of the manifest."""

    path: str
    base: str
    """What the paths in a node at this place are relative to."""
    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Body:
    """What an envelope says: nodes further down, and the values of keys."""

    keys: tuple[Place, ...] = ()
    """Where nodes of keys are."""
    versions: tuple[Place, ...] = ()
    """Where nodes of versions are."""
    values: tuple[tuple[bytes, Place], ...] = ()
    """Keys with values that lie outside of the node."""
    descriptions: tuple[tuple[bytes, bytes], ...] = ()
    """Keys and values of what describes an array, where it lies in the node itself."""


def stated_length(header: bytes) -> int:
    return int.from_bytes(header[4:HEADER], "little")


def open_envelope(data: bytes, magic: bytes) -> bytes | None:
    """The body; None where it is compressed and nothing here can decompress it. Raises Misread, TooLarge."""
    if len(data) < SHORTEST or data[:4] != magic:
        raise Misread("its first bytes are not those of one")
    if stated_length(data) != len(data):
        raise Misread(f"it says that it has {stated_length(data):,} bytes, and it has {len(data):,}")
    stored = int.from_bytes(data[-4:], "little")
    if (found := crc32c(data[:-4])) != stored:
        raise Misread(f"it has checksum {found:08x}, {stored:08x} is stored with it")
    cursor = Cursor(data, HEADER, len(data) - 4)
    version, compression = cursor.varint(), cursor.varint()
    if version or compression not in (_PLAIN, _ZSTD):
        raise TooLarge
    body = cursor.take(cursor.left)
    if compression == _PLAIN:
        return body
    try:
        return decompress(body, _LARGEST_BODY)
    except ValueError as error:
        raise Misread(f"it cannot be decompressed ({error})") from error


def read_manifest(body: bytes) -> Body:
    """Raises Misread; TooLarge for a manifest that leaves the versions to other files."""
    cursor = Cursor(body)
    cursor.take(16)
    if cursor.varint() != _SINGLE:
        raise TooLarge
    cursor.varint()
    cursor.varint()
    cursor.byte()
    if cursor.varint() == _ZSTD:
        cursor.take(4)
    files = _read_files(cursor, "")
    keys = _read_roots(cursor, files)
    versions = _read_older_versions(cursor, files, heights=True)
    _require_end(cursor)
    return Body(keys=keys, versions=versions)


def read_versions(body: bytes, base: str) -> Body:
    """A node of versions; `base` is that of its place. Raises Misread."""
    cursor = Cursor(body)
    cursor.byte()
    height = cursor.byte()
    files = _read_files(cursor, base)
    if height:
        read = Body(versions=_read_older_versions(cursor, files, heights=False))
    else:
        read = Body(keys=_read_roots(cursor, files))
    _require_end(cursor)
    return read


def read_keys(body: bytes, base: str) -> Body:
    """A node of keys; `base` is that of its place. Raises Misread, TooLarge."""
    cursor = Cursor(body)
    height = cursor.byte()
    files = _read_files(cursor, base)
    count = cursor.varint()
    if not count:
        raise Misread("it says that it has no keys")
    if _MOST_KEYS < count <= cursor.left:
        raise TooLarge
    keys = _read_key_texts(cursor, count, inner=height > 0)
    read = Body(keys=_read_nodes(cursor, files, count)) if height else _read_values(cursor, files, keys)
    _require_end(cursor)
    return read


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    base: str


def _read_files(cursor: Cursor, base: str) -> list[_File]:
    """Paths share their beginning with the one before them; each begins with a base for what it holds."""
    count = cursor.varint()
    if count > _MOST_FILES:
        raise TooLarge
    shared = [0, *(cursor.varint() for _ in _within(cursor, count - 1))]
    added = [cursor.varint() for _ in _within(cursor, count)]
    bases = [cursor.varint() for _ in _within(cursor, count)]
    files: list[_File] = []
    path = b""
    total = 0
    for index in range(count):
        if shared[index] > len(path) or shared[index] + added[index] < bases[index]:
            raise Misread(f"the name of data file {index + 1:,} does not add up")
        path = path[: shared[index]] + cursor.take(added[index])
        if len(path) > _LONGEST_PATH:
            raise Misread(f"the name of data file {index + 1:,} has {len(path):,} bytes")
        total += len(path)
        if total > _MOST_KEY_BYTES:
            raise TooLarge
        text = base + path.decode("utf-8", "surrogateescape")
        files.append(_File(text, base + path[: bases[index]].decode("utf-8", "surrogateescape")))
    return files


def _read_roots(cursor: Cursor, files: list[_File]) -> tuple[Place, ...]:
    count = cursor.varint()
    for _ in _within(cursor, count):
        cursor.varint()
    cursor.take(count)
    places = _read_nodes(cursor, files, count)
    cursor.take(8 * count)
    return places


def _read_older_versions(cursor: Cursor, files: list[_File], *, heights: bool) -> tuple[Place, ...]:
    count = cursor.varint()
    for _ in _within(cursor, count):
        cursor.varint()
    places = _read_places(cursor, files, count)
    for _ in _within(cursor, count):
        cursor.varint()
    cursor.take(8 * count)
    cursor.take(count if heights else 0)
    return places


def _read_nodes(cursor: Cursor, files: list[_File], count: int) -> tuple[Place, ...]:
    """Places of nodes, each with how many keys, bytes of nodes and bytes of values are below."""
    places = _read_places(cursor, files, count)
    for _ in _within(cursor, 3 * count):
        cursor.varint()
    return places


def _read_places(cursor: Cursor, files: list[_File], count: int) -> tuple[Place, ...]:
    """Those that are nowhere, of an empty version, are left out."""
    numbers = [cursor.varint() for _ in _within(cursor, count)]
    offsets = [cursor.varint() for _ in _within(cursor, count)]
    lengths = [cursor.varint() for _ in _within(cursor, count)]
    return tuple(
        _place(files, number, offset, length)
        for number, offset, length in zip(numbers, offsets, lengths, strict=True)
        if (offset, length) != (_NOWHERE, _NOWHERE)
    )


def _place(files: list[_File], number: int, offset: int, length: int) -> Place:
    if number >= len(files):
        raise Misread(f"it names data file {number + 1:,} of {len(files):,}")
    return Place(files[number].path, files[number].base, offset, length)


def _read_key_texts(cursor: Cursor, count: int, *, inner: bool) -> list[bytes]:
    """Keys share their beginning with the one before them, and come in order."""
    shared = [0, *(cursor.varint() for _ in _within(cursor, count - 1))]
    added = [cursor.varint() for _ in _within(cursor, count)]
    for _ in _within(cursor, count if inner else 0):
        cursor.varint()
    keys: list[bytes] = []
    key = b""
    total = 0
    for index in range(count):
        if shared[index] > len(key):
            raise Misread(f"key {index + 1:,} shares {shared[index]:,} bytes with one of {len(key):,}")
        before, key = key, key[: shared[index]] + cursor.take(added[index])
        total += len(key)
        if total > _MOST_KEY_BYTES:
            raise TooLarge
        if index and key <= before:
            raise Misread(f"key {index + 1:,} does not come after the one before it")
        keys.append(key)
    return keys


def _read_values(cursor: Cursor, files: list[_File], keys: list[bytes]) -> Body:
    lengths = [cursor.varint() for _ in _within(cursor, len(keys))]
    outside = cursor.take(len(keys))
    if outside.strip(b"\0\1"):
        raise Misread("it has values of an unknown kind")
    numbers = [cursor.varint() for _ in range(outside.count(1))]
    offsets = [cursor.varint() for _ in range(outside.count(1))]
    places = zip(numbers, offsets, strict=True)
    values: list[tuple[bytes, Place]] = []
    descriptions: list[tuple[bytes, bytes]] = []
    for key, length, is_outside in zip(keys, lengths, outside, strict=True):
        if is_outside:
            number, offset = next(places)
            values.append((key, _place(files, number, offset, length)))
        else:
            value = cursor.take(length)
            if key.endswith(_ARRAY_DESCRIPTIONS):
                descriptions.append((key, value))
    return Body(values=tuple(values), descriptions=tuple(descriptions))


def _within(cursor: Cursor, count: int) -> range:
    """As many turns, of which each takes a byte at least. Raises Misread where there are not as many bytes."""
    if count > cursor.left:
        raise Misread(f"it says that {count:,} entries follow byte {cursor.at:,}, {cursor.left:,} bytes are left")
    return range(count)


def _require_end(cursor: Cursor) -> None:
    if cursor.left:
        raise Misread(f"{cursor.left:,} bytes follow its last entry")
