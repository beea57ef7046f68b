"""Records, receipts and pins as JSON text, and back, strictly. Times in JSON are ISO 8601 UTC."""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import xxhash

from ckptdeck.core.safe_text import json_name, name_from_json
from ckptdeck.core.sighting import Receipt, Record, RecordMember, Stamp
from ckptdeck.core.states import Evidence, Kind, MemberKind, Origin

RECORD_SCHEMA, RECEIPT_SCHEMA, PIN_SCHEMA = "ckptdeck.record/1", "ckptdeck.receipt/1", "ckptdeck.pin/1"
_Type = TypeVar("_Type")


SIZES = (0, (1 << 63) - 1)
"""Bytes that a file can have."""
TIMES = (-(1 << 63), (1 << 63) - 1)
"""Nanoseconds since 1970 that a file can have."""
STEPS = (-(10**255), 10**255)
"""More digits than the name of a file can have."""
MOMENTS = (-62_135_000_000.0, 253_402_000_000.0)
"""Seconds since 1970 that can be written as a date, wherever on earth."""


def iso(seconds: float) -> str:
    """Seconds since 1970 as "2026-11-30T04:05:06.789012Z"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> float:
    """The reverse of `iso`. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone")
    seconds = moment.timestamp()
    if not within((seconds,), MOMENTS):
        raise ValueError(f"{text!r} is out of range")
    return seconds


def within(numbers: Iterable[float | None], limits: tuple[float, float]) -> bool:
    """Each that there is lies between the limits, or is one of them. No NaN does."""
    there = [number for number in numbers if number is not None]
    if not there:
        return True
    return not any(map(operator.ne, there, there)) and limits[0] <= min(there) and max(there) <= limits[1]


def encode_record(record: Record) -> bytes:
    document: dict[str, Any] = {
        "schema": RECORD_SCHEMA,
        **json_name(record.name),
        "step": record.step,
        "kind": record.kind.value,
        "size": record.size,
        "mtime_ns": record.mtime_ns,
        "algorithm": record.algorithm,
        "digest": record.digest,
        "replaces": record.replaces,
        "members": [_encode_member(member) for member in record.members],
        "recorded_at": iso(record.recorded_at),
        "origin": record.origin.value,
        "run_id": record.run_id,
        "host": record.host,
        "metrics": dict(record.metrics),
        "retired": record.retired,
        "marked_bad": record.marked_bad,
    }
    return _dump_summed(document)


def decode_record(data: bytes) -> Record:
    """Raises ValueError with the reason for anything that is not exactly a record of this version."""
    document = _load_summed(data, RECORD_SCHEMA)
    members = tuple(_decode_member(item) for item in _typed(document, "members", list))
    if not members or sum(member.size for member in members) != document.get("size"):
        raise ValueError("its members do not add up to its size")
    kind = Kind(_typed(document, "kind", str))
    _require_members_of(kind, members)
    algorithm = _typed(document, "algorithm", str)
    if algorithm != "xxh3_128":
        raise ValueError(f"algorithm {algorithm!r} is not known to this program")
    return Record(
        name=_name(document),
        step=_step(document),
        kind=kind,
        size=_size(document),
        mtime_ns=_limited(document, "mtime_ns", TIMES),
        digest=_digest(document),
        members=members,
        recorded_at=seconds_of(_typed(document, "recorded_at", str)),
        origin=Origin(_typed(document, "origin", str)),
        run_id=_optional(document, "run_id", str),
        host=_typed(document, "host", str),
        metrics=_metrics(_typed(document, "metrics", dict)),
        retired=_typed(document, "retired", bool),
        marked_bad=_optional(document, "marked_bad", str),
        replaces=_optional(document, "replaces", str),
        algorithm=algorithm,
    )


def _require_members_of(kind: Kind, members: tuple[RecordMember, ...]) -> None:
    """Acting on a record moves and removes what its members name: nothing else may be among them."""
    paths = [member.path for member in members]
    files = all(member.kind is MemberKind.FILE for member in members)
    match kind:
        case Kind.FILE:
            fits = paths == [""] and files
        case Kind.DIRECTORY:
            fits = all(paths)
        case Kind.GROUP:
            fits = all(path and "/" not in path for path in paths) and files
    if not fits or len(set(paths)) != len(paths):
        raise ValueError(f"its members are not those of a {kind}")


def _encode_member(member: RecordMember) -> dict[str, Any]:
    document: dict[str, Any] = {**json_name(member.path, "path"), "size": member.size, "digest": member.digest}
    if member.kind is not MemberKind.FILE:
        document["kind"] = member.kind.value
    return document | (json_name(member.target, "target") if member.target else {})


