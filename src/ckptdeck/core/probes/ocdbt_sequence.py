"""A data file of OCDBT from its start on, when no tree says what is in it: nodes and zstd frames, one after another.

Values of sharded arrays are frames and a table of their places, which is told by its checksum.
"""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.crc32c import crc32c
from ckptdeck.core.probes.lost_pages import zero_tail
from ckptdeck.core.probes.ocdbt_format import HEADER, KEYS, SHORTEST, VERSIONS, stated_length
from ckptdeck.core.probes.reading import MIB, PAGE, Damage, Reader, Section, TooLarge, is_zero
from ckptdeck.core.probes.zarr_chunks import Budget
from ckptdeck.core.probes.zstd import MAGIC, Frames
from ckptdeck.core.states import Structure

_LARGEST_CHECKED = 4 * MIB
"""Bytes of a node whose checksum is computed."""
_LONGEST_TABLE = 64 * 1024
_LOOK_FOR_A_BEGINNING = 16 * MIB
_STEP = MIB

_LOADER_SAYS = 'Orbax says "OUT_OF_RANGE", "DATA_LOSS" or "Error reading" with the name of an array'
_APPENDED_MESSAGE = "Orbax says nothing and loads the right values; something else was appended"


def check_sequence(reader: Reader, budget: Budget, start: int = 0) -> bool:
    """Whether nodes and frames fill the file from `start` on; False for what begins as neither.

    Raises Damage, with places in the file.
    """
    if not reader.size:
        raise _damage(Structure.CUT, "empty, 0 bytes")
    place = _walk(reader, budget, start)
    if place is None or place >= reader.size:
        return True
    zeros = zero_tail(reader, start, reader.size)
    if place > start:
        raise _remainder(reader, place, zeros)
    if start:
        return False
    begin = reader.at(0, len(MAGIC))
    if reader.size < SHORTEST:
        if not any(magic.startswith(begin) for magic in (MAGIC, KEYS, VERSIONS)):
            return False
        raise _damage(Structure.CUT, f"cut off at {reader.size:,} bytes, within its first node or frame")
    if zeros == 0:
        raise _damage(Structure.BROKEN, f"all {reader.size:,} bytes read as zeros")
    if is_zero(begin):
        _check_lost_beginning(reader, budget)
    return False


def _remainder(reader: Reader, place: int, zeros: int | None) -> Damage:
    """What follows the last node or frame: zeros that began before it ended, or something else."""
    if zeros is not None and zeros < place:
        return _damage(
            Structure.BROKEN,
            f"the last {reader.size - zeros:,} of {reader.size:,} bytes, from byte {zeros:,} on, read as zeros",
        )
    return Damage(
        Structure.SUSPECT,
        f"{counted(reader.size - place, 'byte')} too many: its last node or frame ends at byte {place:,}, "
        f"the file at {reader.size:,}",
        loader_says=_APPENDED_MESSAGE,
    )


def _walk(reader: Reader, budget: Budget, start: int) -> int | None:
    """Where nodes and frames end; None when there are more than may be walked. Raises Damage."""
    place = start
    while place < reader.size:
        head = reader.at(place, HEADER)
        if head[:4] in (KEYS, VERSIONS) and len(head) == HEADER:
            place += _check_node(reader, budget, place, stated_length(head))
        elif head[:4] == MAGIC:
            frames = Frames(Section(reader, place, reader.size), budget.blocks)
            try:
                frames.walk()
            except TooLarge:
                budget.blocks = 0
                budget.skipped += 1
                return None
            except Damage as damage:
                text = f"from byte {place:,} on zstd frames: {damage.text}, counted from there"
                raise _damage(damage.structure, text) from damage
            budget.blocks -= frames.blocks
            place += frames.place
        elif place > start and budget.checked < _LONGEST_TABLE:
            budget.skipped += 1
            return None
        elif place > start and (length := _table_of_shard(reader, budget, place)):
            place += length
        else:
            break
    return place


def _table_of_shard(reader: Reader, budget: Budget, place: int) -> int:
    """Bytes of the table with which zarr's sharding ends a run of frames: 16 a chunk and a CRC-32C; 0 for none."""
    near = reader.at(place, _LONGEST_TABLE)
    budget.checked -= len(near)
    crc = 0
    for end in range(16, len(near) - 3, 16):
        crc = crc32c(near[end - 16 : end], crc)
        if crc == int.from_bytes(near[end : end + 4], "little"):
            return end + 4
    return 0


def _check_node(reader: Reader, budget: Budget, place: int, length: int) -> int:
    """The length of the node. Raises Damage."""
    if place + length > reader.size:
        raise _damage(
            Structure.CUT,
            f"cut off: {reader.size:,} of {place + length:,} bytes or more, within a node at byte {place:,}",
        )
    if length < SHORTEST:
        raise _damage(Structure.BROKEN, f"the node at byte {place:,} says that it has {length:,} bytes")
    if length <= min(_LARGEST_CHECKED, budget.checked):
        budget.checked -= length
        data = reader.at(place, length)
        stored = int.from_bytes(data[-4:], "little")
        if (found := crc32c(data[:-4])) != stored:
            raise _damage(
                Structure.BROKEN,
                f"the node of {length:,} bytes at byte {place:,} has checksum {found:08x}, "
                f"{stored:08x} is stored with it",
            )
    return length


def _check_lost_beginning(reader: Reader, budget: Budget) -> None:
    """Raises Damage for zeros before something from which on nodes and frames fill the file, or up to a page boundary.

    Values that are not compressed may begin with zeros by right.
    """
    for at in range(0, min(reader.size, _LOOK_FOR_A_BEGINNING), _STEP):
        near = reader.at(at, _STEP + len(MAGIC))
        for begin in sorted(at + place for magic in (MAGIC, KEYS, VERSIONS) if (place := near.find(magic)) >= 0):
            if _fills(reader, budget, begin):
                raise _damage(Structure.BROKEN, f"its first {begin:,} bytes are lost: they begin as zeros")
    zeros = reader.at(0, _LOOK_FOR_A_BEGINNING)
    end = len(zeros) - len(zeros.lstrip(b"\0"))
    if end % PAGE == 0:
        raise Damage(
            Structure.SUSPECT,
            f"its first {end:,} bytes, up to a page boundary, read as zeros",
            loader_says=_LOADER_SAYS,
        )


def _fills(reader: Reader, budget: Budget, begin: int) -> bool:
    try:
        return _walk(reader, budget, begin) == reader.size
    except Damage:
        return False


def _damage(structure: Structure, text: str) -> Damage:
    return Damage(structure, text, loader_says=_LOADER_SAYS)
