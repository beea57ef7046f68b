"""Archives one right after another, as torch DCP lays its chunks into a file: where each begins, by its end record.

Only the last one can be found from outside. Each says how long it is, so the one before it ends where it begins.
"""

from __future__ import annotations

from ckptdeck.core.probes.reading import Damage, Reader, TooLarge, is_zero
from ckptdeck.core.probes.zip_directory import EMPTY_MAGIC, END_BYTES, LOCAL_MAGIC, start_of_archive
from ckptdeck.core.states import Structure

_MOST_ARCHIVES = 1_000_000
_LOADER_SAYS = 'torch says "failed finding central directory" or "invalid header or archive is corrupted"'


def find_archives(reader: Reader) -> list[tuple[int, int]]:
    """(begin, end) of each, first to last.

    Raises Damage where the chain does not reach the start of the file: BROKEN for zeros, SUSPECT for something else
    behind another archive, UNKNOWN when the file may hold something else by right. TooLarge.
    """
    archives: list[tuple[int, int]] = []
    end = reader.size
    while end:
        begin = start_of_archive(reader, end)
        if begin is None:
            raise _interrupted(reader, end)
        archives.append((begin, end))
        if len(archives) > _MOST_ARCHIVES:
            raise TooLarge
        end = begin
    archives.reverse()
    return archives


def _interrupted(reader: Reader, end: int) -> Damage:
    """What keeps an archive from ending at `end`, where the next one begins."""
    record = reader.at(max(0, end - END_BYTES), min(END_BYTES, end))
    if record.startswith(EMPTY_MAGIC):
        what = f"the archive that ends at byte {end:,} does not begin where it says"
        return Damage(Structure.BROKEN, what, loader_says=_LOADER_SAYS)
    what = f"an archive should end at byte {end:,}, where the next one begins; found "
    if is_zero(record):
        return Damage(Structure.BROKEN, what + "zeros", loader_says=_LOADER_SAYS)
    structure = Structure.SUSPECT if reader.at(0, len(LOCAL_MAGIC)) == LOCAL_MAGIC else Structure.UNKNOWN
    return Damage(structure, what + "something else", loader_says=_LOADER_SAYS)
