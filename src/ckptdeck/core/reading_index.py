"""One file that repeats what the small files of a control directory say, so that a large set need not open them all.

It is no truth: an entry counts only while the stat of its file (inode, size, mtime, ctime) is exactly what it was when
the file was read, and a file so young that a change might not show in that is never entered (R32). So it can neither
hide a change nor outlive one; lost, damaged or of another version it is as good as none, and the next look that had to
open many files writes a new one.

Checkpoints of one file, which large sets consist of, lie in columns: 10,000 records read one by one take a second,
their columns a thirtieth of that. Everything else is kept as the text it has on disk.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xxhash

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.columns import pack_columns, unpack_columns
from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import MANY, RECORD, Kept, KeptFiles, Manifest, ManifestContents
from ckptdeck.core.record_format import (
    MOMENTS,
    SIZES,
    STEPS,
    TIMES,
    decode_pin,
    decode_receipt,
    decode_record,
    encode_pin,
    encode_receipt,
    encode_record,
    is_metric,
    within,
)
from ckptdeck.core.sighting import Inventory, Receipt, Record, RecordMember, Stamp
from ckptdeck.core.small_file import write_small_file
from ckptdeck.core.states import Condition, Evidence, Kind, Origin

INDEX = "index.json"
_SCHEMA = "ckptdeck.index/1"
_LIMIT = 1 << 30
_RECORDS, _RECEIPTS, _OTHERS = "records", "receipts", "others"
_TEXT, _WHOLE, _NUMBER, _YES_OR_NO = frozenset({str}), frozenset({int}), frozenset({float}), frozenset({bool})
_MAYBE_TEXT, _MAYBE_WHOLE = _TEXT | {type(None)}, _WHOLE | {type(None)}
_FILE = {"name": _TEXT, "inode": _WHOLE, "file_size": _WHOLE, "file_mtime_ns": _WHOLE, "file_ctime_ns": _WHOLE}
_RECORD_COLUMNS = _FILE | {
    "step": _MAYBE_WHOLE,
    "size": _WHOLE,
    "mtime_ns": _WHOLE,
    "digest": _TEXT,
    "recorded_at": _NUMBER,
    "origin": _TEXT,
    "run_id": _MAYBE_TEXT,
    "host": _TEXT,
    "metrics": frozenset({dict}),
    "retired": _YES_OR_NO,
    "marked_bad": _MAYBE_TEXT,
    "replaces": _MAYBE_TEXT,
}
_RECEIPT_COLUMNS = _FILE | {
    "good": _YES_OR_NO,
    "digest": _TEXT,
    "size": _WHOLE,
    "mtime_ns": _WHOLE,
    "ctime_ns": _WHOLE,
    "evidence": _TEXT,
    "verified_at": _NUMBER,
    "boot_id": _TEXT,
    "mount": _TEXT,
    "note": _TEXT,
}
_LIMITS: dict[str, tuple[float, float]] = {
    "size": SIZES,
    "step": STEPS,
    "mtime_ns": TIMES,
    "ctime_ns": TIMES,
    "recorded_at": MOMENTS,
    "verified_at": MOMENTS,
}
_ORIGINS = {origin.value: origin for origin in Origin}
_EVIDENCES = {evidence.value: evidence for evidence in Evidence}
_DIGESTS = re.compile(r"(?:[0-9a-f]{32},)*")


def remembered(fs: FileSystem, checkpoint_set: CheckpointSet) -> KeptFiles:
    """What the index says of each file of the bookkeeping; nothing without an index that can be read and is whole."""
    try:
        return decode_index(read_file(fs, checkpoint_set.control_path(INDEX), _LIMIT), Manifest(fs, checkpoint_set))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError):
        return {}  # whatever is wrong with it, it is only a copy


def spare_the_next(host: Host, checkpoint_set: CheckpointSet, inventory: Inventory) -> None:
    """Writes the index anew where so much had to be opened that the next process should not have to.

    Best effort: a disk that is full or read-only, or belongs to somebody else, goes on without.
    """
    contents, volume = inventory.read.contents if inventory.read is not None else None, inventory.volume
    if contents is None or contents.opened < MANY or inventory.condition is not Condition.OK:
        return
    if volume is None or volume.read_only:
        return
    data = encode_index(contents, Manifest(host.fs, checkpoint_set))
    with contextlib.suppress(OSError):
        write_small_file(host.fs, checkpoint_set.control_path(), INDEX, data, pid=host.pid, durable=False)


def encode_index(contents: ManifestContents, manifest: Manifest) -> bytes:
    """A line that says what it is and vouches for the second, and everything that stands still."""
    records, receipts, others = [], [], []
    for place, directory in enumerate(manifest.directories):
        for file, kept in contents.kept.get(directory, {}).items():
            if not kept.settled:
                continue
            match kept.value:
                case Record(kind=Kind.FILE) as record if file == kept.name + RECORD:
                    records.append((kept.name, *kept.stamp, *_record_row(record)))
                case Receipt(stamps=(Stamp(path="") as stamp,)) as receipt if file == kept.name + RECORD:
                    receipts.append((kept.name, *kept.stamp, *_receipt_row(receipt, stamp)))
                case Record() | Receipt() | str() as value:
                    others.append([place, file, *kept.stamp, _text_of(value, kept.name)])
    document = {
        _RECORDS: pack_columns(tuple(_RECORD_COLUMNS), records),
        _RECEIPTS: pack_columns(tuple(_RECEIPT_COLUMNS), receipts),
        _OTHERS: others,
    }
    body = json.dumps(document, separators=(",", ":")).encode()
    return _head(body) + b"\n" + body + b"\n"


def decode_index(data: bytes, manifest: Manifest) -> KeptFiles:
    """Raises ValueError, or another of Python's own for a wrong shape, unless it is an index of this version."""
    head, _, body = data.partition(b"\n")
    body = body.removesuffix(b"\n")
    if head != _head(body):
        raise ValueError("it is of another version, or damaged")
    document = json.loads(body)
    files: dict[str, dict[str, Kept]] = {
        manifest.records_directory: dict(_records(document.get(_RECORDS))),
        manifest.receipts_directory: dict(_receipts(document.get(_RECEIPTS))),
        manifest.pins_directory: {},
    }
    for place, file, *stamp, text in document.get(_OTHERS, ()):
        name, value = _DECODERS[place](text.encode())
        files[manifest.directories[place]][file] = Kept(_stamp(*stamp), True, value, name)
    return files


