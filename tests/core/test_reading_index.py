"""The index spares opening files and can say nothing that they do not say."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xxhash

from ckptdeck.core import manifest as manifest_module
from ckptdeck.core import reading_index
from ckptdeck.core.manifest import Manifest, ManifestContents
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.reading_index import INDEX, decode_index, encode_index, remembered, spare_the_next
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import Inventory, RecordMember
from ckptdeck.core.states import Kind
from tests.core.looks import Bench, make_bench, record

NAMES = [f"step_{step:04d}.pt" for step in range(1, 7)]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_module, "MANY", 4)
    monkeypatch.setattr(reading_index, "MANY", 4)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Six checkpoints of one file with records and receipts, one pinned; and what does not fit into columns."""
    made = make_bench(tmp_path)
    for step, name in enumerate(NAMES, 1):
        made.write(name)
        made.record(name, step, metrics={"loss": 1.0 / step})
        made.receive(name)
    made.manifest.write_pin(NAMES[2], "the paper's")
    made.manifest.write_next_record(record("step_0007.pt", step=7))
    long = "x" * 220 + ".pt"
    made.write(long)
    made.record(long)
    members = (RecordMember("a", 1, "3" * 32), RecordMember("b/c", 2, "4" * 32))
    made.manifest.write_record(record("checkpoint-8", 3, step=8, kind=Kind.DIRECTORY, members=members))
    return made


def look(bench: Bench) -> Inventory:
    return scan(bench.host, bench.found, DEFAULT_POLICY)


def read(bench: Bench) -> ManifestContents:
    found = look(bench).read
    assert found is not None
    return found.contents


def index_of(bench: Bench) -> Path:
    return bench.control / INDEX


def same(one: ManifestContents, other: ManifestContents) -> bool:
    return (one.records, one.next_records, one.receipts, one.pins, one.damaged) == (
        *(other.records, other.next_records, other.receipts, other.pins, other.damaged),
    )


def indexed(bench: Bench) -> ManifestContents:
    seen = look(bench)
    spare_the_next(bench.host, bench.found, seen)
    assert seen.read is not None
    return seen.read.contents


def test_the_next_look_opens_nothing_and_sees_the_same(bench: Bench) -> None:
    first = indexed(bench)
    second = read(bench)
    assert (first.opened, second.opened) == (16, 0)
    assert same(first, second)


def test_what_changed_is_read_from_its_own_file(bench: Bench) -> None:
    indexed(bench)
    bench.record(NAMES[0], 1, digest="9" * 32)
    os.unlink(bench.control / "receipts" / f"{NAMES[1]}.json")
    bench.manifest.drop_pin(NAMES[2])
    now = read(bench)
    assert now.opened == 1
    assert now.records[NAMES[0]].digest == "9" * 32
    assert NAMES[1] not in now.receipts
    assert now.pins == {}


def test_damage_in_place_shows_although_the_size_stays(bench: Bench) -> None:
    indexed(bench)
    path = bench.control / "manifest" / f"{NAMES[0]}.json"
    with open(path, "r+b") as file:
        file.write(b"#")
    now = read(bench)
    assert [damaged.path for damaged in now.damaged] == [str(path)]
    assert NAMES[0] not in now.records


def test_a_file_too_young_to_show_a_change_is_not_entered(bench: Bench) -> None:
    bench.clock.time = (bench.control / "manifest").stat().st_mtime + 1
    indexed(bench)
    assert remembered(bench.fs, bench.found) != {}
    assert not any(remembered(bench.fs, bench.found).values())


def test_a_look_that_had_little_to_open_writes_nothing(bench: Bench) -> None:
    indexed(bench)
    before = index_of(bench).stat()
    bench.record(NAMES[0], 1, digest="9" * 32)
    spare_the_next(bench.host, bench.found, look(bench))
    assert index_of(bench).stat() == before


def test_a_disk_that_takes_nothing_is_no_failure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int, _data: memoryview, _offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bench.fs, "pwrite", full)
    indexed(bench)
    assert sorted(path.name for path in bench.control.iterdir() if path.is_file()) == ["set.json"]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _data: b"", id="empty"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut"),
        pytest.param(lambda data: data.replace(b"1111", b"1112", 1), id="one character"),
        pytest.param(lambda data: data.replace(b"index/1", b"index/2", 1), id="another version"),
        pytest.param(lambda _data: b"[]\n[]\n", id="no object"),
        pytest.param(lambda data: bytes(len(data)), id="zeros"),
    ],
)
def test_a_damaged_index_is_as_good_as_none(bench: Bench, damage: Callable[[bytes], bytes]) -> None:
    first = indexed(bench)
    index_of(bench).write_bytes(damage(index_of(bench).read_bytes()))
    again = read(bench)
    assert again.opened == first.opened
    assert same(first, again)
    assert indexed(bench).opened == first.opened
    assert read(bench).opened == 0


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("records", "digest", ["no digest"] * 6),
        ("records", "size", {"same": -1}),
        ("records", "step", ["1"] * 6),
        ("records", "retired", {"same": 0}),
        ("records", "metrics", [{"loss": "low"}] * 6),
        ("records", "origin", {"same": "nowhere"}),
        ("records", "name", ["~x"] * 6),
        ("receipts", "good", [True]),
        ("receipts", "evidence", None),
        ("receipts", "mtime_ns", {"same": 1.5}),
        ("records", "size", {"same": 10**400}),
        ("records", "step", [None, 1, 2, 3, 4, 10**400]),
        ("records", "mtime_ns", {"same": -(10**400)}),
        ("records", "recorded_at", {"same": 1e308}),
        ("records", "recorded_at", {"same": math.inf}),
        ("records", "recorded_at", [1.0, 1.0, math.nan, 1.0, 1.0, 1.0]),
        ("receipts", "ctime_ns", {"same": 1 << 63}),
        ("receipts", "verified_at", {"same": -math.inf}),
    ],
)
def test_columns_are_decoded_as_strictly_as_files(bench: Bench, table: str, column: str, value: Any) -> None:
    body = json.loads(encode_index(indexed(bench), bench.manifest).partition(b"\n")[2])
    body[table][column] = value
    text = json.dumps(body).encode()
    head = {"schema": "ckptdeck.index/1", "checksum": xxhash.xxh3_128(text).hexdigest()}
    forged = json.dumps(head).encode() + b"\n" + text + b"\n"
    with pytest.raises((ValueError, KeyError)):
        decode_index(forged, bench.manifest)
    index_of(bench).write_bytes(forged)
    assert remembered(bench.fs, bench.found) == {}


def test_an_index_of_nothing_is_one(tmp_path: Path) -> None:
    manifest: Manifest = make_bench(tmp_path).manifest
    assert not any(decode_index(encode_index(ManifestContents(), manifest), manifest).values())
