"""P1: what torch.save, Lightning and TorchScript write. A zip of stored members, `data.pkl` naming the storages.

Proves the exact size, the directory, both ends of the members, and that every storage named in `data.pkl` is there with
type x count bytes. Blind to bytes inside one storage; torch itself never checks the CRC-32 that is in the file (F3).
"""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.core.probes import keras
from ckptdeck.core.probes.lost_pages import zero_tail
from ckptdeck.core.probes.npz import judge_npz, npz_loader_says
from ckptdeck.core.probes.pickle_bytes import PickleDamage
from ckptdeck.core.probes.pickle_walk import GlobalName, PickleTooLong, walk_pickle
from ckptdeck.core.probes.reading import MIB, Damage, Reader
from ckptdeck.core.probes.torch_storages import BYTES_PER_VALUE
from ckptdeck.core.probes.zip_directory import (
    EMPTY_MAGIC,
    LOCAL_MAGIC,
    Directory,
    Entry,
    check_members,
    find_directory,
    first_member,
    has_end,
    is_chain,
    read_member,
)
from ckptdeck.core.probes.zip_surroundings import LoaderSays, check_surroundings
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

FORMAT = "torch-zip"

_LARGEST_PICKLE = 64 * MIB
_SMALL_MEMBER = 64 * 1024
_SMALL_MEMBERS_AT_MOST = 64
_LOOKS_AT_A_CUT_PICKLE = (64 * 1024, MIB, 16 * MIB)
"""A cut archive has no table that says how long its pickle is."""

_CUT_MESSAGE = (
    'torch.load says "PytorchStreamReader failed reading zip archive: failed finding central directory": '
    "the end of the file is not there"
)
_DAMAGED_MESSAGE = (
    'torch.load says "invalid header or archive is corrupted", or with mmap=True nothing at all and loads wrong values'
)
_HEAD_MESSAGE = (
    "torch.load says \"KeyError: filename 'storages' not found\": it took the file for a tar, since its start is lost"
)
_SAYS = LoaderSays(
    lost="torch.load says nothing and loads the zeros",
    cut=_CUT_MESSAGE,
    appended="torch.load says nothing and loads the right values; something else was appended",
)


def looks_like_zip(reader: Reader, head: bytes) -> bool:
    """By its first bytes, or by an end record at the very end whose directory is where it says."""
    magic = head[:4]
    begins = len(magic) > 1 and any(known.startswith(magic) for known in (LOCAL_MAGIC, EMPTY_MAGIC))
    return begins or has_end(reader)


def probe_zip(reader: Reader) -> StructureFinding:
    """Any zip by its outside; torch archives also by what `data.pkl` promises. Raises TooLarge."""
    head_lost = reader.at(0, 4) not in (LOCAL_MAGIC, EMPTY_MAGIC)
    if is_chain(reader):
        return StructureFinding(Structure.UNKNOWN, "torch-dcp", "archives one after another; content not judged")
    kind = ""
    try:
        directory = find_directory(reader)
        if directory is None:
            raise _without_end(reader)
        kind, pickles = _recognise(directory)
        looked_at = check_members(reader, directory)
    except Damage as damage:
        kind = kind or _begun_as(reader)
        return _finding(kind, damage, _loader_says(kind, damage, head_lost))
    if kind == "npz":
        return judge_npz(reader, directory, looked_at)
    if kind == keras.FORMAT:
        return keras.judge_keras(reader, directory, looked_at)
    if kind != FORMAT:
        return StructureFinding(
            Structure.UNKNOWN, kind, f"{kind} of {len(directory.entries):,} members; content not judged"
        )
    try:
        storages = _check_contents(reader, directory, pickles)
        check_surroundings(reader, directory, _SAYS)
    except Damage as damage:
        return _finding(FORMAT, damage, damage.loader_says or _DAMAGED_MESSAGE)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{reader.size:,} bytes, as its directory says; {looked_at:,} of {len(directory.entries):,} members looked at, "
        f"{storages:,} storages there with the bytes they should have; values not checked",
        expected_size=directory.end,
        proof="exact-size",
    )


def check_archive(reader: Reader, largest_pickle: int) -> Directory:
    """Looks at one whole archive from outside, as torch.save writes it; pickles that are longer stay unread.

    Raises Damage, TooLarge.
    """
    directory = find_directory(reader)
    if directory is None:
        raise _without_end(reader)
    kind, pickles = _recognise(directory)
    check_members(reader, directory)
    if kind == FORMAT:
        _check_contents(reader, directory, [entry for entry in pickles if entry.size <= largest_pickle])
    return directory


def _finding(kind: str, damage: Damage, message: str) -> StructureFinding:
    return StructureFinding(
        damage.structure,
        kind,
        damage.text,
        expected_size=damage.expected,
        proof="exact-size" if damage.structure is Structure.SUSPECT else "none",
        loader_says=message,
    )


