"""P5: numpy arrays in a zip. Beyond the outside of the archive, the header of every stored array.

Proves the exact size. Blind to values: their CRC-32 is in the file, but only a full read can compare it, and a writer
may have left every one of them 0.
"""

from __future__ import annotations

from ckptdeck.core.probes.npy import end_of_array, read_array_header
from ckptdeck.core.probes.reading import Damage, Reader
from ckptdeck.core.probes.zip_directory import Directory, Entry, data_offset, is_stored
from ckptdeck.core.probes.zip_surroundings import LoaderSays, check_surroundings
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "npz"

_MOST_ARRAYS_LOOKED_AT = 4096

_CUT_MESSAGE = 'np.load says "BadZipFile: File is not a zip file": the end of the file is not there'
_HEAD_MESSAGE = (
    'np.load says "This file contains pickled (object) data" or "Failed to interpret file as a pickle": the start of '
    "the file is lost"
)
_DAMAGED_MESSAGE = 'np.load says "BadZipFile: Bad magic number for file header" or "Bad CRC-32", once the array is used'
_SAYS = LoaderSays(
    lost='np.load says "BadZipFile: Bad CRC-32", once the array is used; with checksums left out it loads the zeros',
    cut=_CUT_MESSAGE,
    appended="np.load says nothing and loads the right values; something else was appended",
)


def judge_npz(reader: Reader, directory: Directory, looked_at: int) -> StructureFinding:
    """The finding for an archive whose directory and members fit. Raises TooLarge."""
    try:
        arrays = _check_arrays(reader, directory)
        check_surroundings(reader, directory, _SAYS)
    except Damage as damage:
        return damage.finding(FORMAT, loader_says=damage.loader_says or _DAMAGED_MESSAGE)
    checksums = "" if directory.has_checksums or not directory.entries else ", written without checksums"
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, as its directory says; {looked_at:,} of {len(directory.entries):,} members looked at, "
        f"{arrays:,} arrays as long as their headers say{checksums}; values not checked",
        expected_size=directory.end,
        proof="exact-size",
    )


def npz_loader_says(head_lost: bool, end_lost: bool) -> str:
    """numpy's words for an archive whose outside does not fit."""
    if head_lost:
        return _HEAD_MESSAGE
    return _CUT_MESSAGE if end_lost else _DAMAGED_MESSAGE


def _check_arrays(reader: Reader, directory: Directory) -> int:
    """Compares header and length of the arrays that are not compressed; how many."""
    stored = [entry for entry in directory.entries if is_stored(entry)]
    chosen = stored[:: max(1, -(-len(stored) // _MOST_ARRAYS_LOOKED_AT))]
    for entry in chosen:
        _check_array(reader, entry)
    return len(chosen)


def _check_array(reader: Reader, entry: Entry) -> None:
    begin = data_offset(reader, entry)
    end = begin + entry.stored
    try:
        found = end_of_array(reader, read_array_header(reader, begin, end), end)
    except Damage as damage:
        if damage.structure is Structure.UNKNOWN:
            return
        raise Damage(Structure.BROKEN, f"{entry.name!r}: {damage.text}") from damage
    if found is not None and found != end:
        raise Damage(
            Structure.BROKEN,
            f"{entry.name!r} holds {entry.stored:,} bytes, its header asks for {found - begin:,}",
        )
