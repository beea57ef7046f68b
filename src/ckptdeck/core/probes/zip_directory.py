"""The outside of a zip archive: end record, central directory, and the headers around every member.

The headers before and the descriptors after a member lie between the data, so checking them finds lost ranges that the
directory at the end cannot know of (formats.md F5). Whatever does not fit raises Damage with the arithmetic.
"""

from __future__ import annotations

import struct
import zlib

from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge, is_zero
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

LOCAL_MAGIC = b"PK\x03\x04"
EMPTY_MAGIC = b"PK\x05\x06"

_END = struct.Struct("<4s4H2LH")
END_BYTES = _END.size
"""Of the end record, without a comment."""
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_LONGEST_COMMENT = 65535
_LARGEST_DIRECTORY = 96 * MIB
_MOST_MEMBERS_LOOKED_AT = 4096
_HAS_DESCRIPTOR = 0x8
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_STORED, _DEFLATED = 0, 8


@dataclass(frozen=True, slots=True)
class Entry:
    """One member as the central directory has it. `stored` bytes lie in the file, `size` bytes are meant."""

    name: str
    flags: int
    method: int
    crc: int
    stored: int
    size: int
    header: int
    """Offset of its local header."""


@dataclass(frozen=True, slots=True)
class Directory:
    """The members in the order of their place in the file, and where the archive ends."""

    entries: tuple[Entry, ...]
    start: int
    """Offset of the central directory."""
    end: int
    """Offset after the end record; the file is longer when something was appended."""

    @property
    def has_checksums(self) -> bool:
        """False when the writer left every checksum 0 (F4): then they say nothing."""
        return any(entry.crc for entry in self.entries)


@dataclass(frozen=True, slots=True)
class _End:
    place: int
    """Where the directory must end: the first of the end records."""
    after: int
    count: int
    length: int
    start: int
    shift: int
    """Bytes that were added before the directory since the record was written; negative for bytes lost."""


def find_directory(reader: Reader) -> Directory | None:
    """The central directory, or None when the file has no end record. Raises Damage where the two disagree."""
    end = _find_end(reader)
    if end is None:
        return None
    if end.shift:
        raise Damage(
            Structure.BROKEN,
            f"the end record puts the end of the directory at byte {end.place - end.shift:,}, it is at byte "
            f"{end.place:,}: {abs(end.shift):,} bytes were {'lost' if end.shift < 0 else 'added'} before it",
        )
    if end.length > _LARGEST_DIRECTORY:
        raise TooLarge
    entries = _parse_entries(reader.at(end.start, end.length), end)
    return Directory(tuple(sorted(entries, key=lambda entry: entry.header)), end.start, end.after)


