"""Looking at a real directory: what is opened, what an error costs, what is missing, what points where."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import DirectoryEntry
from ckptdeck.core.health import judge
from ckptdeck.core.naming import part_name
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.removal import quarantine
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import InFlight, Inventory, Sighting, Writer
from ckptdeck.core.states import Condition, FlightState, Kind, Role, State, Structure
from ckptdeck.core.unit import Unit
from tests.core.looks import DAY, ONE, OTHER, Bench, CountingFileSystem, make_bench, record, set_age


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def look(bench: Bench, previous: Inventory | None = None) -> Inventory:
    return scan(bench.host, bench.found, DEFAULT_POLICY, previous)


def seen(found: Inventory) -> dict[str, Sighting]:
    return {sighting.name: sighting for sighting in found.sightings}


def flying(found: Inventory) -> dict[str, InFlight]:
    return {flight.name: flight for flight in found.in_flight}


def states(bench: Bench, found: Inventory) -> dict[str, State]:
    return {c.name: c.state for c in judge(found, DEFAULT_POLICY, bench.clock.now())}


# --- what is there


def test_names_records_receipts_and_pins_come_together(bench: Bench) -> None:
    bench.write("step_0810.pt")
    made = bench.record("step_0810.pt", 810)
    bench.receive("step_0810.pt")
    bench.manifest.write_pin("step_0810.pt", "before the new data")
    bench.write("last.ckpt")
    bench.write("notes.txt")
    found = look(bench)
    one = seen(found)["step_0810.pt"]
    assert (one.step, one.record, one.pinned, one.rolling) == (810, made, "before the new data", False)
    assert one.receipt is not None
    assert seen(found)["last.ckpt"].rolling
    assert states(bench, found) == {
        "step_0810.pt": State.VERIFIED,
        "last.ckpt": State.UNRECORDED,
        "notes.txt": State.FOREIGN,
    }
    assert (found.condition, found.boot_id) == (Condition.OK, bench.host.boot_id)
    assert found.volume is not None


def test_a_bare_directory_can_be_looked_at_and_nothing_is_created(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, initialised=False)
    bench.write("step_0810.pt")
    found = look(bench)
    assert (found.condition, found.control) == (Condition.UNINITIALISED, None)
    assert list(seen(found)) == ["step_0810.pt"]
    assert sorted(os.listdir(tmp_path)) == ["primary"]
    assert sorted(os.listdir(bench.root)) == ["step_0810.pt"]


def test_a_recorded_name_is_a_checkpoint_whatever_it_looks_like(bench: Bench) -> None:
    for name in ("weights", "model-tmp.pt.tmp", "latest"):
        bench.write(name)
        bench.record(name, 7)
    found = seen(look(bench))
    assert {name: (one.family, one.step) for name, one in found.items()} == {
        "weights": ("recorded", 7),
        "model-tmp.pt.tmp": ("recorded", 7),
        "latest": ("recorded", 7),
    }


def test_links_directories_and_pipes_are_shown_and_never_opened(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.pt"
    elsewhere.write_bytes(b"x")
    (bench.root / "step_0700.pt").symlink_to(elsewhere)
    (bench.root / "logs").mkdir()
    (bench.root / "logs" / "step_0500.pt").write_bytes(b"x")
    os.mkfifo(bench.root / "step_0600.pt")
    found = look(bench)
    assert seen(found)["step_0700.pt"].link == str(elsewhere)
    assert seen(found)["logs"].kind is Kind.DIRECTORY
    assert set(states(bench, found).values()) == {State.FOREIGN}
    assert bench.opened() == []


# --- what is opened


def test_an_unchanged_set_is_looked_at_again_without_opening_a_thing(bench: Bench) -> None:
    for step in range(5):
        bench.write(f"step_{step:04d}.pt")
    bench.write("step_0000.pt.part")
    bench.write("young_0009.pt", age=1.0)
    bench.record("step_0001.pt", 1)
    bench.receive("step_0001.pt")
    (bench.root / "step_0000.pt.part").unlink()
    first = look(bench)
    assert "step_0002.pt" in bench.opened()
    bench.clock.time += 10
    second = look(bench, first)
    assert bench.fs.opened == []
    assert second.sightings == first.sightings
    assert all(seen(second)[name] is one for name, one in seen(first).items())


def test_only_what_changed_is_opened_again(bench: Bench) -> None:
    bench.write("step_0001.pt")
    bench.write("step_0002.pt")
    first = look(bench)
    bench.opened()
    bench.clock.time += 10
    set_age(bench.write("step_0002.pt", b"y" * 7), bench.clock.now(), DAY / 2)
    (bench.root / "step_0003.pt").write_bytes(b"z" * 5)
    set_age(bench.root / "step_0003.pt", bench.clock.now(), DAY)
    found = look(bench, first)
    assert "step_0001.pt" not in bench.opened()
    assert {"step_0002.pt", "step_0003.pt"} <= seen(found).keys()
    assert seen(found)["step_0002.pt"].moved


def test_a_record_that_fits_needs_no_probe_and_one_that_does_not_needs_it_on_the_primary_only(tmp_path: Path) -> None:
    for role, opened in ((Role.PRIMARY, ["step_0002.pt"]), (Role.MIRROR, [])):
        bench = make_bench(tmp_path, role=role)
        bench.write("step_0001.pt")
        bench.record("step_0001.pt", 1)
        bench.write("step_0002.pt")
        bench.record("step_0002.pt", 2, size=5)
        look(bench)
        assert bench.opened() == opened


def test_a_new_record_is_seen_though_the_file_did_not_change(bench: Bench) -> None:
    bench.write("step_0001.pt")
    first = look(bench)
    bench.record("step_0001.pt", 1)
    assert states(bench, look(bench, first)) == {"step_0001.pt": State.SIZE_ONLY}


def test_an_empty_file_is_judged_by_its_structure(bench: Bench) -> None:
    bench.write("step_0001.pt", b"")
    found = look(bench)
    finding = seen(found)["step_0001.pt"].structure
    assert finding is not None
    assert finding.structure is not Structure.UNKNOWN


# --- errors


def test_the_error_of_one_item_is_that_items_alone(bench: Bench) -> None:
    bench.write("step_0001.pt")
    bench.write("step_0002.pt")
    bench.write("step_0003.pt")
    bench.fs.failing["open", str(bench.root / "step_0002.pt")] = errno.EACCES
    bench.fs.failing["stat", str(bench.root / "step_0003.pt")] = errno.EIO
    found = look(bench)
    assert found.condition is Condition.OK
    assert states(bench, found) == {
        "step_0001.pt": State.UNRECORDED,
        "step_0002.pt": State.UNREADABLE,
        "step_0003.pt": State.UNREADABLE,
    }
    error = seen(found)["step_0002.pt"].error
    assert error is not None
    assert "EACCES" in error


def test_an_error_goes_when_its_cause_goes(bench: Bench) -> None:
    path = bench.write("step_0002.pt")
    bench.fs.failing["open", str(path)] = errno.EACCES
    first = look(bench)
    bench.fs.failing.clear()
    assert states(bench, look(bench, first)) == {"step_0002.pt": State.UNRECORDED}


def test_a_listing_that_fails_is_a_condition_and_nothing_is_missing(bench: Bench) -> None:
    bench.write("step_0001.pt")
    bench.record("step_0001.pt", 1)
    found_set = bench.found
    first = look(bench)
    bench.fs.failing["list_directory", str(bench.root)] = errno.EIO
    for previous in (None, first):
        found = scan(bench.host, found_set, DEFAULT_POLICY, previous)
        assert found.condition is Condition.UNREADABLE
        assert "EIO" in found.why
        assert states(bench, found) == {"step_0001.pt": State.UNREADABLE}


def test_bookkeeping_that_cannot_be_listed_makes_nothing_unrecorded(bench: Bench) -> None:
    bench.write("step_0001.pt")
    bench.fs.failing["list_directory", bench.manifest.records_directory] = errno.EIO
    found = look(bench)
    assert found.condition is Condition.UNREADABLE
    assert found.sightings == ()


def test_a_primary_whose_root_is_gone_still_knows_what_it_recorded(bench: Bench) -> None:
    bench.write("step_0001.pt")
    bench.record("step_0001.pt", 1)
    bench.root.rename(bench.root.with_name("unmounted"))
    found = look(bench)
    assert found.condition is Condition.NOT_MOUNTED
    assert states(bench, found) == {"step_0001.pt": State.UNREADABLE}


def test_a_damaged_record_is_a_finding_of_its_checkpoint(bench: Bench) -> None:
    bench.write("step_0001.pt")
    bench.record("step_0001.pt", 1)
    bench.write("step_0002.pt")
    (bench.control / "manifest" / "step_0001.pt.json").write_text("{")
    found = look(bench)
    assert states(bench, found) == {"step_0001.pt": State.UNREADABLE, "step_0002.pt": State.UNRECORDED}
    assert [warning.code for warning in found.warnings] == ["damaged-record"]


# --- missing


def recorded_and_gone(bench: Bench, name: str = "step_0009.pt") -> None:
    bench.write(name)
    bench.record(name, 9)
    (bench.root / name).unlink()


def test_missing_takes_two_listings_at_once_and_one_each_time_after(bench: Bench) -> None:
    recorded_and_gone(bench)
    found = look(bench)
    assert bench.fs.listings.count(str(bench.root)) == 2
    assert seen(found)["step_0009.pt"].seen_missing == 2
    assert states(bench, found) == {"step_0009.pt": State.MISSING}
    again = look(bench, found)
    assert bench.fs.listings.count(str(bench.root)) == 3
    assert seen(again)["step_0009.pt"] is seen(found)["step_0009.pt"]


class Blinking(CountingFileSystem):
    """Its first listing of a directory lacks one name, as a rename in that very moment can make it."""

    def __init__(self, hidden: str, listing: int) -> None:
        super().__init__()
        self.hidden, self.listing = hidden, listing

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        entries = super().list_directory(path)
        if self.listings.count(path) == self.listing:
            entries = [entry for entry in entries if entry.name != self.hidden]
        return entries


@pytest.mark.parametrize(("listing", "state"), [(1, State.SIZE_ONLY), (2, State.UNREADABLE)])
def test_a_name_that_one_listing_lacked_is_not_missing(bench: Bench, listing: int, state: State) -> None:
    bench.write("step_0009.pt")
    bench.record("step_0009.pt", 9)
    recorded_and_gone(bench, "step_0010.pt")
    blinking = Blinking("step_0009.pt", listing)
    found = scan(replace(bench.host, fs=blinking), bench.found, DEFAULT_POLICY)
    assert states(bench, found)["step_0009.pt"] is state


def test_a_listed_name_that_cannot_be_found_is_looked_for_again_and_then_unreadable(bench: Bench) -> None:
    bench.write("step_0009.pt")
    bench.record("step_0009.pt", 9)
    bench.fs.failing["stat", str(bench.root / "step_0009.pt")] = errno.ENOENT
    found = look(bench)
    assert bench.fs.listings.count(str(bench.root)) == 2
    assert states(bench, found) == {"step_0009.pt": State.UNREADABLE}


# --- being written


def test_a_part_with_a_writer_lives_and_without_one_is_stale(bench: Bench) -> None:
    bench.write("step_0800.pt", b"x" * 900)
    part = bench.write("step_0810.pt.part", b"x" * 100, age=1.0)
    with part.open("ab") as file:
        first = look(bench)
        assert flying(first)["step_0810.pt.part"].state is FlightState.LIVE
        bench.clock.time += 2
        file.write(b"y" * 100)
        file.flush()
        second = flying(look(bench, first))["step_0810.pt.part"]
        assert (second.bytes_per_second, second.expected_size, second.target) == (50.0, 900, "step_0810.pt")
    third = flying(look(bench))["step_0810.pt.part"]
    assert (third.state, third.step, third.ours) == (FlightState.STALE, 810, True)
    assert "step_0810.pt" not in seen(look(bench))


def test_a_complete_part_with_its_next_record_is_ready(bench: Bench) -> None:
    bench.write("step_0810.pt.part", b"x" * 100)
    bench.manifest.write_next_record(record("step_0810.pt", 100, step=810))
    found = look(bench)
    assert flying(found)["step_0810.pt.part"].state is FlightState.READY
    assert found.orphan_next == ()


def test_a_part_under_a_hashed_name_finds_its_target_through_the_next_record(bench: Bench) -> None:
    name = "step_0810_" + "n" * 240 + ".pt"
    bench.write(part_name(name), b"x" * 100)
    bench.manifest.write_next_record(record(name, 100, step=810))
    (flight,) = look(bench).in_flight
    assert (flight.target, flight.step, flight.state) == (name, 810, FlightState.READY)


def test_a_next_record_without_data_is_an_orphan(bench: Bench) -> None:
    bench.manifest.write_next_record(record("step_0810.pt", 100))
    assert look(bench).orphan_next == ("step_0810.pt",)


def test_a_part_that_is_the_final_file_is_told(bench: Bench) -> None:
    final = bench.write("step_0810.pt")
    os.link(final, bench.root / "step_0810.pt.part")
    (flight,) = look(bench).in_flight
    assert flight.state is FlightState.STALE
    assert "second name" in flight.reason


def test_a_direct_writer_is_an_unsafe_write_and_in_flight(bench: Bench) -> None:
    path = bench.write("step_0810.pt", age=1.0)
    with path.open("ab"):
        found = look(bench)
    assert seen(found)["step_0810.pt"].held
    assert states(bench, found) == {"step_0810.pt": State.UNSAFE_WRITE}
    (flight,) = found.in_flight
    assert (flight.name, flight.target, flight.final_name) == ("step_0810.pt", "step_0810.pt", True)
    later = look(bench, found)
    assert states(bench, later) == {"step_0810.pt": State.UNRECORDED}
    assert later.in_flight == ()


def test_a_copy_that_sets_the_mtime_back_before_it_is_done_is_seen(bench: Bench) -> None:
    bench.clock.time = os.stat(bench.root).st_ctime + 1  # what is made now is young by its ctime
    path = bench.write("step_0810.pt", age=30 * DAY)
    with path.open("ab"):
        set_age(path, bench.clock.now(), 30 * DAY)
        assert states(bench, look(bench)) == {"step_0810.pt": State.UNSAFE_WRITE}


def test_a_replaced_file_did_not_move(bench: Bench) -> None:
    bench.write("step_0810.pt")
    first = look(bench)
    bench.write("new", b"y" * 500).rename(bench.root / "step_0810.pt")
    found = seen(look(bench, first))["step_0810.pt"]
    assert (found.moved, found.held) == (False, False)


def test_the_writer_has_a_name_where_it_may_be_known(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, writers=lambda files: dict.fromkeys(files, Writer(7, "python")))
    bench.write("step_0810.pt.part")
    assert look(bench).in_flight[0].writer == Writer(7, "python")


def test_nobody_is_asked_about_old_files(tmp_path: Path) -> None:
    asked: list[frozenset[tuple[int, int]]] = []

    def remember(files: frozenset[tuple[int, int]]) -> dict[tuple[int, int], Writer]:
        asked.append(files)
        return {}

    bench = make_bench(tmp_path, writers=remember)
    bench.write("step_0810.pt")
    look(bench)
    assert asked == []


# --- pointers, quarantine


def test_pointers_protect_what_they_name_and_a_pointer_to_nothing_is_said(bench: Bench) -> None:
    for step in (1, 2, 3, 4):
        bench.write(f"step_{step:04d}.pt")
    bench.write("latest", b"step_0001.pt\n")
    bench.write("latest_checkpointed_iteration.txt", b"2")
    bench.write("checkpoint", b'model_checkpoint_path: "step_0003.pt"\nall_model_checkpoint_paths: "x"\n')
    bench.write("LATEST", b"step_0028.pt")
    (bench.root / "newest.pt").symlink_to("step_0004.pt")
    found = look(bench)
    assert {name: one.pointed_at_by for name, one in seen(found).items() if one.pointed_at_by} == {
        "step_0001.pt": "latest",
        "step_0002.pt": "latest_checkpointed_iteration.txt",
        "step_0003.pt": "checkpoint",
        "step_0004.pt": "newest.pt",
    }
    assert ["LATEST" in warning.text for warning in found.warnings] == [True]
    (bench.root / "latest").write_bytes(b"step_0004.pt")
    moved = seen(look(bench, found))
    assert moved["step_0001.pt"].pointed_at_by is None


def test_what_is_quarantined_is_listed_with_or_without_its_reason(bench: Bench) -> None:
    path = bench.write("step_0810.pt", b"x" * 300)
    volume = look(bench).volume
    assert volume is not None
    inode = path.stat().st_ino
    entry = quarantine(
        bench.host, bench.found, volume, Unit(str(bench.root), "step_0810.pt"), inode=inode, reason="650 MB short"
    )
    (one,) = look(bench).quarantine
    assert (one.id, one.name, one.reason, one.size) == (entry, "step_0810.pt", "650 MB short", 300)
    assert one.at == pytest.approx(bench.clock.now(), abs=1e-3)
    (bench.control / "quarantine" / f"{entry}.json").write_text("{")
    (one,) = look(bench).quarantine
    assert (one.name, one.size) == (entry, 300)


def test_a_quarantine_that_cannot_be_listed_is_a_warning(bench: Bench) -> None:
    bench.fs.failing["list_directory", str(bench.control / "quarantine")] = errno.EIO
    found = look(bench)
    assert (found.condition, [warning.code for warning in found.warnings]) == (Condition.OK, ["quarantine"])


# --- the structure of a doubtful save


def test_other_content_on_a_rewritten_primary_is_probed_before_it_is_called_changed(bench: Bench) -> None:
    bench.write("step_0810.pt", b"\0" * 1000, age=DAY / 2)
    bench.record("step_0810.pt", 810, mtime_ns=1, digest=ONE)
    bench.receive("step_0810.pt", OTHER)
    found = look(bench)
    assert bench.opened() == ["step_0810.pt"]
    assert seen(found)["step_0810.pt"].structure is not None


def test_a_publish_that_still_records_is_no_unsafe_writer(bench: Bench) -> None:
    path = bench.write("step_0810.pt", age=1)
    bench.record("step_0810.pt", 810)
    with path.open("r+b") as publisher:
        assert seen(look(bench))["step_0810.pt"].held
        fcntl.flock(publisher, fcntl.LOCK_EX)
        assert not seen(look(bench))["step_0810.pt"].held


def test_what_a_trainer_calls_its_best_is_pointed_at(bench: Bench) -> None:
    """HF Trainer writes the path into its state; Lightning a list of its own."""
    for step in (100, 200):
        (bench.root / f"checkpoint-{step}").mkdir()
    state = {"global_step": 200, "best_model_checkpoint": "/runs/elsewhere/checkpoint-100"}
    (bench.root / "checkpoint-200" / "trainer_state.json").write_text(json.dumps(state))
    bench.write("epoch=1-step=10.ckpt", b"x")
    bench.write("best_k_models.yaml", b"/runs/epoch=1-step=10.ckpt: 0.25\n/runs/gone.ckpt: 0.5\n")
    found = look(bench)
    assert seen(found)["checkpoint-100"].pointed_at_by == "checkpoint-200/trainer_state.json"
    assert seen(found)["checkpoint-200"].pointed_at_by is None
    assert seen(found)["epoch=1-step=10.ckpt"].pointed_at_by == "best_k_models.yaml"
    again = look(bench, found)
    assert again.best is found.best


@pytest.mark.parametrize("state", ["{", "[]", '{"best_model_checkpoint": 7}', '{"best_model_checkpoint": null}'])
def test_a_state_that_names_no_best_points_at_nothing(bench: Bench, state: str) -> None:
    (bench.root / "checkpoint-100").mkdir()
    (bench.root / "checkpoint-100" / "trainer_state.json").write_text(state)
    assert seen(look(bench))["checkpoint-100"].pointed_at_by is None
