"""The `.metadata` of torch DCP: a pickle that says which bytes of which part each piece of a tensor is.

torch reads it with plain `pickle.load`. Here it is walked: nothing is imported or built, and only the tables that say
where something lies are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.core.probes.lost_pages import zero_tail
from ckptdeck.core.probes.pickle_bytes import PickleDamage, PickleEnds
from ckptdeck.core.probes.pickle_walk import VALUE, GlobalName, PickleTooLong, PickleWalk
from ckptdeck.core.probes.reading import MIB, Damage, Reader, TooLarge
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

_LARGEST = 16 * MIB
"""Some sixty thousand pieces, which take seconds to walk."""

_METADATA, _PLACE, _PIECE_OF, _TENSOR, _CHUNK = (
    "Metadata",
    "_StorageInfo",
    "MetadataIndex",
    "TensorStorageMetadata",
    "ChunkStorageMetadata",
)
_KEPT = frozenset({_METADATA, _PLACE, _PIECE_OF, _TENSOR, _CHUNK, "BytesStorageMetadata"})
_MODULES = ("torch.distributed.checkpoint.", "torch.distributed._shard.checkpoint.")
_TABLES = ("state_dict_metadata", "storage_data")
_LISTS = ("chunks",)

_CUT_MESSAGE = 'torch says "pickle data was truncated" or "Ran out of input"'
_DAMAGED_MESSAGE = "torch says \"invalid load key, '\\x00'\", another UnpicklingError, or KeyError for a piece"


@dataclass(frozen=True, slots=True)
class Piece:
    """Where one piece of a tensor, or one other value, lies."""

    name: str
    part: str
    """File, relative to the directory of `.metadata`."""
    offset: int
    length: int
    packed: bool
    """Written through a transformation, such as a compression: not as torch.save leaves it."""

    @property
    def end(self) -> int:
        return self.offset + self.length


def read_pieces(reader: Reader, path: str) -> list[Piece]:
    """Every piece. Raises Damage; TooLarge for what is more than a quick look reads or not in torch's own form."""
    if reader.size > _LARGEST:
        raise TooLarge
    walk = _MetadataWalk(reader.at, 0, reader.size)
    try:
        walk.run(reader.effort)
        pieces = list(_pieces(walk.result))
        lost = _piece_without_place(walk.result)
    except PickleTooLong as error:
        raise TooLarge from error
    except PickleDamage as error:
        raise _damage(reader, path, error) from error
    if lost:
        raise Damage(Structure.SUSPECT, f"{path}: {lost}", loader_says='torch says "KeyError" if it loads that tensor')
    if walk.position < reader.size:
        raise Damage(
            Structure.SUSPECT,
            f"{path}: {reader.size - walk.position:,} bytes too many: its pickle ends at byte {walk.position:,}, "
            f"the file at {reader.size:,}",
            loader_says="torch says nothing and loads the right values; something else was appended",
        )
    return pieces


def _damage(reader: Reader, path: str, error: PickleDamage) -> Damage:
    zeros = zero_tail(reader, 0, reader.size)
    if zeros is not None:
        text = f"the last {reader.size - zeros:,} of {reader.size:,} bytes read as zeros; {error}"
        return Damage(Structure.BROKEN, f"{path}: {text}", loader_says=_DAMAGED_MESSAGE)
    if isinstance(error, PickleEnds):
        text = f"cut off at {reader.size:,} bytes: {error}"
        return Damage(Structure.CUT, f"{path}: {text}", loader_says=_CUT_MESSAGE)
    return Damage(Structure.BROKEN, f"{path}: {error}", loader_says=_DAMAGED_MESSAGE)


