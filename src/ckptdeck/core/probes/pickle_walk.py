"""Walks the opcodes of a pickle over placeholders: nothing is imported, called or built.

Only text, small integers, small tuples and names of globals are kept, which is what a persistent id is made of. Every
other value is one placeholder. A pickle that cannot be walked to its STOP is damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ckptdeck.core.progress import UNHURRIED, Effort

MOST_STEPS = 6_000_000
_LONGEST_TEXT = 512
_WIDEST_TUPLE = 8
_STEPS_BETWEEN_CHECKS = 1 << 14


class PickleDamage(ValueError):
    """Not a pickle from its first byte to its STOP; the text says where and why."""


class PickleTooLong(Exception):
    """More opcodes than a quick look may walk."""


@dataclass(frozen=True, slots=True)
class GlobalName:
    """The name of a class or function; never looked up."""

    module: str
    name: str


class _Placeholder:
    """Any value whose content does not matter."""


_VALUE = _Placeholder()


def walk_pickle(data: bytes, effort: Effort = UNHURRIED) -> tuple[list[object], int]:
    """The persistent ids named in `data`, in order, and the length up to and with STOP.

    Raises PickleDamage or PickleTooLong.
    """
    walk = _Walk(data)
    steps = 0
    while not walk.stopped:
        steps += 1
        if steps % _STEPS_BETWEEN_CHECKS == 0:
            effort.check()
            if steps > MOST_STEPS:
                raise PickleTooLong
        if walk.position >= len(data):
            raise PickleDamage(f"it ends at byte {len(data):,} without STOP")
        opcode = data[walk.position]
        handler = _HANDLERS.get(opcode)
        if handler is None:
            raise PickleDamage(f"byte {walk.position:,} holds 0x{opcode:02x}, which is no opcode")
        walk.position += 1
        handler(walk)
    return walk.persistent_ids, walk.position


class _Walk:
    """The state of a pickle machine whose values are placeholders."""

    __slots__ = ("data", "marks", "memo", "persistent_ids", "position", "stack", "stopped")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[int, object] = {}
        self.persistent_ids: list[object] = []
        self.stopped = False

    # --- reading arguments

    def take(self, count: int) -> bytes:
        start = self.position
        if count > len(self.data) - start:
            raise PickleDamage(f"byte {start:,} asks for {count:,} more bytes, {len(self.data) - start:,} are left")
        self.position = start + count
        return self.data[start : self.position]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise PickleDamage(f"the text at byte {self.position:,} has no end")
        text = self.data[self.position : end]
        self.position = end + 1
        return text

    # --- the stack

    def push(self, value: object = _VALUE) -> None:
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
        self.push(tuple(values) if len(values) <= _WIDEST_TUPLE else _VALUE)

    def push_text(self, raw: bytes) -> None:
        self.push(raw.decode("utf-8", "surrogateescape") if len(raw) <= _LONGEST_TEXT else _VALUE)

    # --- opcodes with a body of their own

    def push_signed(self, width: int) -> None:
        raw = self.take(width)
        self.push(int.from_bytes(raw, "little", signed=True) if width <= 8 else _VALUE)

    def push_skipped(self, count: int) -> None:
        self.take(count)
        self.push()

    def push_line(self) -> None:
        self.line()
        self.push()

    def push_global(self) -> None:
        module, name = self.line(), self.line()
        self.push(GlobalName(module.decode("utf-8", "replace"), name.decode("utf-8", "replace")))

    def push_stack_global(self) -> None:
        module, name = self.pop(2)
        known = isinstance(module, str) and isinstance(name, str)
        self.push(GlobalName(str(module), str(name)) if known else _VALUE)

    def push_instance(self) -> None:
        self.line()
        self.line()
        self.replace_to_mark()

    def push_persistent(self) -> None:
        self.persistent_ids.append(self.pop()[0])
        self.push()

    def push_persistent_line(self) -> None:
        self.persistent_ids.append(self.line().decode("utf-8", "replace"))
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

    def extend_to_mark(self) -> None:
        self.pop_to_mark()
        self.replace(1)

    def remember(self, key: int) -> None:
        value = self.pop()[0]
        self.memo[key] = value
        self.push(value)

    def recall(self, key: int) -> None:
        if key not in self.memo:
            raise PickleDamage(f"byte {self.position - 1:,} recalls value {key}, which was never stored")
        self.push(self.memo[key])

    def key_line(self) -> int:
        text = self.line()
        if not text.isdigit() or len(text) > 18:
            raise PickleDamage(f"byte {self.position:,} follows something that is no number")
        return int(text)

    def stop(self) -> None:
        self.pop()
        self.stopped = True


_Handler = Callable[[_Walk], object]


def _handlers() -> dict[int, _Handler]:
    table: dict[bytes, _Handler] = {
        b"N": _Walk.push,
        b"\x88": _Walk.push,
        b"\x89": _Walk.push,
        b"}": _Walk.push,
        b"]": _Walk.push,
        b"\x8f": _Walk.push,
        b"\x97": _Walk.push,
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
        b"I": _Walk.push_line,
        b"L": _Walk.push_line,
        b"F": _Walk.push_line,
        b"S": _Walk.push_line,
        b"V": _Walk.push_line,
        b"U": lambda w: w.push_text(w.take(w.number(1))),
        b"T": lambda w: w.push_text(w.take(w.number(4))),
        b"X": lambda w: w.push_text(w.take(w.number(4))),
        b"\x8c": lambda w: w.push_text(w.take(w.number(1))),
        b"\x8d": lambda w: w.push_text(w.take(w.number(8))),
        b"C": lambda w: w.push_skipped(w.number(1)),
        b"B": lambda w: w.push_skipped(w.number(4)),
        b"\x8e": lambda w: w.push_skipped(w.number(8)),
        b"\x96": lambda w: w.push_skipped(w.number(8)),
        b"c": _Walk.push_global,
        b"\x93": _Walk.push_stack_global,
        b"i": _Walk.push_instance,
        b"Q": _Walk.push_persistent,
        b"P": _Walk.push_persistent_line,
        b"0": _Walk.discard,
        b"1": _Walk.pop_to_mark,
        b"2": _Walk.duplicate,
        b"(": _Walk.mark,
        b"t": lambda w: w.push_tuple(w.pop_to_mark()),
        b"\x85": lambda w: w.push_tuple(w.pop(1)),
        b"\x86": lambda w: w.push_tuple(w.pop(2)),
        b"\x87": lambda w: w.push_tuple(w.pop(3)),
        b"l": _Walk.replace_to_mark,
        b"d": _Walk.replace_to_mark,
        b"o": _Walk.replace_to_mark,
        b"\x91": _Walk.replace_to_mark,
        b"a": lambda w: w.replace(2),
        b"s": lambda w: w.replace(3),
        b"e": _Walk.extend_to_mark,
        b"u": _Walk.extend_to_mark,
        b"\x90": _Walk.extend_to_mark,
        b"R": lambda w: w.replace(2),
        b"b": lambda w: w.replace(2),
        b"\x81": lambda w: w.replace(2),
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
        b"\x95": lambda w: w.number(8),
        b".": _Walk.stop,
    }
    return {opcode[0]: handler for opcode, handler in table.items()}


_HANDLERS = _handlers()
