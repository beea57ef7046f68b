"""What a zip archive whose tables fit may still hold too little or too much of: holes in a member, bytes at the end."""

from __future__ import annotations

from bisect import bisect_right

from ckptdeck.core.probes.lost_pages import Span, find_lost_pages
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.probes.zip_directory import Directory, data_offset
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass


@dataclass(frozen=True, slots=True)
class LoaderSays:
    """What the library that reads such an archive makes of each."""

    lost: str
    cut: str
    appended: str


def check_surroundings(reader: Reader, directory: Directory, says: LoaderSays) -> None:
    """Raises Damage for lost pages inside a member and for a file that does not end where its archive does."""
    headers = [entry.header for entry in directory.entries]

    def span_at(offset: int) -> Span | None:
        entry = directory.entries[max(0, bisect_right(headers, offset) - 1)]
        begin = data_offset(reader, entry)
        return Span(entry.name, begin, begin + entry.stored) if begin <= offset < begin + entry.stored else None

    if directory.entries and (lost := find_lost_pages(reader, 0, directory.start, span_at)):
        raise Damage(Structure.SUSPECT, lost, expected=directory.end, loader_says=says.lost)
    check_end(reader, directory, says)


def check_end(reader: Reader, directory: Directory, says: LoaderSays) -> None:
    """Raises Damage for a file that does not end where its archive does."""
    if directory.end > reader.size:
        raise Damage(
            Structure.CUT,
            f"the archive ends at byte {directory.end:,}, the file at {reader.size:,}",
            expected=directory.end,
            loader_says=says.cut,
        )
    if directory.end < reader.size:
        raise Damage(
            Structure.SUSPECT,
            f"{reader.size - directory.end:,} bytes too many: the archive ends at byte {directory.end:,}, "
            f"the file at {reader.size:,}",
            expected=directory.end,
            loader_says=says.appended,
        )
