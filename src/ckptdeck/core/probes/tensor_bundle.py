"""TensorFlow's tensor bundle: `prefix.index`, a table of every tensor's place, and `prefix.data-IIIII-of-NNNNN`.

The index gives the exact size of each data file and a CRC-32C of each tensor.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from ckptdeck.core.probes.crc32c import crc32c, masked
from ckptdeck.core.probes.cursor import Cursor, Misread
from ckptdeck.core.probes.protobuf import BYTES, FIXED32, VARINT, read_fields
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.probes.sstable import looks_like_table, read_table
from ckptdeck.core.probes.tree import Tree
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

INDEX = ".index"
DATA_NAME = re.compile(r"(?P<prefix>.+)\.data-(?P<shard>[0-9]{5})-of-(?P<count>[0-9]{5})", re.ASCII | re.DOTALL)

_STRING, _VARIANT = 7, 21
_MOST_STRINGS = 1 << 20
_DAMAGED_MESSAGE = 'TensorFlow says "DataLossError: Unable to parse tensor proto" or "Read less bytes than requested"'


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor's place, as the index has it."""

    name: str
    kind: int
    """TensorFlow's number of its type."""
    values: int
    shard: int
    offset: int
    size: int
    checksum: int
    """CRC-32C, masked."""

    @property
    def end(self) -> int:
        return self.offset + self.size

    @property
    def is_plain(self) -> bool:
        """Whether the checksum is of the bytes as they lie in the file; that of strings is not."""
        return self.kind not in (_STRING, _VARIANT)


@dataclass(frozen=True, slots=True)
class Bundle:
    """What an index says: `shards` data files, and the tensors with bytes of their own in the order of their place."""

    prefix: str
    shards: int
    tensors: tuple[Tensor, ...]

    def data_file(self, shard: int) -> str:
        return f"{self.prefix}.data-{shard:05d}-of-{self.shards:05d}"


def find_prefixes(tree: Tree) -> list[str]:
    """Of every bundle in the tree: what has data files, and every `.index` that is such a table."""
    prefixes = {match["prefix"] for path in tree.files if (match := DATA_NAME.fullmatch(path))}
    for path in tree.files:
        prefix = path.removesuffix(INDEX)
        if prefix != path and prefix not in prefixes:
            with tree.reader(path) as reader:
                if looks_like_table(reader):
                    prefixes.add(prefix)
    return sorted(prefixes)


def read_bundle(tree: Tree, prefix: str) -> Bundle:
    """What the index of `prefix` says; it must be there. Raises Damage, TooLarge."""
    path = prefix + INDEX
    with tree.reader(path) as reader:
        table = read_table(reader, path)
    try:
        if not table or table[0][0]:
            raise Misread("its first key is not that of the header")
        shards = _read_shard_count(table[0][1])
        tensors = [tensor for key, value in table[1:] if (tensor := _read_tensor(key, value))]
        if any(tensor.shard >= shards for tensor in tensors):
            raise Misread(f"a tensor lies in a file beyond the {shards:,} that there are")
    except Misread as error:
        raise Damage(Structure.BROKEN, f"{path}: {error}", loader_says=_DAMAGED_MESSAGE) from error
    return Bundle(prefix, shards, tuple(sorted(tensors, key=lambda tensor: (tensor.shard, tensor.offset))))


def tensor_checksums(tree: Tree) -> list[tuple[str, int, int, int]]:
    """(file, offset, size, masked CRC-32C) of every tensor whose checksum is of the bytes as they lie there.

    For every bundle of the tree whose index can be read. Tensors of strings are left out: theirs is over lengths in
    another form besides, see `checksum_of_strings`.
    """
    found = []
    for prefix in find_prefixes(tree):
        if tree.has(prefix + INDEX):
            bundle = read_bundle(tree, prefix)
            found += [
                (bundle.data_file(tensor.shard), tensor.offset, tensor.size, tensor.checksum)
                for tensor in bundle.tensors
                if tensor.is_plain and tensor.size
            ]
    return found


def checksum_fits(reader: Reader, tensor: Tensor) -> bool:
    """Whether the bytes of a small tensor have the checksum that the index says."""
    data = reader.at(tensor.offset, tensor.size)
    if tensor.kind == _STRING:
        return checksum_of_strings(data, tensor.values) == tensor.checksum
    return tensor.kind == _VARIANT or masked(crc32c(data)) == tensor.checksum


def checksum_of_strings(data: bytes, count: int) -> int | None:
    """Masked CRC-32C of `count` strings as TensorFlow stores them; None when their lengths do not add up.

    The lengths come first, as varints, then a checksum of the lengths as plain integers, then the strings; the whole is
    checked over the plain lengths, that checksum and the strings.
    """
    cursor = Cursor(data)
    try:
        lengths = [cursor.varint() for _ in range(count)]
        stored = cursor.take(4)
    except Misread:
        return None
    plain = b"".join(struct.pack("<L" if length < 1 << 32 else "<Q", length) for length in lengths)
    of_lengths = crc32c(plain)
    if sum(lengths) != cursor.left or masked(of_lengths).to_bytes(4, "little") != stored:
        return None
    return masked(crc32c(data[cursor.at :], crc32c(stored, of_lengths)))


def _read_shard_count(value: bytes) -> int:
    count = 1
    for field in read_fields(value):
        if (field.number, field.kind) == (1, VARINT):
            count = field.value
    return count


def _read_tensor(key: bytes, value: bytes) -> Tensor | None:
    """None for one that is stored in slices only: those have entries of their own."""
    numbers = dict.fromkeys((1, 3, 4, 5), 0)
    values = 1
    checksum = 0
    for field in read_fields(value):
        if field.kind == VARINT and field.number in numbers:
            numbers[field.number] = field.value
        elif field.kind == FIXED32 and field.number == 6:
            checksum = field.value
        elif field.kind == BYTES and field.number == 2:
            for length in _read_shape(value, field.place, field.place + field.value):
                values = min(values * length, _MOST_STRINGS + 1)
        elif field.kind == BYTES and field.number == 7:
            return None
    kind, shard, offset, size = numbers.values()
    return Tensor(key.decode("utf-8", "replace"), kind, values, shard, offset, size, checksum)


def _read_shape(value: bytes, at: int, end: int) -> Iterator[int]:
    """TensorShapeProto: dimensions, each a message with a size."""
    for dimension in read_fields(value, at, end):
        if (dimension.number, dimension.kind) == (2, BYTES):
            sizes = [
                f.value for f in read_fields(value, dimension.place, dimension.place + dimension.value) if f.number == 1
            ]
            yield sizes[-1] if sizes else 0
