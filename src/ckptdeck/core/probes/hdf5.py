"""P6: HDF5, and with it Keras' `.weights.h5`. A superblock that says where the file ends, perhaps behind a user block.

Proves that the file is not too short and that its root group is there; in versions 0 and 1 that all groups are, in
version 3 that a writer closed it. Blind to values: no checksum covers them. HDF5 leaves holes and zeros of its own
(late allocation, paged files), so holes are only told, and zeros up to the end count as lost only when they begin at a
page boundary where the file's tables let nothing begin.
"""

from __future__ import annotations

import struct

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.hdf5_groups import WIDTH, check_groups
from ckptdeck.core.probes.lookup3 import lookup3
from ckptdeck.core.probes.lost_pages import WIDEST_VALUE, holes, zero_tail
from ckptdeck.core.probes.reading import MIB, PAGE, Damage, Reader, is_zero, zeros_at_end
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "hdf5"
EXTENSIONS = (".h5", ".hdf5")
SIGNATURE = b"\x89HDF\r\n\x1a\n"

_SMALLEST_USER_BLOCK = 512
_LONGEST_SUPERBLOCK = 256
_WIDTHS = (2, 4, 8, 16, 32)
_VERSION_AT = 8
_OPEN_FOR_WRITING = 0x1
_OF_SEVERAL_FILES = b"NCSA"
"""Begins the names of the drivers that spread one HDF5 file over several."""
_DRIVER_NEAR = 1024
_SEARCHED_FOR_ADDRESS = 4 * MIB

_CUT_MESSAGE = (
    'h5py says "truncated file: eof = {found}, sblock->base_addr = {base}, stored_eof = {expected}": the last is the '
    "true size"
)
_HEAD_MESSAGE = 'h5py says "file signature not found": the start of the file is lost'
_SUPERBLOCK_MESSAGE = 'h5py says "incorrect metadata checksum after all read attempts"'
_ROOT_MESSAGE = 'h5py says "bad object header version number"'
_OPEN_MESSAGE = 'h5py says "file is already open for write (may use <h5clear file> to clear file consistency flags)"'
_APPENDED_MESSAGE = (
    "h5py says nothing and loads what is there; something else was appended, or the writer ended before it closed the "
    "file"
)
_LOST_MESSAGE = "h5py loads the zeros and says nothing, or fails on the first object whose tables are among them"


@dataclass(frozen=True, slots=True)
class Superblock:
    """Offsets are those of the file that was opened; `place` is where the signature stands."""

    version: int
    place: int
    after: int
    end: int
    """Where the data end."""
    root: int
    """Where the header of the root group begins."""
    width: int
    """Bytes of an address."""
    extension: int | None
    """Where the extension, or in versions 0 and 1 what describes the driver, begins."""
    flags: int


def looks_like_hdf5(reader: Reader, head: bytes, name: str) -> bool:
    """By its signature, behind a long user block only when so named; by the name alone for what has lost its start."""
    if _place_of_signature(reader, head, len(head)) is not None:
        return True
    if not name.endswith(EXTENSIONS) or len(head) < 2:
        return False
    if len(head) < len(SIGNATURE):
        return SIGNATURE.startswith(head)
    return is_zero(head) or _place_of_signature(reader, head, reader.size) is not None


def probe_hdf5(reader: Reader) -> StructureFinding:
    """Whether the superblock, the root group and the size agree."""
    place = _place_of_signature(reader, reader.at(0, PAGE), reader.size)
    try:
        if place is None:
            raise _without_signature(reader)
        superblock = check_hdf5(reader, place, reader.size)
    except Damage as damage:
        return damage.finding(FORMAT)
    unstored = sum(stop - start for start, stop in holes(reader, superblock.place, superblock.end))
    note = f"; {unstored:,} bytes were never stored, which HDF5 may do by itself" if unstored else ""
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, as its superblock of version {superblock.version} says; values not checked{note}",
        expected_size=superblock.end,
        proof="exact-size",
    )


def check_hdf5(reader: Reader, place: int, limit: int) -> Superblock:
    """The superblock at `place` of data that are there up to `limit`. Raises Damage where the two disagree."""
    superblock = _read_superblock(reader, place, limit)
    if superblock.extension is not None and _OF_SEVERAL_FILES in reader.at(superblock.extension, _DRIVER_NEAR):
        raise Damage(Structure.UNKNOWN, "one of several files that are one HDF5 file together; not judged")
    _check_short(superblock, limit)
    _check_root(reader, superblock)
    if superblock.version < 2 and superblock.width == WIDTH:
        check_groups(reader, place, superblock.after - 2 * WIDTH)
    if superblock.version == 3 and superblock.flags & _OPEN_FOR_WRITING:
        raise Damage(
            Structure.INCOMPLETE,
            f"{limit:,} bytes, marked as open for writing: its writer has not closed it, or ended before it could",
            loader_says=_OPEN_MESSAGE,
        )
    if limit > superblock.end:
        raise Damage(
            Structure.SUSPECT,
            f"{counted(limit - superblock.end, 'byte')} too many: its data end at byte {superblock.end:,}, it "
            f"ends at {limit:,}",
            expected=superblock.end,
            loader_says=_APPENDED_MESSAGE,
        )
    _check_tail(reader, superblock)
    return superblock