def _loader_says(kind: str, damage: Damage, head_lost: bool) -> str:
    if kind == FORMAT:
        return damage.loader_says or (_HEAD_MESSAGE if head_lost else _DAMAGED_MESSAGE)
    end_lost = damage.loader_says == _CUT_MESSAGE
    if kind == keras.FORMAT:
        return keras.keras_loader_says(head_lost, end_lost)
    return npz_loader_says(head_lost, end_lost) if kind == "npz" else ""


def _recognise(directory: Directory) -> tuple[str, list[Entry]]:
    """The format the members are of, and the pickles that name storages."""
    names = {entry.name for entry in directory.entries}
    pickles = [e for e in directory.entries if e.name.rpartition("/")[2] in ("data.pkl", "constants.pkl")]
    if any(entry.name.endswith("data.pkl") for entry in pickles):
        return FORMAT, pickles
    if any(name.rpartition("/")[2] == "archive_format" for name in names):
        return FORMAT, []
    if all(name.endswith(".npy") for name in names):
        return "npz", []
    return (keras.FORMAT if names.issuperset(keras.DESCRIPTIONS) else "zip"), []


def _begun_as(reader: Reader) -> str:
    """The format of a damaged archive, by its first member; one that does not tell is taken for torch's."""
    name, _ = first_member(reader)
    if name.endswith(".npy"):
        return "npz"
    return keras.FORMAT if name in keras.DESCRIPTIONS else FORMAT


def _without_end(reader: Reader) -> Damage:
    """Why there is no end record: cut off, or written over with zeros."""
    start = zero_tail(reader, 0, reader.size)
    if start is not None:
        return Damage(
            Structure.BROKEN,
            f"the end record is gone: the last {reader.size - start:,} of {reader.size:,} bytes read as zeros",
            loader_says=_CUT_MESSAGE,
        )
    named = _bytes_named_at_start(reader)
    if named > reader.size:
        return Damage(
            Structure.CUT,
            f"cut off at {reader.size:,} bytes: its storages alone are {named:,} bytes",
            loader_says=_CUT_MESSAGE,
        )
    return Damage(
        Structure.CUT,
        f"cut off at {reader.size:,} bytes: the end record that closes the archive is not there",
        loader_says=_CUT_MESSAGE,
    )


def _bytes_named_at_start(reader: Reader) -> int:
    """What the storages of a cut archive add up to, where its `data.pkl` came first and is whole; else 0."""
    name, start = first_member(reader)
    if not name.endswith("/data.pkl"):
        return 0
    for length in _LOOKS_AT_A_CUT_PICKLE:
        try:
            named = _storages(walk_pickle(reader.at(start, length), reader.effort)[0])
        except PickleDamage:  # perhaps it goes on after what was read
            continue
        except PickleTooLong:
            return 0
        return sum({key: size or 0 for key, size in named}.values())
    return 0


def _check_contents(reader: Reader, directory: Directory, pickles: list[Entry]) -> int:
    """Small members by their checksum, storages by what the pickles say of them; how many storages."""
    by_name = {entry.name: entry for entry in directory.entries}
    small = [e for e in directory.entries if e.size <= _SMALL_MEMBER and e.name.rpartition("/")[0].count("/") == 0]
    for entry in small[:_SMALL_MEMBERS_AT_MOST]:
        read_member(reader, directory, entry, _SMALL_MEMBER)
    storages = 0
    for pickle in pickles:
        for key, length in _named_in(reader, directory, pickle):
            _check_storage(by_name, pickle.name.removesuffix(".pkl") + "/" + key, length)
            storages += 1
    return storages


def _named_in(reader: Reader, directory: Directory, pickle: Entry) -> set[tuple[str, int | None]]:
    """The storages a pickle names; none when it is too long to be walked here, which says nothing against it."""
    data = read_member(reader, directory, pickle, _LARGEST_PICKLE)
    if data is None:
        return set()
    try:
        return set(_storages(walk_pickle(data, reader.effort)[0]))
    except PickleTooLong:
        return set()
    except PickleDamage as error:
        raise Damage(Structure.BROKEN, f"{pickle.name!r} cannot be read: {error}") from error


def _storages(persistent_ids: list[object]) -> Iterator[tuple[str, int | None]]:
    """(key, bytes or None) of every ('storage', type, key, device, count) among the ids."""
    for item in persistent_ids:
        match item:
            case ("storage", GlobalName() as kind, str() as key, device, int() as count) if device != "meta":
                width = BYTES_PER_VALUE.get(kind.name)
                yield key, None if width is None else width * count


def _check_storage(members: dict[str, Entry], name: str, length: int | None) -> None:
    entry = members.get(name)
    if entry is None:
        raise Damage(Structure.BROKEN, f"its pickle names storage {name!r}, and the archive has no such member")
    if length is not None and entry.size != length:
        raise Damage(Structure.BROKEN, f"{name!r} holds {entry.size:,} bytes, its pickle says {length:,}")
