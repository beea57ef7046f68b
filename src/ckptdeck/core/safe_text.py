"""Names of files are hostile input: how they are shown, and how they are put on a command line.

Internally every path is a `str` as `os.fsdecode` makes it (undecodable bytes as lone surrogates), so that
`os.fsencode` gives the exact bytes back (R31). Only what is shown goes through `visible`.
"""

from __future__ import annotations

import base64
import os
import shlex
import unicodedata

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
# Format characters that reorder or hide text (bidi controls, zero width, soft hyphen, line separators).
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str, limit: int | None = None) -> str:
    """`text` with everything that could move a cursor, hide or reorder text written as a visible escape.

    `limit` (characters) shortens the middle, so that both the family and the step of a name stay readable.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        shown = text
    else:
        shown = "".join(map(_visible_character, text))
    if limit is not None and len(shown) > limit:
        head = max(0, (limit - 1) // 2)
        tail = max(0, limit - 1 - head)
        shown = shown[:head] + "…" + (shown[-tail:] if tail else "")
    return shown


def _visible_character(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char == "\\":
        return "\\\\"
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(char) in _HIDDEN:
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return char


def shell_word(text: str) -> str:
    """`text` as one word for a POSIX-like shell that can be pasted as it stands, on one line, in any terminal."""
    if visible(text).replace("\\\\", "\\") == text:
        return shlex.quote(text)
    quoted = []
    for byte in os.fsencode(text):
        char = chr(byte)
        if char in "'\\":
            quoted.append("\\" + char)
        elif 0x20 <= byte < 0x7F:
            quoted.append(char)
        else:
            quoted.append(f"\\x{byte:02x}")
    return "$'" + "".join(quoted) + "'"


def is_utf8(text: str) -> bool:
    """True when the name is valid UTF-8 on disk, so that JSON can carry it unchanged."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def json_name(text: str, key: str = "name") -> dict[str, str]:
    """`{key: text}`; for a name that is not UTF-8 with replacement characters, and the exact bytes in `<key>_b64`."""
    if is_utf8(text):
        return {key: text}
    raw = os.fsencode(text)
    return {key: raw.decode("utf-8", "replace"), f"{key}_b64": base64.b64encode(raw).decode("ascii")}


def name_from_json(document: dict[str, object], key: str = "name") -> str:
    """The exact name from what `json_name` wrote. Raises KeyError or ValueError for anything else."""
    encoded = document.get(f"{key}_b64")
    if isinstance(encoded, str):
        return os.fsdecode(base64.b64decode(encoded, validate=True))
    name = document[key]
    if not isinstance(name, str):
        raise ValueError(f"{key} is not a string")
    return name