def _decode_member(document: Any) -> RecordMember:
    kind = MemberKind(_typed(document, "kind", str)) if isinstance(document, dict) and "kind" in document else None
    target = _name(document, "target") if kind is MemberKind.LINK else ""
    return RecordMember(_path(document), _size(document), _digest(document), kind or MemberKind.FILE, target)


def encode_receipt(receipt: Receipt) -> bytes:
    document: dict[str, Any] = {
        "schema": RECEIPT_SCHEMA,
        **json_name(receipt.name),
        "good": receipt.good,
        "digest": receipt.digest,
        "stamps": [
            {**json_name(s.path, "path"), "size": s.size, "mtime_ns": s.mtime_ns, "ctime_ns": s.ctime_ns}
            for s in receipt.stamps
        ],
        "evidence": receipt.evidence.value,
        "verified_at": iso(receipt.verified_at),
        "boot_id": receipt.boot_id,
        "mount": receipt.mount,
        "note": receipt.note,
    }
    return _dump_summed(document)


def decode_receipt(data: bytes) -> Receipt:
    """Raises ValueError with the reason for anything that is not exactly a receipt of this version."""
    document = _load_summed(data, RECEIPT_SCHEMA)
    stamps = tuple(
        Stamp(_path(item), _size(item), _limited(item, "mtime_ns", TIMES), _limited(item, "ctime_ns", TIMES))
        for item in _typed(document, "stamps", list)
    )
    if not stamps:
        raise ValueError("it names no file")
    return Receipt(
        name=_name(document),
        good=_typed(document, "good", bool),
        digest=_digest(document),
        stamps=stamps,
        evidence=Evidence(_typed(document, "evidence", str)),
        verified_at=seconds_of(_typed(document, "verified_at", str)),
        boot_id=_typed(document, "boot_id", str),
        mount=_typed(document, "mount", str),
        note=_typed(document, "note", str),
    )


def encode_pin(name: str, reason: str) -> bytes:
    return _dump({"schema": PIN_SCHEMA, **json_name(name), **json_name(reason, "reason")})


def decode_pin(data: bytes) -> tuple[str, str]:
    """(name, reason). Raises ValueError."""
    document = _load(data, PIN_SCHEMA)
    return _name(document), _name(document, "reason")


def _dump(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _checksum(document: Mapping[str, Any]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return xxhash.xxh3_128(canonical.encode()).hexdigest()


def _dump_summed(document: dict[str, Any]) -> bytes:
    return _dump({**document, "checksum": _checksum(document)})


def _load_summed(data: bytes, schema: str) -> dict[str, Any]:
    document = _load(data, schema)
    claimed = document.pop("checksum", None)
    if claimed != _checksum(document):
        raise ValueError("its checksum does not fit its content")
    return document


def _load(data: bytes, schema: str) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    if document.get("schema") != schema:
        raise ValueError(f"its schema is {document.get('schema')!r}, this program reads {schema!r}")
    return document


def _typed(document: Any, key: str, kind: type[_Type]) -> _Type:
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{key} is missing or not {kind.__name__}")
    return value


def _optional(document: Any, key: str, kind: type[_Type]) -> _Type | None:
    if isinstance(document, dict) and key in document and document[key] is None:
        return None
    return _typed(document, key, kind)


def _limited(document: Any, key: str, limits: tuple[int, int]) -> int:
    number = _typed(document, key, int)
    if not within((number,), limits):
        raise ValueError(f"{key} is out of range")
    return number


def _size(document: Any) -> int:
    return _limited(document, "size", SIZES)


def _step(document: Any) -> int | None:
    return None if _optional(document, "step", int) is None else _limited(document, "step", STEPS)


def _digest(document: Any) -> str:
    digest = _typed(document, "digest", str)
    if len(digest) != 32 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError("a digest is not 32 hex digits")
    return digest


def _name(document: Any, key: str = "name") -> str:
    try:
        return name_from_json(document, key)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{key} is missing or damaged: {error}") from None


def _path(document: Any) -> str:
    """A member's path must stay inside its checkpoint, whatever a damaged or forged record says."""
    if not isinstance(document, dict):
        raise ValueError("a member is not an object")
    path = _name(document, "path")
    if path and (os.path.isabs(path) or "\0" in path or any(part in ("", ".", "..") for part in path.split("/"))):
        raise ValueError(f"a member's path is {path!r}")
    return path


def is_metric(value: Any) -> bool:
    """A number that a float can hold: no bool, no NaN, no infinity, no integer beyond 1.8e308."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def _metrics(values: Mapping[str, Any]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for key, value in values.items():
        if not is_metric(value):
            raise ValueError(f"metric {key!r} is not a finite number")
        metrics[key] = value
    return metrics
