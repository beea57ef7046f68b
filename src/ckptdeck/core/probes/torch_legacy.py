"""P2: what torch.save wrote before 1.6, and still does on request. Five pickles, then every storage behind its length.

Proves the exact size, and that the lengths in the file are those of the pickles. Blind to bytes inside one storage;
there is no checksum.
"""

from __future__ import annotations

from ckptdeck.core.probes.lost_pages import Span, find_in, find_lost_pages
from ckptdeck.core.probes.pickle_bytes import PickleDamage, PickleEnds
from ckptdeck.core.probes.pickle_walk import VALUE, GlobalName, PickleTooLong, PickleWalk
from ckptdeck.core.probes.reading import Damage, Reader, TooLarge, is_zero
from ckptdeck.core.probes.torch_storages import BYTES_PER_VALUE
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "torch-legacy"
MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")

_PICKLES = ("magic number", "version", "description of the machine", "objects", "list of storages")
_OBJECTS_AT = 3
_COUNT_BYTES = 8
_MOST_COUNTS_LOOKED_AT = 4096

_CUT_MESSAGE = (
    'torch.load says "unexpected EOF, expected N more bytes. The file might be corrupted.", or "Ran out of input"'
)
_COUNT_MESSAGE = (
    'torch.load says "storage has wrong byte size: expected %ld got %ld" and a number that is two numbers in one'
)
_PICKLE_MESSAGE = 'torch.load says "invalid load key" or "pickle data was truncated"'
_SILENT_MESSAGE = "torch.load says nothing and loads the zeros"
_APPENDED_MESSAGE = "torch.load says nothing and loads the right values; something else was appended"


@dataclass(frozen=True, slots=True)
class _Storage:
    """One storage: `begin` is where its length stands, the values follow it up to `end`."""

    key: str
    count: int
    begin: int
    end: int


def probe_torch_legacy(reader: Reader) -> StructureFinding:
    """Whether pickles, lengths and size agree, and whether pages look lost. Raises TooLarge."""
    try:
        named, keys, start = _read_pickles(reader)
        storages = _lay_out(named, keys, start)
        if storages is None:
            return StructureFinding(Structure.UNKNOWN, FORMAT, "a storage in it is of a type whose size is not known")
        end = storages[-1].end if storages else start
        _check_counts(reader, storages)
        _check_end(reader, storages, end)
    except Damage as damage:
        return damage.finding(FORMAT)
    return StructureFinding(
        Structure.OK,
        FORMAT,
        f"{end:,} bytes, exactly what its {len(storages):,} storages need; values not checked",
        expected_size=end,
        proof="exact-size",
    )


def storage_spans(reader: Reader) -> list[Span]:
    """The storages in the order of their place, without the lengths before them. Raises Damage, TooLarge."""
    named, keys, start = _read_pickles(reader)
    return [_values_of(storage) for storage in _lay_out(named, keys, start) or []]


class _KeysWalk(PickleWalk):
    """Keeps the outermost list."""

    def make_list(self) -> None:
        empty: list[object] = []
        self.push(VALUE if self.stack else empty)

    def append(self) -> None:
        target, value = self.pop(2)
        if isinstance(target, list):
            target.append(value)
        self.push(target if isinstance(target, list) else VALUE)

    def extend_to_mark(self) -> None:
        values = self.pop_to_mark()
        target = self.pop()[0]
        if isinstance(target, list):
            target.extend(values)
        self.push(target if isinstance(target, list) else VALUE)


def _read_pickles(reader: Reader) -> tuple[dict[str, tuple[str, int]], list[str], int]:
    """(type and count of each storage by its key, the keys in the order they lie in the file, where they begin)."""
    place, named = 0, list[object]()
    walk = PickleWalk(reader.at, 0, reader.size)
    for index, what in enumerate(_PICKLES):
        walk = (_KeysWalk if what == _PICKLES[-1] else PickleWalk)(reader.at, place, reader.size)
        try:
            walk.run(reader.effort)
        except PickleTooLong as error:
            raise TooLarge from error
        except PickleEnds as error:
            raise Damage(
                Structure.CUT,
                f"cut off at {reader.size:,} bytes, within its {what}: {error}",
                loader_says=_CUT_MESSAGE,
            ) from error
        except PickleDamage as error:
            raise Damage(
                Structure.BROKEN, f"its {what} cannot be read: {error}", loader_says=_PICKLE_MESSAGE
            ) from error
        place = walk.position
        if index == _OBJECTS_AT:
            named = walk.persistent_ids
    if not isinstance(walk.result, list):
        raise Damage(
            Structure.BROKEN,
            f"the list of its storages, which ends at byte {place:,}, is no list",
            loader_says=_PICKLE_MESSAGE,
        )
    return _storages(named), [key for key in walk.result if isinstance(key, str)], place


def _storages(persistent_ids: list[object]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for item in persistent_ids:
        match item:
            case ("storage", GlobalName() as kind, str() as key, _, int() as count, *_) if count >= 0:
                found[key] = (kind.name, count)
    return found


def _lay_out(named: dict[str, tuple[str, int]], keys: list[str], start: int) -> list[_Storage] | None:
    """The storages in their places; None when the size of one cannot be told."""
    unlisted = named.keys() - set(keys)
    unnamed = set(keys) - named.keys()
    if unlisted or unnamed:
        key = min(unlisted or unnamed)
        raise Damage(
            Structure.BROKEN,
            f"storage {key!r} is {'used, but not listed' if unlisted else 'listed, but not used'}",
            loader_says=_PICKLE_MESSAGE,
        )
    storages: list[_Storage] = []
    for key in keys:
        kind, count = named[key]
        width = BYTES_PER_VALUE.get(kind)
        if width is None:
            return None
        end = start + _COUNT_BYTES + count * width
        storages.append(_Storage(key, count, start, end))
        start = end
    return storages


def _values_of(storage: _Storage) -> Span:
    return Span(f"storage {storage.key}", storage.begin + _COUNT_BYTES, storage.end)


def _check_counts(reader: Reader, storages: list[_Storage]) -> None:
    """Compares the lengths that stand before the storages, of up to 4096 spread over the file."""
    for storage in storages[:: max(1, -(-len(storages) // _MOST_COUNTS_LOOKED_AT))]:
        raw = reader.at(storage.begin, _COUNT_BYTES)
        if len(raw) == _COUNT_BYTES and int.from_bytes(raw, "little") != storage.count:
            found = "zeros" if is_zero(raw) else f"{int.from_bytes(raw, 'little'):,}"
            raise Damage(
                Structure.BROKEN,
                f"storage {storage.key!r} of {storage.count:,} values should begin with that number at byte "
                f"{storage.begin:,}; found {found}",
                loader_says=_COUNT_MESSAGE,
            )


def _check_end(reader: Reader, storages: list[_Storage], end: int) -> None:
    if reader.size < end:
        raise Damage(
            Structure.CUT,
            f"cut off: {reader.size:,} of {end:,} bytes, {end - reader.size:,} missing",
            expected=end,
            loader_says=_CUT_MESSAGE,
        )
    spans = [_values_of(storage) for storage in storages]
    if lost := find_lost_pages(reader, 0, end, find_in(spans)):
        raise Damage(Structure.SUSPECT, lost, expected=end, loader_says=_SILENT_MESSAGE)
    if reader.size > end:
        raise Damage(
            Structure.SUSPECT,
            f"{reader.size - end:,} bytes too many: the last storage ends at byte {end:,}, the file at {reader.size:,}",
            expected=end,
            loader_says=_APPENDED_MESSAGE,
        )
