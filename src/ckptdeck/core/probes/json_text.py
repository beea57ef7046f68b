"""JSON documents inside a checkpoint: whether they parse, and what is wrong where they do not."""

from __future__ import annotations

import json
from typing import Any

from ckptdeck.core.probes.reading import MIB, Damage, Reader, zeros_at_end
from ckptdeck.core.states import Structure

PARSED_WHOLE = 8 * MIB
"""A longer member that no layout reads is judged by its two ends: parsing holds up everything else meanwhile."""
_END = 256
_BLANK = b" \t\r\n"
_MOST_LINES = 10_000
_SAYS = 'the loader says "JSONDecodeError", as of a mistake in the text: the file is not what was written'


def parse_json(data: bytes) -> Any:
    """The document. Raises Damage: cut when the text ends too early, broken otherwise."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damage(data, error) from None


def check_json(reader: Reader) -> None:
    """Raises Damage when a member named as JSON is not; JSON of one document a line is let pass."""
    if reader.size > PARSED_WHOLE:
        _check_ends(reader)
        return
    data = reader.at(0, reader.size)
    try:
        parse_json(data)
    except Damage:
        if not _is_document_a_line(data):
            raise


def _damage(data: bytes, error: Exception) -> Damage:
    if not data:
        return _found(Structure.CUT, "empty: 0 bytes")
    if zeros := zeros_at_end(data):
        return _found(Structure.BROKEN, f"the last {zeros:,} of {len(data):,} bytes read as zeros where JSON should be")
    if isinstance(error, json.JSONDecodeError) and (
        error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip())
    ):
        return _found(Structure.CUT, f"cut off at {len(data):,} bytes, in the middle of its JSON")
    return _found(Structure.BROKEN, f"{len(data):,} bytes that are not JSON ({error})")


def _check_ends(reader: Reader) -> None:
    head = reader.at(0, _END).lstrip(_BLANK)
    tail = reader.at(reader.size - _END, _END)
    if head and head[:1] not in (b"{", b"["):
        raise _found(Structure.BROKEN, f"{reader.size:,} bytes that do not begin as JSON")
    if zeros_at_end(tail):
        raise _found(Structure.BROKEN, f"the end of its {reader.size:,} bytes reads as zeros")
    last = tail.rstrip(_BLANK)[-1:]
    if last and last not in (b"}", b"]"):
        raise _found(Structure.CUT, f"cut off at {reader.size:,} bytes, in the middle of its JSON")


def _found(structure: Structure, text: str) -> Damage:
    return Damage(structure, text, loader_says=_SAYS)


def _is_document_a_line(data: bytes) -> bool:
    lines = [line for line in data.splitlines() if line.strip()]
    if not 1 < len(lines) <= _MOST_LINES:
        return False
    try:
        return all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False
