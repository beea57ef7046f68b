"""Reads the small part of Python's notation that numpy writes its headers in; nothing is compiled or evaluated.

Text, whole numbers, True, False, None, and lists, tuples and tables of them. `ast.literal_eval` would do for good
headers; of hostile ones it warns on the terminal, or exhausts the stack of the interpreter.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>-?[0-9]{1,19})L?|(?P<word>[A-Za-z]+)"""
    r"""|(?P<mark>[][(){},:]))\s*""",
    re.ASCII | re.DOTALL,
)
_WORDS = {"True": True, "False": False, "None": None}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 32


class NotALiteral(ValueError):
    """The text is no value of this notation; the message says where."""


def read_literal(text: str) -> object:
    """The one value that `text` is. Tuples and lists both come as tuples. Raises NotALiteral."""
    reading = _Reading(text)
    value = reading.value(0)
    if reading.position != len(text):
        raise NotALiteral(f"something follows at character {reading.position:,}")
    return value


class _Reading:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def value(self, depth: int) -> object:
        kind, token = self._next()
        if kind == "text":
            return _ESCAPED.sub(r"\1", token[1:-1])
        if kind == "number":
            return int(token)
        if token in _WORDS:
            return _WORDS[token]
        if token in _CLOSING and depth < _DEEPEST:
            return self._table(depth + 1) if token == "{" else self._items(_CLOSING[token], depth + 1)
        raise NotALiteral(f"unexpected {token!r} before character {self.position:,}")

    def _items(self, closing: str, depth: int) -> object:
        items: list[object] = []
        comma = False
        while not self._ends(closing):
            items.append(self.value(depth))
            if comma := self._peek() == ",":
                self._next()
        parenthesised = closing == ")" and len(items) == 1 and not comma
        return items[0] if parenthesised else tuple(items)

    def _table(self, depth: int) -> dict[object, object]:
        table: dict[object, object] = {}
        while not self._ends("}"):
            key = self.value(depth)
            if not isinstance(key, str) or self._next()[1] != ":":
                raise NotALiteral(f"no key before character {self.position:,}")
            table[key] = self.value(depth)
            if self._peek() == ",":
                self._next()
        return table

    def _ends(self, closing: str) -> bool:
        if self._peek() != closing:
            return False
        self._next()
        return True

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        return match["mark"] or "" if match else ""

    def _next(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match.lastgroup is None:
            raise NotALiteral(f"nothing readable at character {self.position:,}")
        self.position = match.end()
        return match.lastgroup, match[match.lastgroup]
