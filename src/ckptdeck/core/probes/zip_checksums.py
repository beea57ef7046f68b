"""The CRC-32 of every member of a zip, which torch never looks at (formats.md F3) and which proves a file by itself.

A writer may leave them all 0 (F4): then there is no checksum inside, and nothing is wrong with the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.long_reading import LongReader
from ckptdeck.core.probes.lost_pages import Span
from ckptdeck.core.probes.reading import MIB, Damage, Section
from ckptdeck.core.probes.zip_directory import Directory, Entry, check_member, find_directory
from ckptdeck.core.states import Structure

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1

_LOADER_SAYS = (
    "torch.load says nothing and loads what is there, wrong values among it; Python's zipfile, numpy and keras say "
    '"Bad CRC-32" once they come to that member'
)


@dataclass(slots=True)
class Tally:
    """What came of the checksums of one or more archives."""

    agree: int = 0
    """Members whose checksum was computed and is the one in the file."""
    without: list[Span] = field(default_factory=list)
    """Members that were written without a checksum, by their places in the file."""
    unread: int = 0
    """Members packed or encrypted in a way that is not undone here."""


def check_archive(reader: LongReader, begin: int, end: int, tally: Tally) -> None:
    """Reads all of the archive between these bytes and adds to `tally`.

    Raises Damage for the first member that does not agree, saying how many do not; also where headers do not fit.
    """
    section = Section(reader, begin, end)
    directory = find_directory(section)
    if directory is None:
        raise Damage(Structure.BROKEN, f"no archive ends between bytes {begin:,} and {end:,}")
    wrong: list[str] = []
    agreed_before = tally.agree
    for entry, data in _members(section, directory):
        if not entry.stored and not entry.size:
            continue
        if not directory.has_checksums:
            tally.without.append(Span(entry.name, begin + data, begin + data + entry.stored))
        elif entry.flags & _ENCRYPTED or entry.method not in (_STORED, _DEFLATED):
            tally.unread += 1
        elif misfit := _misfit(reader, entry, begin + data):
            wrong.append(f"{entry.name!r} of {entry.size:,} bytes, at byte {begin + data:,}, {misfit}")
        else:
            tally.agree += 1
    if wrong:
        checked = tally.agree - agreed_before + len(wrong)
        of_all = (
            f"{len(wrong):,} of {counted(checked, 'checksum')} inside {'does' if len(wrong) == 1 else 'do'} not agree"
        )
        raise Damage(Structure.BROKEN, f"{of_all}: {wrong[0]}", loader_says=_LOADER_SAYS)


def _members(section: Section, directory: Directory) -> Iterator[tuple[Entry, int]]:
    """Each member with the place of its bytes, after a look at its headers."""
    entries = directory.entries
    for index, entry in enumerate(entries):
        limit = entries[index + 1].header if index + 1 < len(entries) else directory.start
        yield entry, check_member(section, entry, limit)


def _misfit(reader: LongReader, entry: Entry, begin: int) -> str:
    """What is wrong with the bytes of one member, "" for nothing."""
    crc = size = 0
    try:
        for piece in _content(reader, entry, begin):
            crc = zlib.crc32(piece, crc)
            size += len(piece)
            if size > entry.size:
                return f"is longer than the {entry.size:,} bytes the directory says"
    except zlib.error as error:
        return f"cannot be unpacked ({error})"
    if size != entry.size:
        return f"holds {size:,} bytes"
    return "" if crc == entry.crc else f"has checksum {crc:08x} and should have {entry.crc:08x}"


def _content(reader: LongReader, entry: Entry, begin: int) -> Iterator[bytes | memoryview]:
    """The bytes that a member stands for, a mebibyte at most at a time. Raises zlib.error."""
    pieces = reader.pieces(begin, begin + entry.stored)
    if entry.method == _STORED:
        yield from pieces
        return
    machine = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in pieces:
        waiting: bytes | memoryview = piece
        while not machine.eof:
            reader.effort.check()
            content = machine.decompress(waiting, MIB)
            waiting = machine.unconsumed_tail
            if not content and not waiting:
                break
            yield content
