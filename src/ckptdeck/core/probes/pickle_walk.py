"""Walks the opcodes of a pickle over placeholders: nothing is imported, called or built.

Only text, small integers, small tuples and names of globals are kept, which is what a persistent id is made of. Every
other value is one placeholder. A pickle that cannot be walked to its STOP is damaged.
"""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.core.probes.pickle_bytes import Fetch, PickleBytes, PickleDamage
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.values import dataclass

MOST_STEPS = 6_000_000
_LONGEST_TEXT = 512
_WIDEST_TUPLE = 64
"""numpy's limit of dimensions."""
_STEPS_BETWEEN_CHECKS = 1 << 14


class PickleTooLong(Exception):
    """More opcodes than a quick look may walk."""


@dataclass(frozen=True, slots=True)
class GlobalName:
    """The name of a class or function; never looked up."""

    module: str
    name: str


class _Placeholder:
    """Any value whose content does not matter."""


VALUE = _Placeholder()


def walk_pickle(data: bytes, effort: Effort = UNHURRIED) -> tuple[list[object], int]:
    """The persistent ids named in `data`, in order, and the length up to and with STOP.

    Raises PickleDamage or PickleTooLong.
    """
    walk = PickleWalk(lambda offset, length: data[offset : offset + length], 0, len(data))
    walk.run(effort)
    return walk.persistent_ids, walk.position


class PickleWalk(PickleBytes):
    """A pickle machine whose values are placeholders; formats that need more override what becomes of a value."""

    def __init__(self, fetch: Fetch, start: int, end: int) -> None:
        super().__init__(fetch, start, end)
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[int, object] = {}
        self.persistent_ids: list[object] = []
        self.stopped = False
        self.steps = 0
        self.result: object = None
        """What STOP found."""

    def run(self, effort: Effort) -> None:
        """Walks up to and with STOP. Raises PickleDamage, PickleTooLong, Cancelled."""
        while not self.stopped:
            self.steps += 1
            if self.steps % _STEPS_BETWEEN_CHECKS == 0:
                effort.check()
                if self.steps > MOST_STEPS:
                    raise PickleTooLong
            if self.at >= len(self.window):
                self.fill()
            opcode = self.window[self.at]
            handler = _HANDLERS.get(opcode)
            if handler is None:
                raise PickleDamage(f"byte {self.position:,} holds 0x{opcode:02x}, which is no opcode")
            self.at += 1
            handler(self)

    def begin_another(self) -> None:
        """Makes ready for a pickle that follows this one; the steps of both count."""
        self.stack, self.marks, self.memo, self.stopped = [], [], {}, False

    # --- the stack

    def push(self, value: object = VALUE) -> None:
        self.stack.append(value)

    def pop(self, count: int = 1) -> list[object]:
        floor = self.marks[-1] if self.marks else 0
        if len(self.stack) - count < floor:
            raise PickleDamage(f"byte {self.position - 1:,} uses a value that is not there")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def pop_to_mark(self) -> list[object]:
        if not self.marks:
            raise PickleDamage(f"byte {self.position - 1:,} looks for a mark that is not there")
        start = self.marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def replace(self, count: int) -> None:
        self.pop(count)
        self.push()

    def replace_to_mark(self) -> None:
        self.pop_to_mark()
        self.push()

    def push_tuple(self, values: list[object]) -> None:
        self.push(tuple(values) if len(values) <= _WIDEST_TUPLE else VALUE)

    def push_text(self, length: int) -> None:
        if length <= _LONGEST_TEXT:
            self.push(self.take(length).decode("utf-8", "surrogateescape"))
        else:
            self.push_skipped(length)

    # --- opcodes with a body of their own

    def push_signed(self, width: int) -> None:
        if width <= 8:
            self.push(int.from_bytes(self.take(width), "little", signed=True))
        else:
            self.push_skipped(width)

    def push_skipped(self, count: int) -> None:
        self.skip(count)
        self.push()

    def push_text_line(self) -> None:
        """Text of protocol 0, as a repr in quotes or bare; escapes are left as they are."""
        text = self.line(_LONGEST_TEXT + 1)
        self.push(text.strip(b"'\"").decode("utf-8", "surrogateescape") if len(text) <= _LONGEST_TEXT else VALUE)

    def push_number_line(self) -> None:
        place = self.position
        text = self.line(_LONGEST_TEXT).rstrip(b"L")
        if not text.removeprefix(b"-").isdigit():
            raise PickleDamage(f"the text at byte {place:,} is no number")
        self.push(int(text) if len(text) <= 18 else VALUE)

    def push_skipped_line(self) -> None:
        self.line(0)
        self.push()

    def push_global(self) -> None:
        module, name = self.line(_LONGEST_TEXT), self.line(_LONGEST_TEXT)
        self.push(GlobalName(module.decode("utf-8", "replace"), name.decode("utf-8", "replace")))

    def push_stack_global(self) -> None:
        module, name = self.pop(2)
        known = isinstance(module, str) and isinstance(name, str)
        self.push(GlobalName(str(module), str(name)) if known else VALUE)

    def push_instance(self) -> None:
        self.line(0)
        self.line(0)
        self.replace_to_mark()

    def push_persistent(self) -> None:
        self.persistent_ids.append(self.pop()[0])
        self.push()

    def push_persistent_line(self) -> None:
        self.persistent_ids.append(self.line(_LONGEST_TEXT).decode("utf-8", "replace"))
        self.push()

    def discard(self) -> None:
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.pop()

    def duplicate(self) -> None:
        self.stack.extend(self.pop() * 2)

    def mark(self) -> None:
        self.marks.append(len(self.stack))

    def frame(self, length: int) -> None:
        self.require(length)

    # --- what becomes of values; containers and objects are one placeholder each

    def make_list(self) -> None:
        self.push()

    def make_table(self) -> None:
        self.push()

    def append(self) -> None:
        self.replace(2)

    def set_item(self) -> None:
        self.replace(3)

    def extend_to_mark(self) -> None:
        self.pop_to_mark()
        self.replace(1)

    def set_items_to_mark(self) -> None:
        self.pop_to_mark()
        self.replace(1)

    def table_to_mark(self) -> None:
        self.replace_to_mark()

    def list_to_mark(self) -> None:
        self.replace_to_mark()

    def call(self) -> None:
        self.replace(2)

    def make_object(self) -> None:
        self.replace(2)

    def give_state(self) -> None:
        self.replace(2)

    # --- the rest of the machine

    def remember(self, key: int) -> None:
        value = self.pop()[0]
        self.memo[key] = value
        self.push(value)

    def recall(self, key: int) -> None:
        if key not in self.memo:
            raise PickleDamage(f"byte {self.position - 1:,} recalls value {key}, which was never stored")
        self.push(self.memo[key])

    def key_line(self) -> int:
        text = self.line(_LONGEST_TEXT)
        if not text.isdigit() or len(text) > 18:
            raise PickleDamage(f"byte {self.position:,} follows something that is no number")
        return int(text)

    def stop(self) -> None:
        self.result = self.pop()[0]
        self.stopped = True


