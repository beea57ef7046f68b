"""Records of directories and groups as JSON and back, and what no damaged or forged one may name."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest
import xxhash

from ckptdeck.core.record_format import decode_receipt, decode_record, encode_receipt, encode_record
from ckptdeck.core.sighting import Receipt, Record, RecordMember, Stamp
from ckptdeck.core.states import Evidence, Kind, MemberKind, Origin
from ckptdeck.core.unit import unit_digest
from tests.core.units import HOSTILE

A, B = "a" * 32, "b" * 32


def made(kind: Kind, *members: RecordMember) -> Record:
    size = sum(member.size for member in members)
    return Record(
        name="checkpoint-500",
        step=500,
        kind=kind,
        size=size,
        mtime_ns=1_900_000_000_123_456_789,
        digest=unit_digest(members),
        members=members,
        recorded_at=1_900_000_000.5,
        origin=Origin.PUBLISHED,
        run_id="run",
        host="box",
        metrics={"loss": 1.5},
        replaces=B,
    )


DIRECTORY = made(
    Kind.DIRECTORY,
    RecordMember("a/b.pt", 10, A),
    RecordMember("empty", 0, B, MemberKind.DIRECTORY),
    RecordMember("to", 0, A, MemberKind.LINK, "a/b.pt"),
)
GROUP = made(Kind.GROUP, RecordMember("model_1.pt", 10, A), RecordMember("optim_1.pt", 0, B))


@pytest.mark.parametrize("record", [DIRECTORY, GROUP], ids=["directory", "group"])
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    assert decode_record(encode_record(record)) == record


def test_names_of_members_and_targets_may_hold_any_byte() -> None:
    members = tuple(RecordMember(name, 1, A) for name in HOSTILE)
    links = tuple(RecordMember(f"sub/{name}", 0, A, MemberKind.LINK, name) for name in HOSTILE)
    record = made(Kind.DIRECTORY, *members, *links)
    assert decode_record(encode_record(record)) == record
    group = made(Kind.GROUP, *(member for member in members if "/" not in member.path))
    assert decode_record(encode_record(group)) == group


def test_a_receipt_of_many_files_comes_back_as_it_was() -> None:
    stamps = tuple(Stamp(f"sub/{name}", 1, 2, 3) for name in HOSTILE)
    receipt = Receipt("checkpoint-500", True, A, stamps, Evidence.DEVICE, 1_900_000_000.0, "boot", "1:2", "note")
    assert decode_receipt(encode_receipt(receipt)) == receipt


def forged(record: Record, change: dict[str, Any] | None = None, **member: Any) -> bytes:
    """The record with its first member, or itself, changed, and a checksum that fits."""
    document = json.loads(encode_record(record))
    document.update(change or {})
    for key, value in member.items():
        if value is None:
            document["members"][0].pop(key, None)
        else:
            document["members"][0][key] = value
    document.pop("checksum")
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["checksum"] = xxhash.xxh3_128(canonical.encode()).hexdigest()
    return json.dumps(document).encode()


def test_what_is_forged_with_care_is_read() -> None:
    assert decode_record(forged(DIRECTORY)) == DIRECTORY


@pytest.mark.parametrize("record", [DIRECTORY, GROUP], ids=["directory", "group"])
@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "..", ".", "a/./b", "/etc/passwd", "a//b", "a/", "/", "", "x\0y", 7, ["a"], {"a": 1}],
)
def test_no_member_lies_outside_of_its_checkpoint(record: Record, path: Any) -> None:
    with pytest.raises(ValueError, match=r"path|members"):
        decode_record(forged(record, path=path))


@pytest.mark.parametrize("path", ["sub/model.pt", ".ckptdeck/set.json", "other/"])
def test_the_names_of_a_group_lie_in_its_set(path: str) -> None:
    with pytest.raises(ValueError, match=r"path|members"):
        decode_record(forged(GROUP, path=path))


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (GROUP, {"kind": "link", "target": "x", "size": 0}),
        (GROUP, {"kind": "directory", "size": 0}),
        (DIRECTORY, {"kind": "pipe"}),
        (DIRECTORY, {"kind": 7}),
        (DIRECTORY, {"kind": "link", "size": 0}),
        (DIRECTORY, {"size": -1}),
        (DIRECTORY, {"size": 11}),
        (DIRECTORY, {"size": "10"}),
        (DIRECTORY, {"digest": "A" * 32}),
        (DIRECTORY, {"digest": None}),
        (DIRECTORY, {"path": None}),
        (DIRECTORY, {"path": "empty"}),
        (GROUP, {"path": "optim_1.pt"}),
    ],
)
def test_a_member_that_cannot_be_one_damages_the_record(record: Record, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  its text is for people
        decode_record(forged(record, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"members": []},
        {"members": {}},
        {"members": [[]]},
        {"members": None},
        {"kind": "file"},
        {"kind": "tree"},
        {"kind": None},
        {"size": 11},
        {"name": None},
        {"name": 7},
        {"step": 10**400},
        {"mtime_ns": 10**400},
        {"mtime_ns": -(1 << 64)},
        {"recorded_at": "0001-01-01T00:00:00+23:59"},
        {"recorded_at": "9999-12-31T23:59:59-23:59"},
    ],
)
def test_a_record_that_contradicts_itself_is_damaged(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        decode_record(forged(DIRECTORY, change))


def test_a_file_is_no_link() -> None:
    file = replace(made(Kind.FILE, RecordMember("", 0, A, MemberKind.LINK, "x")), digest=A)
    with pytest.raises(ValueError, match="not those of a file"):
        decode_record(encode_record(file))


def test_any_byte_that_is_lost_or_changed_is_noticed() -> None:
    data = encode_record(DIRECTORY).rstrip()
    for position in range(0, len(data), 7):
        for damaged in (data[:position], data[:position] + b"~" + data[position + 1 :]):
            with pytest.raises(ValueError):  # noqa: PT011
                decode_record(damaged)


def test_names_that_are_not_utf_8_survive_with_their_bytes() -> None:
    broken = os.fsdecode(b"b\xff\xfe")
    document = json.loads(encode_record(made(Kind.DIRECTORY, RecordMember(broken, 1, A))))
    assert document["members"][0]["path_b64"]
    assert "\udcff" not in json.dumps(document)
