"""P17: TensorFlow's SavedModel. `saved_model.pb` whole to its last field, and the variables that it speaks of there.

The variables themselves are a tensor bundle and judged as one. A protocol buffer has no checksum: what lies inside
texts and constants is not seen.
"""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.probes.cursor import Cursor, Ended, Misread
from ckptdeck.core.probes.damages import Damages
from ckptdeck.core.probes.lost_pages import Span, find_lost_pages, zero_tail
from ckptdeck.core.probes.protobuf import BYTES, Field, read_head
from ckptdeck.core.probes.reading import MIB, Damage, Reader
from ckptdeck.core.probes.tree import KindFinding, Tree
from ckptdeck.core.states import Structure
from ckptdeck.core.values import dataclass

FORMAT = "savedmodel"

_MODEL = "saved_model.pb"
_TEXT_MODEL = "saved_model.pbtxt"
_FINGERPRINT = "fingerprint.pb"
_VARIABLES = "variables/variables.index"
_LARGEST_HEAD = 20
"""Bytes of a tag and a length or a number."""
_LARGEST_WALKED = 8 * MIB
_MOST_FIELDS = 200_000

_LOADER_SAYS = 'TensorFlow says "Cannot parse file saved_model.pb" or "SavedModel file does not exist"'
_NO_VARIABLES = 'TensorFlow says "NotFoundError: Unsuccessful TensorSliceReader constructor"'


@dataclass(frozen=True, slots=True)
class _Message:
    """The fields of a message that are messages themselves, as far as they are walked into."""

    fields: dict[int, _Message]


_LEAF = _Message({})
_NODE = _Message({5: _LEAF})
_GRAPH = _Message({1: _NODE, 2: _Message({1: _Message({3: _NODE}), 2: _LEAF}), 4: _LEAF})
_SAVED_OBJECT = _Message({1: _LEAF, 3: _LEAF})
_OBJECTS = _Message({1: _SAVED_OBJECT, 2: _LEAF})
_META_GRAPH = _Message({1: _LEAF, 2: _GRAPH, 3: _LEAF, 4: _LEAF, 5: _LEAF, 6: _LEAF, 7: _OBJECTS})
_SAVED_MODEL = _Message({2: _META_GRAPH})
_META_GRAPHS = 2
_VARIABLE = 7
"""The field of a saved object that makes it a variable."""


def judge_saved_model(tree: Tree) -> KindFinding | None:
    """None without such a directory in the tree. Raises the worst Damage."""
    damages = Damages()
    judged: set[str] = set()
    directories = _directories(tree)
    fields = 0
    for directory in directories:
        if not tree.has(directory + _MODEL):
            damages.add(
                Damage(
                    Structure.INCOMPLETE,
                    f"{directory}{_MODEL} is not there, which holds the model",
                    loader_says=_LOADER_SAYS,
                )
            )
        for name, message in ((_MODEL, _SAVED_MODEL), (_FINGERPRINT, _LEAF)):
            if tree.has(directory + name):
                judged.add(directory + name)
                with damages.heard():
                    fields += _judge_message(tree, directory, name, message)
    damages.raise_worst(judged)
    if not directories:
        return None
    return KindFinding(FORMAT, f"{_MODEL} whole to the last of {counted(fields, 'field')} looked at", frozenset(judged))


def _directories(tree: Tree) -> list[str]:
    """Each with "/" at its end, or ""."""
    found = set()
    for path in tree.files:
        directory, _, name = path.rpartition("/")
        if name in (_MODEL, _FINGERPRINT):
            found.add(directory + "/" if directory else "")
        elif path.endswith(_VARIABLES):
            found.add(path.removesuffix(_VARIABLES))
    return sorted(d for d in found if (not d or d.endswith("/")) and not tree.has(d + _TEXT_MODEL))