_Handler = Callable[[PickleWalk], object]


def _handlers() -> dict[int, _Handler]:
    table: dict[bytes, _Handler] = {
        b"N": PickleWalk.push,
        b"\x88": PickleWalk.push,
        b"\x89": PickleWalk.push,
        b"}": lambda w: w.make_table(),
        b"]": lambda w: w.make_list(),
        b"\x8f": PickleWalk.push,
        b"\x97": PickleWalk.push,
        b")": lambda w: w.push(()),
        b"G": lambda w: w.push_skipped(8),
        b"\x82": lambda w: w.push_skipped(1),
        b"\x83": lambda w: w.push_skipped(2),
        b"\x84": lambda w: w.push_skipped(4),
        b"K": lambda w: w.push(w.number(1)),
        b"M": lambda w: w.push(w.number(2)),
        b"J": lambda w: w.push_signed(4),
        b"\x8a": lambda w: w.push_signed(w.number(1)),
        b"\x8b": lambda w: w.push_signed(w.number(4)),
        b"I": PickleWalk.push_number_line,
        b"L": PickleWalk.push_number_line,
        b"F": PickleWalk.push_skipped_line,
        b"S": PickleWalk.push_text_line,
        b"V": PickleWalk.push_text_line,
        b"U": lambda w: w.push_text(w.number(1)),
        b"T": lambda w: w.push_text(w.number(4)),
        b"X": lambda w: w.push_text(w.number(4)),
        b"\x8c": lambda w: w.push_text(w.number(1)),
        b"\x8d": lambda w: w.push_text(w.number(8)),
        b"C": lambda w: w.push_skipped(w.number(1)),
        b"B": lambda w: w.push_skipped(w.number(4)),
        b"\x8e": lambda w: w.push_skipped(w.number(8)),
        b"\x96": lambda w: w.push_skipped(w.number(8)),
        b"c": PickleWalk.push_global,
        b"\x93": PickleWalk.push_stack_global,
        b"i": PickleWalk.push_instance,
        b"Q": PickleWalk.push_persistent,
        b"P": PickleWalk.push_persistent_line,
        b"0": PickleWalk.discard,
        b"1": PickleWalk.pop_to_mark,
        b"2": PickleWalk.duplicate,
        b"(": PickleWalk.mark,
        b"t": lambda w: w.push_tuple(w.pop_to_mark()),
        b"\x85": lambda w: w.push_tuple(w.pop(1)),
        b"\x86": lambda w: w.push_tuple(w.pop(2)),
        b"\x87": lambda w: w.push_tuple(w.pop(3)),
        b"l": lambda w: w.list_to_mark(),
        b"d": lambda w: w.table_to_mark(),
        b"o": PickleWalk.replace_to_mark,
        b"\x91": PickleWalk.replace_to_mark,
        b"a": lambda w: w.append(),
        b"s": lambda w: w.set_item(),
        b"e": lambda w: w.extend_to_mark(),
        b"u": lambda w: w.set_items_to_mark(),
        b"\x90": PickleWalk.extend_to_mark,
        b"R": lambda w: w.call(),
        b"b": lambda w: w.give_state(),
        b"\x81": lambda w: w.make_object(),
        b"\x92": lambda w: w.replace(3),
        b"\x98": lambda w: w.replace(1),
        b"q": lambda w: w.remember(w.number(1)),
        b"r": lambda w: w.remember(w.number(4)),
        b"p": lambda w: w.remember(w.key_line()),
        b"\x94": lambda w: w.remember(len(w.memo)),
        b"h": lambda w: w.recall(w.number(1)),
        b"j": lambda w: w.recall(w.number(4)),
        b"g": lambda w: w.recall(w.key_line()),
        b"\x80": lambda w: w.number(1),
        b"\x95": lambda w: w.frame(w.number(8)),
        b".": PickleWalk.stop,
    }
    return {opcode[0]: handler for opcode, handler in table.items()}


_HANDLERS = _handlers()
