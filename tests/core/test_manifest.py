from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import Manifest, store_name
from ckptdeck.core.record_format import (
    decode_pin,
    decode_receipt,
    decode_record,
    encode_pin,
    encode_receipt,
    encode_record,
    iso,
    seconds_of,
)
from ckptdeck.core.sighting import Receipt, Record, RecordMember, Stamp
from ckptdeck.core.states import Evidence, Kind, Origin, Role
from tests.core.workbench import Workbench

DIGEST = "0123456789abcdef" * 2
NAMES = st.binary(min_size=1, max_size=255).map(os.fsdecode).filter(lambda n: "/" not in n and "\0" not in n)


def record_of(name: str = "step_1.pt") -> Record:
    return Record(
        name=name,
        step=1,
        kind=Kind.FILE,
        size=5,
        mtime_ns=1,
        digest=DIGEST,
        members=(RecordMember("", 5, DIGEST),),
        recorded_at=1_700_000_000.25,
        origin=Origin.PUBLISHED,
        run_id=None,
        host="box",
        metrics={"loss": 1.5},
    )


def receipt_of(name: str = "step_1.pt") -> Receipt:
    return Receipt(name, True, DIGEST, (Stamp("", 5, 1, 2),), Evidence.DEVICE, 1_700_000_000.5, "boot", "27:8:1")


@given(NAMES)
def test_records_and_receipts_come_back_as_they_went(name: str) -> None:
    assert decode_record(encode_record(record_of(name))) == record_of(name)
    assert decode_receipt(encode_receipt(receipt_of(name))) == receipt_of(name)
    assert decode_pin(encode_pin(name, "why")) == (name, "why")


@given(NAMES)
def test_a_store_name_is_a_short_utf8_file_name(name: str) -> None:
    stored = store_name(name)
    assert len(stored.encode()) <= 200
    assert not stored.startswith(".")


@given(st.lists(NAMES, min_size=2, max_size=20, unique=True))
def test_two_names_are_never_stored_in_one_place(names: list[str]) -> None:
    assert len({store_name(name) for name in names}) == len(names)


@given(st.integers(0, len(encode_record(record_of())) - 1), st.integers(1, 255))
def test_a_record_with_one_byte_changed_is_never_read_as_something_else(position: int, flip: int) -> None:
    data = bytearray(encode_record(record_of()))
    data[position] ^= flip
    try:
        decoded = decode_record(bytes(data))
    except ValueError:
        return
    assert decoded == record_of()  # white space may change without a meaning


@given(st.binary(max_size=300))
def test_rubbish_is_a_value_error(data: bytes) -> None:
    for decode in (decode_record, decode_receipt, decode_pin):
        with pytest.raises(ValueError, match=r".+"):
            decode(data)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "a//b", "."])
def test_a_members_path_stays_inside_its_checkpoint(path: str) -> None:
    record = replace(record_of(), members=(RecordMember(path, 5, DIGEST),))
    with pytest.raises(ValueError, match="path"):
        decode_record(encode_record(record))


def test_another_version_is_named_in_the_reason() -> None:
    data = encode_record(record_of()).replace(b"ckptdeck.record/1", b"ckptdeck.record/9")
    with pytest.raises(ValueError, match="record/9"):
        decode_record(data)


@given(st.floats(0, 4e9))
def test_times_survive_json_to_the_microsecond(moment: float) -> None:
    assert abs(seconds_of(iso(moment)) - moment) < 2e-6


class Counting(FileSystem):
    def __init__(self) -> None:
        self.opened: list[str] = []

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        self.opened.append(path)
        return super().open(path, flags, mode)


def test_reading_all_again_opens_only_what_changed(bench: Workbench) -> None:
    for step in range(5):
        bench.publish(f"step_{step}.pt", b"x")
    fs = Counting()
    manifest = Manifest(fs, bench.on(Role.PRIMARY))
    later = 2_000_000_000 * 10**9
    first = manifest.read_all(later)
    assert len(first.records) == 5
    fs.opened.clear()
    assert manifest.read_all(later, first).records == first.records
    assert fs.opened == []
    bench.publish("step_5.pt", b"x")
    second = manifest.read_all(later, first)
    assert len(second.records) == 6
    assert [os.path.basename(path) for path in fs.opened] == ["step_5.pt.json"]


def test_a_file_that_is_still_young_is_read_again(bench: Workbench) -> None:
    bench.publish("step_1.pt", b"x")
    fs = Counting()
    manifest = Manifest(fs, bench.on(Role.PRIMARY))
    now = os.stat(bench.on(Role.PRIMARY).control_path("manifest", "step_1.pt.json")).st_mtime_ns + 1000
    contents = manifest.read_all(now)
    fs.opened.clear()
    manifest.read_all(now, contents)
    assert len(fs.opened) == 1


def test_damaged_files_are_findings_and_hide_nothing_else(bench: Workbench) -> None:
    bench.publish("step_1.pt", b"x")
    bench.publish("step_2.pt", b"x")
    control = bench.on(Role.PRIMARY)
    with open(control.control_path("manifest", "step_1.pt.json"), "r+b") as file:
        file.truncate(40)
    with open(control.control_path("receipts", "step_2.pt.json"), "wb") as file:
        file.write(b"{}")
    contents = bench.manifest().read_all(0)
    assert set(contents.records) == {"step_2.pt"}
    assert sorted(os.path.basename(damaged.path) for damaged in contents.damaged) == [
        "step_1.pt.json",
        "step_2.pt.json",
    ]


def test_a_record_under_another_checkpoints_name_is_damaged(bench: Workbench) -> None:
    bench.publish("step_1.pt", b"x")
    place = bench.on(Role.PRIMARY).control_path("manifest")
    os.rename(f"{place}/step_1.pt.json", f"{place}/step_2.pt.json")
    contents = bench.manifest().read_all(0)
    assert contents.records == {}
    assert len(contents.damaged) == 1
    with pytest.raises(ValueError, match="step_1"):
        bench.manifest().record("step_2.pt")


def test_pins_come_and_go(bench: Workbench) -> None:
    manifest = bench.manifest()
    assert manifest.pin("step_1.pt") is None
    manifest.write_pin("step_1.pt", "")
    assert manifest.pin("step_1.pt") == ""
    assert manifest.drop_pin("step_1.pt")
    assert not manifest.drop_pin("step_1.pt")