class _Made:
    """An object of one of the kept classes: its name and its fields."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.fields: dict[str, object] = {}

    def learn(self, state: object) -> None:
        if isinstance(state, _Table):
            self.fields.update((key, value) for key, value in state.pairs if isinstance(key, str))


class _Offsets(tuple[int, ...]):
    """A torch.Size: integers only, so that it can be compared and hashed whatever the pickle holds."""

    __slots__ = ()


class _Table:
    """A dictionary, as pairs: its keys need not be hashable here."""

    def __init__(self) -> None:
        self.pairs: list[tuple[object, object]] = []


class _MetadataWalk(PickleWalk):
    """Keeps the objects and tables of DCP. What no pickle of it does is damage: a flipped bit rarely ends the walk."""

    def make_object(self) -> None:
        kind, arguments = self.pop(2)
        self._require(kind is VALUE or isinstance(kind, GlobalName), "makes an object of something that is no class")
        self._require(arguments is VALUE or isinstance(arguments, tuple), "makes an object of no arguments")
        known = isinstance(kind, GlobalName) and kind.name in _KEPT and kind.module.startswith(_MODULES)
        self.push(_Made(kind.name) if known and isinstance(kind, GlobalName) else VALUE)

    def call(self) -> None:
        function, arguments = self.pop(2)
        self._require(function is VALUE or isinstance(function, GlobalName), "calls something that is no function")
        self._require(arguments is VALUE or isinstance(arguments, tuple), "calls a function with no arguments")
        match function, arguments:
            case GlobalName(module="torch", name="Size"), (tuple() as lengths,) if all(map(_is_count, lengths)):
                self.push(_Offsets(lengths))
            case _:
                self.push()

    def give_state(self) -> None:
        target, state = self.pop(2)
        self._require(target is VALUE or isinstance(target, _Made), "gives a state to something that is no object")
        if isinstance(target, _Made):
            target.learn(state)
        self.push(target)

    def make_table(self) -> None:
        above = self.stack[-1] if self.stack else None
        self.push(_Table() if isinstance(above, _Made) or above in _TABLES else VALUE)

    def set_item(self) -> None:
        table, key, value = self.pop(3)
        self._fill(table, [key, value])

    def set_items_to_mark(self) -> None:
        values = self.pop_to_mark()
        self._fill(self.pop()[0], values)

    def make_list(self) -> None:
        self.push([] if self.stack and self.stack[-1] in _LISTS else VALUE)

    def append(self) -> None:
        target, value = self.pop(2)
        self._extend(target, [value])

    def extend_to_mark(self) -> None:
        values = self.pop_to_mark()
        self._extend(self.pop()[0], values)

    def _fill(self, table: object, values: list[object]) -> None:
        self._require(len(values) % 2 == 0, "puts a key without a value into a table")
        self._require(table is VALUE or isinstance(table, _Table), "fills something that is no table")
        if isinstance(table, _Table):
            table.pairs.extend(zip(values[::2], values[1::2], strict=True))
        self.push(table)

    def _extend(self, target: object, values: list[object]) -> None:
        self._require(target is VALUE or isinstance(target, list), "appends to something that is no list")
        if isinstance(target, list):
            target.extend(values)
        self.push(target)

    def _require(self, fits: bool, what: str) -> None:
        if not fits:
            raise PickleDamage(f"byte {self.position - 1:,} {what}")


def _pieces(metadata: object) -> Iterator[Piece]:
    """Raises PickleDamage where a place is none, TooLarge for a document in another form."""
    for key, place in _table(metadata, "storage_data"):
        if not isinstance(key, _Made) or not isinstance(place, _Made) or place.kind != _PLACE:
            raise PickleDamage("a piece has no place in a file")
        match place.fields:
            case {"relative_path": str() as part, "offset": int() as offset, "length": int() as length}:
                pass
            case _:
                raise PickleDamage("a place has no file, offset or length")
        if not part or "\0" in part or offset < 0 or length < 0:
            raise PickleDamage(f"{length:,} bytes at byte {offset:,} of {part!r} are no place")
        yield Piece(_name(key)[0], part, offset, length, "transform_descriptors" in place.fields)


def _piece_without_place(metadata: object) -> str:
    """The first piece that a tensor lists and no file has, as a sentence; "" for none."""
    places = {_name(key) for key, _ in _table(metadata, "storage_data")}
    for name, tensor in _table(metadata, "state_dict_metadata"):
        if isinstance(tensor, _Made) and isinstance(name, str):
            for offsets in _offsets(tensor):
                if (name, offsets) not in places:
                    return f"{name!r} has a piece{f' at {offsets}' if offsets else ''} that lies in no part"
    return ""


def _offsets(tensor: _Made) -> Iterator[_Offsets | None]:
    """Where in the tensor its pieces begin; None for a value that is no tensor."""
    if tensor.kind != _TENSOR:
        yield None
        return
    chunks = tensor.fields.get("chunks")
    for chunk in chunks if isinstance(chunks, list) else []:
        if isinstance(chunk, _Made) and chunk.kind == _CHUNK:
            offsets = chunk.fields.get("offsets")
            if isinstance(offsets, _Offsets):
                yield offsets


def _name(key: object) -> tuple[str, _Offsets | None]:
    """(name, offsets) of a piece; the number that the key holds besides tells no pieces apart."""
    if not isinstance(key, _Made):
        return "", None
    name, offsets = key.fields.get("fqn"), key.fields.get("offset")
    return name if isinstance(name, str) else "", offsets if isinstance(offsets, _Offsets) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int)


def _table(metadata: object, name: str) -> list[tuple[object, object]]:
    if not isinstance(metadata, _Made) or metadata.kind != _METADATA:
        raise TooLarge
    table = metadata.fields.get(name)
    return table.pairs if isinstance(table, _Table) else []
