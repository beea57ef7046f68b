"""Checksums that one file of a checkpoint lists of others: TensorFlow's of every tensor, Megatron's of every file."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.crc32c import crc32c, masked
from ckptdeck.core.probes.integrity import NAME, integrity_listing
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.reading import MIB, Damage, TooLarge
from ckptdeck.core.probes.tensor_bundle import tensor_checksums
from ckptdeck.core.probes.tree import Tree
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

_MOST_OF_TENSORS = 64 * MIB
"""In all; CRC-32C takes a second for every 20 MB here."""

_TENSOR_MESSAGE = 'TensorFlow says "DataLossError: Checksum does not match" once it reads that tensor'
_FILE_MESSAGE = "Megatron names the file when it is asked to verify, and loads what is there otherwise"


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor in a data file and the masked CRC-32C its index has of it."""

    offset: int
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Listed:
    """What is listed of the files of one tree, by path."""

    tensors: dict[str, list[Place]]
    too_long: dict[str, int]
    """Bytes of tensors that are not looked at, since it would take too long."""
    digests: dict[str, str]


def what_is_listed(tree: Tree) -> Listed:
    """Nothing where a listing cannot be read: its layout's own rules tell of that."""
    tensors: dict[str, list[Place]] = {}
    too_long: dict[str, int] = {}
    left = _MOST_OF_TENSORS
    try:
        places = tensor_checksums(tree)
    except (Damage, TooLarge):
        places = []
    for path, of_file in itertools.groupby(sorted(places), key=lambda place: place[0]):
        for _, offset, size, checksum in of_file:
            if size <= left:
                tensors.setdefault(path, []).append(Place(offset, size, checksum))
                left -= size
            else:
                too_long[path] = too_long.get(path, 0) + size
    try:
        digests = integrity_listing(tree) or {}
    except (Damage, TooLarge):
        digests = {}
    return Listed(tensors, too_long, digests)


def check_tensors(reader: LongReader, places: Sequence[Place]) -> None:
    """Raises Damage when tensors, which come in the order of their place, have not the checksum listed."""
    wrong = [place for place in places if _crc32c(reader, place) != place.checksum]
    if wrong:
        raise Damage(
            Structure.BROKEN,
            f"{len(wrong):,} of {counted(len(places), 'tensor')} looked at {'has' if len(wrong) == 1 else 'have'} not "
            f"the checksum its index says, first the {wrong[0].size:,} bytes at byte {wrong[0].offset:,}",
            loader_says=_TENSOR_MESSAGE,
        )


def check_digest(reader: LongReader, expected: str) -> None:
    """Raises Damage when the file has not the sha256 listed, given in lower-case hex."""
    digest = hashlib.sha256()
    for piece in reader.pieces(0, reader.size):
        digest.update(piece)
    if digest.hexdigest() != expected:
        raise Damage(
            Structure.BROKEN,
            f"has sha256 {digest.hexdigest()[:16]}..., {NAME} says {expected[:16]}... ({reader.size:,} bytes read)",
            loader_says=_FILE_MESSAGE,
        )


def _crc32c(reader: LongReader, place: Place) -> int:
    crc = 0
    for piece in reader.pieces(place.offset, place.offset + place.size):
        crc = crc32c(bytes(piece), crc)
    return masked(crc)