def _judge_message(tree: Tree, directory: str, name: str, message: _Message) -> int:
    """How many fields were looked at. Raises Damage."""
    with tree.reader(directory + name) as reader:
        walk = _Walk(reader, directory + name)
        walk.run(message)
    if walk.variables and not tree.inside(directory + "variables"):
        raise Damage(
            Structure.INCOMPLETE,
            f"{directory}{_VARIABLES} is not there, and {name} has {counted(walk.variables, 'variable')}",
            loader_says=_NO_VARIABLES,
        )
    return walk.fields


class _Walk:
    """Goes over the fields of a message in a file, and into those that are messages, while they are few."""

    def __init__(self, reader: Reader, path: str) -> None:
        self.reader = reader
        self.path = path
        self.fields = 0
        self.variables = 0

    def run(self, message: _Message) -> None:
        """Raises Damage where the fields do not end with the file."""
        tops = self._walk_top()
        if message is _SAVED_MODEL and not any(field.number == _META_GRAPHS for field in tops):
            structure = Structure.BROKEN if tops else Structure.CUT
            raise self._damage(structure, f"{self.reader.size:,} bytes without a graph in them")
        if self.reader.size <= _LARGEST_WALKED:
            data = self.reader.at(0, self.reader.size)
            self._walk_into(data, _inner(tops, message))
        whole = Span("the message", 0, self.reader.size)
        if lost := find_lost_pages(self.reader, 0, self.reader.size, lambda _: whole):
            raise self._damage(Structure.SUSPECT, lost)

    def _walk_top(self) -> list[Field]:
        """The outermost fields, whose bytes are stepped over."""
        place = 0
        found: list[Field] = []
        while place < self.reader.size and self.fields < _MOST_FIELDS:
            try:
                field = read_head(Cursor(self.reader.near(place, _LARGEST_HEAD)))
            except Ended:
                raise self._cut(place, place + 1) from None
            except Misread:
                raise self._damage(
                    Structure.BROKEN,
                    f"no field begins at byte {place:,}, where {counted(self.reader.size - place, 'byte')} are left",
                ) from None
            self.fields += 1
            found.append(Field(field.number, field.kind, field.value, place + field.place))
            end = place + field.place + (field.value if field.kind == BYTES else 0)
            if end > self.reader.size:
                raise self._cut(place, end)
            place = end
        return found

    def _cut(self, place: int, end: int) -> Damage:
        if zero_tail(self.reader, 0, self.reader.size) is not None:
            return self._damage(
                Structure.BROKEN, f"its last bytes are zeros, and the field at byte {place:,} should end at {end:,}"
            )
        return self._damage(
            Structure.CUT, f"cut off: {self.reader.size:,} of {end:,} bytes or more, within the field at byte {place:,}"
        )

    def _walk_into(self, data: bytes, waiting: list[tuple[Field, _Message]]) -> None:
        while waiting:
            outer, message = waiting.pop()
            cursor = Cursor(data, outer.place, outer.place + outer.value)
            while cursor.left:
                start = cursor.at
                try:
                    field = read_head(cursor)
                    if field.kind == BYTES:
                        cursor.take(field.value)
                except Misread:
                    found = "zeros" if not data[start] else "something else"
                    raise self._damage(
                        Structure.BROKEN,
                        f"a field should begin at byte {start:,}, inside the one at bytes {outer.place:,} to "
                        f"{outer.place + outer.value:,}; found {found}",
                    ) from None
                self.fields += 1
                if self.fields > _MOST_FIELDS:
                    return
                self.variables += message is _SAVED_OBJECT and field.number == _VARIABLE
                waiting += _inner([field], message)

    def _damage(self, structure: Structure, text: str) -> Damage:
        return Damage(structure, f"{self.path}: {text}", loader_says=_LOADER_SAYS)


def _inner(fields: list[Field], message: _Message) -> list[tuple[Field, _Message]]:
    """Those of the fields that are messages themselves."""
    return [(f, message.fields[f.number]) for f in fields if f.kind == BYTES and f.number in message.fields]