def check_members(reader: Reader, directory: Directory) -> int:
    """Looks at both ends of up to 4096 members spread over the file; how many. Raises Damage at the first misfit."""
    entries = directory.entries
    stride = max(1, -(-len(entries) // _MOST_MEMBERS_LOOKED_AT))
    looked_at = 0
    for index in range(0, len(entries), stride):
        limit = entries[index + 1].header if index + 1 < len(entries) else directory.start
        check_member(reader, entries[index], limit)
        looked_at += 1
    return looked_at


def check_member(reader: Reader, entry: Entry, limit: int) -> int:
    """Where the bytes of a member begin, after a look at both its ends; what follows it begins at `limit`."""
    begin = data_offset(reader, entry)
    end = begin + entry.stored
    if entry.flags & _HAS_DESCRIPTOR:
        end += _check_descriptor(reader, entry, end)
    if end > limit:
        raise Damage(Structure.BROKEN, f"{entry.name!r} ends at byte {end:,}, what follows it begins at byte {limit:,}")
    return begin


def data_offset(reader: Reader, entry: Entry) -> int:
    """Where the bytes of a member begin, by its local header. Raises Damage when another header, or none, is there."""
    raw = reader.near(entry.header, _LOCAL.size)
    if len(raw) < _LOCAL.size or raw[:4] != LOCAL_MAGIC:
        found = "zeros" if raw and is_zero(raw[:4]) else "something else" if raw else "the end of the file"
        raise Damage(
            Structure.BROKEN, f"the header of {entry.name!r} should be at byte {entry.header:,}; found {found}"
        )
    _, _, flags, method, _, _, crc, stored, _, name_length, extra_length = _LOCAL.unpack(raw)
    name = _name(reader.near(entry.header + _LOCAL.size, name_length))
    if name != entry.name or method != entry.method or flags & _HAS_DESCRIPTOR != entry.flags & _HAS_DESCRIPTOR:
        raise Damage(
            Structure.BROKEN,
            f"the header at byte {entry.header:,} is of {name!r}, the directory has {entry.name!r} there",
        )
    if not flags & _HAS_DESCRIPTOR and (crc != entry.crc or stored not in (entry.stored, _FULL32)):
        raise Damage(
            Structure.BROKEN,
            f"the header of {entry.name!r} at byte {entry.header:,} says {stored:,} bytes, checksum {crc:08x}; "
            f"the directory says {entry.stored:,}, {entry.crc:08x}",
        )
    return entry.header + _LOCAL.size + int(name_length) + int(extra_length)


def read_member(reader: Reader, directory: Directory, entry: Entry, limit: int) -> bytes | None:
    """The content of a small member, its checksum proven where there is one; None when it is larger than `limit`."""
    if entry.size > limit or entry.stored > limit:
        return None
    data = reader.at(data_offset(reader, entry), entry.stored)
    if entry.method == _DEFLATED:
        try:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, limit + 1)
        except zlib.error as error:
            raise Damage(Structure.BROKEN, f"{entry.name!r} cannot be decompressed ({error})") from error
    elif entry.method != _STORED:
        return None
    if len(data) != entry.size:
        raise Damage(Structure.BROKEN, f"{entry.name!r} holds {len(data):,} bytes, the directory says {entry.size:,}")
    if directory.has_checksums and (found := zlib.crc32(data)) != entry.crc:
        raise Damage(
            Structure.BROKEN,
            f"{entry.name!r} at byte {entry.header:,} has checksum {found:08x}, the directory says {entry.crc:08x}",
        )
    return data


def is_stored(entry: Entry) -> bool:
    """Whether the bytes of a member lie in the file as they are."""
    return entry.method == _STORED and entry.stored == entry.size


def has_end(reader: Reader) -> bool:
    """Whether the file closes as an archive, whatever it begins with."""
    end = _end_at(reader, reader.size - _END.size)
    return end is not None and end.shift == 0 and end.count > 0


def is_chain(reader: Reader) -> bool:
    """Whether the last archive in the file begins right after another one, as the chunks of torch DCP do."""
    begin = start_of_archive(reader, reader.size) or 0
    return begin > 0 and reader.at(begin - _END.size, 4) == EMPTY_MAGIC


def start_of_archive(reader: Reader, end: int) -> int | None:
    """Where the archive begins whose end record, without a comment, ends at `end`; None when none does."""
    record = _end_at(reader, end - _END.size)
    if record is None or record.after != end or not 0 <= record.shift < end - _END.size:
        return None
    return record.shift if reader.at(record.shift, 4) == LOCAL_MAGIC else None


def first_member(reader: Reader) -> tuple[str, int]:
    """(name, offset of its data) of the member at the start of the file; ("", 0) when there is no header."""
    raw = reader.at(0, _LOCAL.size)
    if len(raw) < _LOCAL.size or raw[:4] != LOCAL_MAGIC:
        return "", 0
    name_length, extra_length = _LOCAL.unpack(raw)[-2:]
    return _name(reader.at(_LOCAL.size, name_length)), _LOCAL.size + name_length + extra_length


def _find_end(reader: Reader) -> _End | None:
    """The end record at the very end; else the last one further up that fits, else the last one that does not."""
    if end := _end_at(reader, reader.size - _END.size):
        return end
    back = min(reader.size, _LONGEST_COMMENT + _END.size)
    tail = reader.at(reader.size - back, back)
    misfit: _End | None = None
    position = tail.rfind(EMPTY_MAGIC)
    while position >= 0:
        end = _end_at(reader, reader.size - back + position)
        if end is not None and end.shift == 0:
            return end
        misfit = misfit or end
        position = tail.rfind(EMPTY_MAGIC, 0, position)
    return misfit


def _end_at(reader: Reader, place: int) -> _End | None:
    raw = reader.at(place, _END.size)
    if len(raw) < _END.size or raw[:4] != EMPTY_MAGIC:
        return None
    _, _, _, _, count, length, start, comment = _END.unpack(raw)
    after = place + _END.size + comment
    locator_place = place - _END64_LOCATOR.size
    locator = reader.at(locator_place, _END64_LOCATOR.size)
    if len(locator) < _END64_LOCATOR.size or locator[:4] != b"PK\x06\x07":
        return _End(place, after, count, length, start, place - start - length)
    shift = locator_place - _END64.size - _END64_LOCATOR.unpack(locator)[2]
    raw64 = reader.at(locator_place - _END64.size, _END64.size)
    if len(raw64) == _END64.size and raw64[:4] == b"PK\x06\x06":
        count, length, start = _END64.unpack(raw64)[7:]
        shift = shift or locator_place - _END64.size - start - length
    return _End(locator_place - _END64.size, after, count, length, start, shift)


def _parse_entries(raw: bytes, end: _End) -> list[Entry]:
    entries: list[Entry] = []
    position = 0
    while position < len(raw):
        if len(raw) - position < _ENTRY.size or raw[position : position + 4] != b"PK\x01\x02":
            raise Damage(
                Structure.BROKEN,
                f"entry {len(entries) + 1} of the directory should be at byte {end.start + position:,} and is not",
            )
        entry, position = _parse_entry(raw, position)
        if entry.header + _LOCAL.size + entry.stored > end.start:
            raise Damage(
                Structure.BROKEN,
                f"{entry.name!r} ends after byte {entry.header + entry.stored:,}, the data end at {end.start:,}",
            )
        entries.append(entry)
    if len(raw) != end.length or len(entries) != end.count:
        raise Damage(
            Structure.BROKEN,
            f"the directory at byte {end.start:,} holds {len(entries):,} entries, the end record says {end.count:,}",
        )
    return entries


def _parse_entry(raw: bytes, position: int) -> tuple[Entry, int]:
    fields = _ENTRY.unpack_from(raw, position)
    flags, method, crc, stored, size = fields[3], fields[4], fields[7], fields[8], fields[9]
    name_length, extra_length, comment_length, header = fields[10], fields[11], fields[12], fields[16]
    name_end = position + _ENTRY.size + name_length
    name = _name(raw[position + _ENTRY.size : name_end])
    if _FULL32 in (stored, size, header):
        size, stored, header = _zip64_fields(raw[name_end : name_end + extra_length], size, stored, header)
    return Entry(name, flags, method, crc, stored, size, header), name_end + extra_length + comment_length


def _zip64_fields(extra: bytes, size: int, stored: int, header: int) -> tuple[int, int, int]:
    """The values that did not fit into 32 bits, from the extra field 1."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == 1:
            wide = [value for (value,) in struct.iter_unpack("<Q", extra[position + 4 :][: length - length % 8])]
            values = [wide.pop(0) if value == _FULL32 and wide else value for value in (size, stored, header)]
            return values[0], values[1], values[2]
        position += 4 + length
    return size, stored, header


def _check_descriptor(reader: Reader, entry: Entry, place: int) -> int:
    """The length of the descriptor after a member: with or without its magic, with 4- or 8-byte sizes."""
    raw = reader.near(place, 24)
    for magic in (_DESCRIPTOR_MAGIC, b""):
        for layout in ("<LLL", "<LQQ"):
            try:
                expected = magic + struct.pack(layout, entry.crc, entry.stored, entry.size)
            except struct.error:  # sizes beyond 4 GiB do not fit the short layout
                continue
            if raw.startswith(expected):
                return len(expected)
    found = "zeros" if is_zero(raw[:4]) else "something else"
    raise Damage(
        Structure.BROKEN,
        f"the end of {entry.name!r} should be marked at byte {place:,} "
        f"({entry.size:,} bytes, checksum {entry.crc:08x}); found {found}",
    )


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