def _head(body: bytes) -> bytes:
    return json.dumps({"schema": _SCHEMA, "checksum": xxhash.xxh3_128(body).hexdigest()}).encode()


# --- checkpoints of one file


def _record_row(record: Record) -> tuple[Any, ...]:
    return (
        *(record.step, record.size, record.mtime_ns, record.digest, record.recorded_at, record.origin.value),
        *(record.run_id, record.host, dict(record.metrics), record.retired, record.marked_bad, record.replaces),
    )


def _records(document: Any) -> Iterator[tuple[str, Kept]]:
    columns = unpack_columns(document, _RECORD_COLUMNS)
    _require_sound(columns)
    for values in columns["metrics"]:
        if not all(map(is_metric, values.values())):
            raise ValueError("a metric is not a finite number")
    for name, *stamp, step, size, mtime, digest, at, origin, run_id, host, metrics, retired, bad, replaces in zip(
        *columns.values(), strict=True
    ):
        record = Record(
            name=name,
            step=step,
            kind=Kind.FILE,
            size=size,
            mtime_ns=mtime,
            digest=digest,
            members=(RecordMember("", size, digest),),
            recorded_at=at,
            origin=_ORIGINS[origin],
            run_id=run_id,
            host=host,
            metrics=metrics,
            retired=retired,
            marked_bad=bad,
            replaces=replaces,
        )
        yield name + RECORD, Kept(tuple(stamp), True, record, name)


def _receipt_row(receipt: Receipt, stamp: Stamp) -> tuple[Any, ...]:
    return (
        *(receipt.good, receipt.digest, stamp.size, stamp.mtime_ns, stamp.ctime_ns, receipt.evidence.value),
        *(receipt.verified_at, receipt.boot_id, receipt.mount, receipt.note),
    )


def _receipts(document: Any) -> Iterator[tuple[str, Kept]]:
    columns = unpack_columns(document, _RECEIPT_COLUMNS)
    _require_sound(columns)
    for name, *stamp, good, digest, size, mtime, ctime, evidence, at, boot_id, mount, note in zip(
        *columns.values(), strict=True
    ):
        stamps = (Stamp("", size, mtime, ctime),)
        receipt = Receipt(name, good, digest, stamps, _EVIDENCES[evidence], at, boot_id, mount, note)
        yield name + RECORD, Kept(tuple(stamp), True, receipt, name)


def _require_sound(columns: Mapping[str, list[Any]]) -> None:
    """What the decoding of each single file would ask for, asked of all of them at once."""
    if any(map(_is_stored_elsewhere, columns["name"])):
        raise ValueError("a name is stored under another one")
    if not _DIGESTS.fullmatch("".join(f"{digest}," for digest in columns["digest"])):
        raise ValueError("a digest is not 32 hex digits")
    for name, limits in _LIMITS.items():
        if not within(columns.get(name, ()), limits):
            raise ValueError(f"its column {name} is out of range")


def _is_stored_elsewhere(name: str) -> bool:
    return not name or name.startswith(("~", "."))


# --- everything else


def _text_of(value: Record | Receipt | str, name: str) -> str:
    match value:
        case Record():
            return encode_record(value).decode()
        case Receipt():
            return encode_receipt(value).decode()
        case str():
            return encode_pin(name, value).decode()


def _named_record(data: bytes) -> tuple[str, Record]:
    record = decode_record(data)
    return record.name, record


def _named_receipt(data: bytes) -> tuple[str, Receipt]:
    receipt = decode_receipt(data)
    return receipt.name, receipt


_DECODERS: tuple[Callable[[bytes], tuple[str, Record | Receipt | str]], ...] = (
    _named_record,
    _named_receipt,
    decode_pin,
)
"""For each directory of the bookkeeping, in the manifest's order."""


def _stamp(inode: Any, size: Any, mtime_ns: Any, ctime_ns: Any) -> tuple[int, int, int, int]:
    stamp = (inode, size, mtime_ns, ctime_ns)
    if any(type(one) is not int for one in stamp):
        raise ValueError("a stamp is not four whole numbers")
    return stamp
