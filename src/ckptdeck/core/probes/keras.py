"""P7: `.keras`. A zip of JSON that describes the model and one HDF5 file, stored as it is, with the weights.

Proves the exact size, the JSON by its checksums, and the HDF5 file by its superblock. Blind to values: their CRC-32 is
in the file, but only a full read can compare it.
"""

from __future__ import annotations

import json

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.hdf5 import EXTENSIONS, SIGNATURE, check_hdf5
from ckptdeck.core.probes.reading import MIB, Damage, Reader
from ckptdeck.core.probes.zip_directory import Directory, Entry, data_offset, is_stored, read_member
from ckptdeck.core.probes.zip_surroundings import LoaderSays, check_end
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "keras"
DESCRIPTIONS = ("metadata.json", "config.json")

_LARGEST_DESCRIPTION = 16 * MIB
_MOST_FILES_LOOKED_AT = 256

_CUT_MESSAGE = (
    'keras says "File not found ... Please ensure the file is an accessible `.keras` zip file": the file is there, its '
    "end is not"
)
_HEAD_MESSAGE = (
    'keras says "File not found ... Please ensure the file is an accessible `.keras` zip file" or "Bad magic number '
    'for file header": the start of the file is lost'
)
_DAMAGED_MESSAGE = 'keras says "Bad magic number for file header", "Bad CRC-32" or another error of the zip'
_SAYS = LoaderSays(
    lost=_DAMAGED_MESSAGE,
    cut=_CUT_MESSAGE,
    appended="keras says nothing and loads the right values; something else was appended",
)


def judge_keras(reader: Reader, directory: Directory, looked_at: int) -> StructureFinding:
    """The finding for an archive whose directory and members fit. Raises TooLarge."""
    try:
        described = [entry for entry in directory.entries if entry.name in DESCRIPTIONS]
        for entry in described:
            _check_description(reader, directory, entry)
        stored = [entry for entry in directory.entries if entry.name.endswith(EXTENSIONS) and is_stored(entry)]
        for entry in stored[:_MOST_FILES_LOOKED_AT]:
            _check_weights(reader, entry)
        check_end(reader, directory, _SAYS)
    except Damage as damage:
        return damage.finding(FORMAT, loader_says=damage.loader_says or _DAMAGED_MESSAGE)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, as its directory says; {looked_at:,} of {counted(len(directory.entries), 'member')} "
        f"looked at, {counted(len(described), 'description')} whole, {counted(len(stored), 'HDF5 file')} as long as "
        "said inside; values not checked",
        expected_size=directory.end,
        proof="exact-size",
    )


def keras_loader_says(head_lost: bool, end_lost: bool) -> str:
    """Keras' words for an archive whose outside does not fit."""
    if head_lost:
        return _HEAD_MESSAGE
    return _CUT_MESSAGE if end_lost else _DAMAGED_MESSAGE


def _check_description(reader: Reader, directory: Directory, entry: Entry) -> None:
    data = read_member(reader, directory, entry, _LARGEST_DESCRIPTION)
    try:
        described = isinstance(json.loads(data), dict) if data is not None else True
    except (ValueError, RecursionError) as error:
        raise Damage(Structure.BROKEN, f"{entry.name!r} is not JSON ({error})") from error
    if not described:
        raise Damage(Structure.BROKEN, f"{entry.name!r} describes nothing")


def _check_weights(reader: Reader, entry: Entry) -> None:
    begin = data_offset(reader, entry)
    if reader.at(begin, len(SIGNATURE)) != SIGNATURE:
        raise Damage(Structure.BROKEN, f"{entry.name!r} at byte {begin:,} does not begin as HDF5 does")
    try:
        check_hdf5(reader, begin, begin + entry.stored)
    except Damage as damage:
        if damage.structure is not Structure.UNKNOWN:
            raise Damage(damage.structure, f"{entry.name!r}: {damage.text}", loader_says=damage.loader_says) from damage
