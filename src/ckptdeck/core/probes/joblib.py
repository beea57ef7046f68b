"""P11: joblib. A pickle in which every array is a wrapper whose bytes lie right after it, among the opcodes.

The wrapper says shape and type, so the walk steps over the array and goes on behind it. Arrays of objects are a pickle
of their own at that place.
"""

from __future__ import annotations

from ckptdeck.core.probes.array_types import ArrayType, count_values, read_type
from ckptdeck.core.probes.pickle_bytes import PickleDamage
from ckptdeck.core.probes.pickle_walk import VALUE, GlobalName, PickleWalk
from ckptdeck.core.progress import Effort

_WRAPPER_MODULE = "joblib.numpy_pickle"
_WRAPPER_NAME = "NumpyArrayWrapper"
_SIZE_AT, _FLAGS_AT = 5, 7
"""Places in the state that numpy pickles of a type."""
_HOLDS_OBJECTS = 1


class ArrayOfUnknownSize(Exception):
    """A wrapper whose array may be of any length, so that nothing behind it can be found."""


class _Wrapper:
    """A wrapper that waits for its state."""


class _Type:
    """A numpy type: its notation, then what its state adds."""

    def __init__(self, notation: object) -> None:
        self.type = read_type(notation)

    def learn(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) <= _FLAGS_AT:
            return
        size, flags = state[_SIZE_AT], state[_FLAGS_AT]
        width = size if isinstance(size, int) and size > 0 else self.type.width
        objects = isinstance(flags, int) and bool(flags & _HOLDS_OBJECTS)
        self.type = ArrayType(width, self.type.objects or objects)


class JoblibWalk(PickleWalk):
    """Walks any pickle, and steps over the arrays of joblib's. Raises ArrayOfUnknownSize besides."""

    arrays = 0

    def run(self, effort: Effort) -> None:
        self.effort = effort
        super().run(effort)

    def make_table(self) -> None:
        self.push({} if self._above_wrapper() else VALUE)

    def table_to_mark(self) -> None:
        values = self.pop_to_mark()
        self.push(dict(_text_pairs(values)) if self._above_wrapper() else VALUE)

    def set_item(self) -> None:
        table, key, value = self.pop(3)
        if isinstance(table, dict):
            table.update(_text_pairs([key, value]))
        self.push(table if isinstance(table, dict) else VALUE)

    def set_items_to_mark(self) -> None:
        values = self.pop_to_mark()
        table = self.pop()[0]
        if isinstance(table, dict):
            table.update(_text_pairs(values))
        self.push(table if isinstance(table, dict) else VALUE)

    def make_object(self) -> None:
        kind, _ = self.pop(2)
        self.push(_Wrapper() if _is_wrapper(kind) else VALUE)

    def call(self) -> None:
        function, arguments = self.pop(2)
        match function, arguments:
            case GlobalName(module="numpy", name="dtype"), (notation, *_):
                self.push(_Type(notation))
            case GlobalName(name="_reconstructor"), (kind, *_) if _is_wrapper(kind):
                self.push(_Wrapper())
            case _:
                self.push()

    def give_state(self) -> None:
        target, state = self.pop(2)
        match target, state:
            case _Type(), _:
                target.learn(state)
                self.push(target)
            case _Wrapper(), dict():
                self.push()
                self._step_over_array(state)
            case _:
                self.push()

    def _above_wrapper(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1], _Wrapper)

    def _step_over_array(self, state: dict[object, object]) -> None:
        kind, values = state.get("dtype"), count_values(state.get("shape"))
        if not isinstance(kind, _Type) or values is None:
            raise ArrayOfUnknownSize
        self.arrays += 1
        if kind.type.objects:
            self._walk_objects()
            return
        if kind.type.width is None:
            raise ArrayOfUnknownSize
        alignment = state.get("numpy_array_alignment_bytes")
        if isinstance(alignment, int):
            self._step_over_filler(alignment)
        self.skip(values * kind.type.width)

    def _step_over_filler(self, alignment: int) -> None:
        place = self.position
        filler = self.take(self.number(1))
        if len(filler) > alignment or filler.strip(b"\xff"):
            raise PickleDamage(f"the filler before the array at byte {place:,} is not what joblib writes")

    def _walk_objects(self) -> None:
        inner = PickleWalk(self.fetch, self.position, self.end)
        inner.steps = self.steps
        inner.run(self.effort)
        self.steps = inner.steps
        self.skip(inner.position - self.position)


def _is_wrapper(kind: object) -> bool:
    return isinstance(kind, GlobalName) and kind.name == _WRAPPER_NAME and kind.module.endswith(_WRAPPER_MODULE)


def _text_pairs(values: list[object]) -> list[tuple[str, object]]:
    pairs = zip(values[::2], values[1::2], strict=False)
    return [(key, value) for key, value in pairs if isinstance(key, str)]