def _place_of_signature(reader: Reader, head: bytes, end: int) -> int | None:
    """At 0, 512, 1024, 2048 and so on, within the first `end` bytes."""
    place = 0
    while place + len(SIGNATURE) <= end:
        inside = place + len(SIGNATURE) <= len(head)
        found = head[place : place + len(SIGNATURE)] if inside else reader.at(place, len(SIGNATURE))
        if found == SIGNATURE:
            return place
        place = place * 2 or _SMALLEST_USER_BLOCK
    return None


def _without_signature(reader: Reader) -> Damage:
    if reader.size < len(SIGNATURE):
        return Damage(Structure.CUT, f"cut off at {reader.size:,} bytes, in its signature", loader_says=_HEAD_MESSAGE)
    return Damage(
        Structure.BROKEN,
        f"the first {PAGE:,} of {reader.size:,} bytes read as zeros, and no superblock is at any place it may have",
        loader_says=_HEAD_MESSAGE,
    )


def _read_superblock(reader: Reader, place: int, limit: int) -> Superblock:
    raw = reader.at(place, min(_LONGEST_SUPERBLOCK, limit - place))
    version = raw[_VERSION_AT] if len(raw) > _VERSION_AT else 0
    if version > 3:
        raise Damage(Structure.UNKNOWN, f"HDF5 with a superblock of version {version}, which is not judged")
    width_at, fields_at = (13, 24 + 4 * version) if version < 2 else (9, 12)
    width = raw[width_at] if len(raw) > width_at else _WIDTHS[0]
    after = fields_at + 6 * width if version < 2 else fields_at + 4 * width + 4
    if len(raw) < after:
        raise Damage(
            Structure.CUT,
            f"cut off at {limit:,} bytes, within its superblock",
            loader_says=_CUT_MESSAGE.format(found=limit, base=place, expected="..."),
        )
    if width not in _WIDTHS:
        raise Damage(
            Structure.BROKEN, f"its superblock speaks of addresses of {width} bytes", loader_says=_SUPERBLOCK_MESSAGE
        )
    fields = [int.from_bytes(raw[at : at + width], "little") for at in range(fields_at, after - width + 1, width)]
    if version < 2:
        base, _, end, extension, _, root = fields
        flags = 0
    else:
        base, extension, end, root = fields[:4]
        flags = raw[11]
        _check_superblock(raw[: after - 4], struct.unpack_from("<L", raw, after - 4)[0])
    undefined = (1 << 8 * width) - 1
    if end == undefined or end - base + place < place + after:
        raise Damage(Structure.BROKEN, "its superblock does not say where it ends", loader_says=_SUPERBLOCK_MESSAGE)
    return Superblock(
        version=version,
        place=place,
        after=place + after,
        end=end - base + place,
        root=root + place,
        width=width,
        extension=None if extension == undefined else extension + place,
        flags=flags,
    )


def _check_superblock(covered: bytes, expected: int) -> None:
    found = lookup3(covered)
    if found != expected:
        raise Damage(
            Structure.BROKEN,
            f"its superblock has checksum {found:08x}, it says {expected:08x}",
            loader_says=_SUPERBLOCK_MESSAGE,
        )


def _check_short(superblock: Superblock, limit: int) -> None:
    if limit < superblock.end:
        raise Damage(
            Structure.CUT,
            f"cut off: {limit:,} of {superblock.end:,} bytes, {superblock.end - limit:,} missing",
            expected=superblock.end,
            loader_says=_CUT_MESSAGE.format(found=limit, base=superblock.place, expected=superblock.end),
        )


def _check_root(reader: Reader, superblock: Superblock) -> None:
    """An object header begins with OHDR, or in the old layout with its version 1 and a zero."""
    raw = reader.at(superblock.root, 4)
    if raw != b"OHDR" and raw[:2] != b"\x01\0":
        found = "zeros" if raw and is_zero(raw) else "something else" if raw else "the end of the file"
        raise Damage(
            Structure.BROKEN,
            f"the header of its root group should be at byte {superblock.root:,}; found {found}",
            loader_says=_ROOT_MESSAGE,
        )


def _check_tail(reader: Reader, superblock: Superblock) -> None:
    """Zeros up to the end from a page boundary on, values right before them, and nothing of the file's begins there.

    Files with an extension may be paged: all they store begins at page boundaries.
    """
    if superblock.version >= 2 and superblock.extension is not None:
        return
    start = zero_tail(reader, superblock.after, superblock.end)
    if start is None or start <= superblock.after:
        return
    before = reader.at(start - WIDEST_VALUE - 1, WIDEST_VALUE + 1)
    if zeros_at_end(before) > WIDEST_VALUE or _is_an_address(reader, superblock, start):
        return
    raise Damage(
        Structure.SUSPECT,
        f"the last {superblock.end - start:,} bytes, from the page at byte {start:,} on, read as zeros, and no "
        "object begins there",
        expected=superblock.end,
        loader_says=_LOST_MESSAGE,
    )


def _is_an_address(reader: Reader, superblock: Superblock, offset: int) -> bool:
    """Whether the tables, where tables usually are, name this place as that of an object or its values."""
    address = (offset - superblock.place).to_bytes(superblock.width, "little")
    places = {superblock.place, max(superblock.place, offset - _SEARCHED_FOR_ADDRESS)}
    return any(address in reader.at(place, min(_SEARCHED_FOR_ADDRESS, offset - place)) for place in places)
