"""Names of keys: what may be written in a file, what Textual calls it, and what a person reads.

A terminal sends bytes, not keys: some keys share theirs, and others have none. Only what arrives as itself on a common
terminal has a name here.
"""

from __future__ import annotations

import unicodedata
from string import ascii_letters, ascii_lowercase, digits, punctuation

from ckptdeck.core.safe_text import visible

_MOVING = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete")
_FUNCTIONS = tuple(f"f{number}" for number in range(1, 25))
_PLAIN = ("escape", "enter", "space", "backspace", *_MOVING, *_FUNCTIONS)
_WITH_CTRL = "abdefgjklnoprstuvwxyz"
NAMED = frozenset(
    {
        *_PLAIN,
        *(f"{shift}+{key}" for shift in ("shift", "ctrl", "ctrl+shift") for key in _MOVING),
        *(f"ctrl+{key}" for key in _FUNCTIONS),
        *(f"ctrl+{letter}" for letter in _WITH_CTRL),
        *(f"alt+{letter}" for letter in ascii_lowercase + digits),
    }
)
"""Keys that have no character, by Textual's names."""

_UNBINDABLE = {
    "tab": "it moves the focus",
    "shift+tab": "it moves the focus",
    "ctrl+c": "it copies what is selected, or says how to quit",
    "ctrl+q": "it always quits",
    "ctrl+h": "terminals send the same for backspace",
    "ctrl+i": "terminals send the same for tab",
    "ctrl+m": "terminals send the same for enter",
}
_ALLOWED = (
    "Allowed: a letter, a digit, a sign of ASCII; escape, enter, space, backspace, f1 to f24 (also with ctrl+);"
    " up, down, left, right, home, end, pageup, pagedown, insert, delete (also with shift+, ctrl+ and ctrl+shift+);"
    " ctrl+ or alt+ with a letter"
)
_ALIASES = {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown", "del": "delete", "ins": "insert"}
_SHORT = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""What Textual calls differently from Unicode."""
_SHOWN = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "delete": "del", "insert": "ins"}


def _name_of(character: str) -> str:
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return _SHORT.get(name, name)


_CHARACTERS = {_name_of(character): character for character in punctuation}


def key_name(written: str) -> str:
    """Textual's name of the key that is `written` as a character (`?`) or by name (`question_mark`, `esc`, `ctrl+t`).

    Raises ValueError, which says why there is none in a sentence.
    """
    if len(written) == 1 and (written.isalnum() or written in punctuation):
        return _name_of(written)
    *modifiers, key = written.lower().split("+")
    name = "+".join([*modifiers, _ALIASES.get(key, key)])
    if name in NAMED or name in _CHARACTERS:
        return name
    if name in _UNBINDABLE:
        raise ValueError(f"{name} cannot be bound: {_UNBINDABLE[name]}")
    if modifiers == ["shift"] and len(key) == 1 and key in ascii_letters:
        raise ValueError(f"shift and a letter is no key of its own: write {key.upper()}")
    raise ValueError(f"{visible(repr(written))} is no key that every terminal has. {_ALLOWED}")


def shown_key(name: str) -> str:
    """The key as a person reads it."""
    return _CHARACTERS.get(name, _SHOWN.get(name, name))


def types_text(name: str) -> bool:
    """True when the key writes a character into a line that is being typed."""
    return len(name) == 1 or name == "space" or name in _CHARACTERS
