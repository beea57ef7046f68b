"""What a listing is sorted into: directories and groups of every shape, and what was seen before."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.filesystem import DirectoryEntry
from ckptdeck.core.health import judge
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.scan import scan
from ckptdeck.core.sighting import Checkpoint, Inventory, RecordMember, Sighting
from ckptdeck.core.states import FlightState, Kind, MemberKind, Role, State
from tests.core.looks import DAY, ONE, Bench, CountingFileSystem, make_bench, record, set_age
from tests.core.units import HOSTILE, fill, rest

SOME = bytes(range(1, 101))
WHOLE: dict[str, bytes | str | None] = {"weights.dat": SOME, "rank_0.dat": SOME[:10], "rank_1.dat": SOME[:10]}
"""Files of no format and a directory's worth of no layout: nothing but the listing speaks."""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


def put(bench: Bench, name: str, files: dict[str, bytes | str | None], *, age: float = DAY) -> Path:
    return fill(bench.root / name, files, at=bench.clock.now() - age)


def look(bench: Bench, previous: Inventory | None = None, policy: Policy = DEFAULT_POLICY) -> Inventory:
    return scan(bench.host, bench.found, policy, previous)


def seen(found: Inventory) -> dict[str, Sighting]:
    return {sighting.name: sighting for sighting in found.sightings}


def judged(bench: Bench, found: Inventory) -> dict[str, Checkpoint]:
    return {c.name: c for c in judge(found, DEFAULT_POLICY, bench.clock.now())}


# --- directories


def test_a_directory_is_one_checkpoint_with_all_that_is_in_it(bench: Bench) -> None:
    put(bench, "step_500", {**WHOLE, "deep/er/x.dat": b"1", "latest": "deep"})
    one = seen(look(bench))["step_500"]
    assert (one.kind, one.family, one.step, one.rolling) == (Kind.DIRECTORY, "nemo-rl", 500, False)
    assert one.identity is not None
    assert one.identity.size == 121
    assert [m.path for m in one.identity.members if m.kind is MemberKind.LINK] == ["latest"]


def test_names_inside_may_hold_any_byte(bench: Bench) -> None:
    put(bench, "step_500", dict.fromkeys(HOSTILE, b"x"))
    found = look(bench)
    one = seen(found)["step_500"]
    assert one.identity is not None
    assert {member.path for member in one.identity.members} == set(HOSTILE)
    assert one.error is None
    assert "\x1b" not in judged(bench, found)["step_500"].reason


def test_a_directory_of_no_known_layout_is_not_walked(bench: Bench) -> None:
    put(bench, "tensorboard", {"sub/events.out": b"1"})
    put(bench, "runs_7", {"sub/notes.txt": b"1"})
    bench.fs.listings.clear()
    found = look(bench)
    assert {name: one.family for name, one in seen(found).items()} == {"tensorboard": "foreign", "runs_7": "foreign"}
    assert not any("/sub" in path for path in bench.fs.listings)


@pytest.mark.parametrize("end", ["", "-last"])
def test_a_directory_of_nemo_needs_no_ending(bench: Bench, end: str) -> None:
    name = f"llama--val_loss=0.25-step=810-consumed_samples=90.0{end}"
    put(bench, name, {"weights/.metadata": b"1", "context/io.json": b"{}"})
    one = seen(look(bench))[name]
    assert (one.kind, one.family, one.step) == (Kind.DIRECTORY, "nemo", 810)


@pytest.mark.parametrize("what", ["pipe", "socket"])
def test_a_pipe_or_socket_inside_is_told_and_nothing_is_opened(bench: Bench, what: str) -> None:
    root = put(bench, "step_500", WHOLE)
    if what == "pipe":
        os.mkfifo(root / "pi\npe")
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(root / "pi\npe"))
    found = look(bench)
    one = judged(bench, found)["step_500"]
    assert one.state is State.UNREADABLE
    assert r"pi\npe in it, which is neither file, link nor directory" in one.reason
    assert bench.opened() == []


def test_a_directory_inside_that_cannot_be_listed_makes_it_unreadable(bench: Bench) -> None:
    root = put(bench, "step_500", {**WHOLE, "sub/x": b"1"})
    put(bench, "step_400", WHOLE)
    bench.fs.failing[("list_directory", str(root / "sub"))] = errno.EACCES
    found = look(bench)
    one = judged(bench, found)["step_500"]
    assert one.state is State.UNREADABLE
    assert "/sub" in one.reason
    assert "Permission denied" in one.reason
    assert judged(bench, found)["step_400"].state is State.UNRECORDED
    bench.fs.failing.clear()
    assert judged(bench, look(bench, found))["step_500"].state is State.UNRECORDED


def test_a_file_inside_that_cannot_be_looked_at_makes_it_unreadable(bench: Bench) -> None:
    root = put(bench, "step_500", WHOLE)
    bench.fs.failing[("stat", str(root / "weights.dat"))] = errno.EIO
    one = judged(bench, look(bench))["step_500"]
    assert one.state is State.UNREADABLE
    assert "weights.dat" in one.reason


def test_a_link_to_a_directory_is_shown_and_not_followed(bench: Bench, tmp_path: Path) -> None:
    fill(tmp_path / "elsewhere", WHOLE)
    (bench.root / "step_500").symlink_to(tmp_path / "elsewhere")
    found = look(bench)
    assert seen(found)["step_500"].link == str(tmp_path / "elsewhere")
    assert judged(bench, found)["step_500"].state is State.FOREIGN


def test_a_link_that_leads_out_of_it_makes_it_suspect(bench: Bench) -> None:
    put(bench, "step_500", {**WHOLE, "model.bin": "../step_400/model.bin"})
    put(bench, "step_400", {**WHOLE, "loop": "loop", "gone": "nowhere", "dir": ".", "to": "weights.dat"})
    states = judged(bench, look(bench))
    assert states["step_500"].state is State.SUSPECT
    assert "outside of the checkpoint" in states["step_500"].reason
    assert states["step_400"].state is State.UNRECORDED


# --- empty, young, changing


def test_an_empty_directory_beside_a_good_checkpoint_is_incomplete(bench: Bench) -> None:
    put(bench, "step_10", {})
    put(bench, "step_2", WHOLE)
    states = judged(bench, look(bench))
    assert states["step_10"].state is State.INCOMPLETE
    assert states["step_2"].state is State.UNRECORDED


def test_a_young_directory_that_lacks_members_is_being_written_and_a_quiet_one_incomplete(bench: Bench) -> None:
    put(bench, "step_500", {}, age=10.0)
    first = look(bench)
    one = judged(bench, first)["step_500"]
    assert one.state is State.UNSAFE_WRITE
    assert "it may still be written" in one.reason
    bench.clock.time += 400
    assert judged(bench, look(bench, first))["step_500"].state is State.INCOMPLETE


def test_empty_directories_and_links_alone_hold_nothing(bench: Bench) -> None:
    put(bench, "step_10", {"sub": None, "to": "sub"})
    assert judged(bench, look(bench))["step_10"].state is State.INCOMPLETE


def test_an_empty_directory_that_was_made_anew_is_another_one(bench: Bench) -> None:
    root = put(bench, "step_10", {})
    first = look(bench)
    kept = root.rename(bench.root / "tensorboard")
    put(bench, "step_10", {})
    found = look(bench, first)
    one = seen(found)["step_10"].identity
    assert one is not None
    assert one.node == (root.stat().st_dev, root.stat().st_ino)
    assert root.stat().st_ino != kept.stat().st_ino


@pytest.mark.parametrize("how", ["grown", "new file", "lost file"])
def test_a_directory_that_changes_between_two_looks_is_being_written(bench: Bench, how: str) -> None:
    root = put(bench, "step_500", WHOLE)
    first = look(bench)
    if how == "grown":
        (root / "weights.dat").write_bytes(SOME * 2)
    elif how == "new file":
        (root / "late.dat").write_bytes(SOME[:5])
    else:
        (root / "rank_1.dat").unlink()
    rest(root, bench.clock.now() - DAY / 2)
    bench.clock.time += 2.0
    found = look(bench, first)
    assert judged(bench, found)["step_500"].state is State.UNSAFE_WRITE
    flight = next(flight for flight in found.in_flight if flight.name == "step_500")
    assert (flight.kind, flight.state, flight.final_name) == (Kind.DIRECTORY, FlightState.LIVE, True)
    bench.clock.time += 2.0
    assert judged(bench, look(bench, found))["step_500"].state is State.UNRECORDED


def test_a_directory_whose_file_was_replaced_by_a_rename_is_not_being_written(bench: Bench) -> None:
    root = put(bench, "step_500", WHOLE)
    first = look(bench)
    (root / "new").write_bytes(SOME * 2)
    set_age(root / "new", bench.clock.now(), DAY / 2)
    os.replace(root / "new", root / "weights.dat")
    found = look(bench, first)
    assert judged(bench, found)["step_500"].state is State.UNRECORDED


class _Moving(CountingFileSystem):
    """Something happens to a directory when it is listed for the `at`-th time."""

    def __init__(self, path: Path, at: int, happens: object) -> None:
        super().__init__()
        self.path, self.at, self.happens = str(path), at, happens
        self.count = 0

    def list_directory(self, path: str) -> list[DirectoryEntry]:
        if path == self.path:
            self.count += 1
            if self.count == self.at:
                assert callable(self.happens)
                self.happens()
        return super().list_directory(path)


def test_a_directory_that_vanishes_while_it_is_looked_at_is_not_an_error(bench: Bench) -> None:
    root = put(bench, "step_500", WHOLE)
    fs = _Moving(root, 1, lambda: root.rename(bench.root.parent / "gone"))
    found = scan(replace(bench.host, fs=fs), bench.found, DEFAULT_POLICY)
    assert judged(bench, found)["step_500"].state is State.UNSAFE_WRITE
    assert "step_500" not in seen(look(bench, found))


def test_a_directory_that_is_filled_while_it_is_looked_at_is_being_written(bench: Bench) -> None:
    root = put(bench, "step_500", WHOLE)
    fs = _Moving(root, 2, lambda: (root / "late.pt").write_bytes(b"1"))
    found = scan(replace(bench.host, fs=fs), bench.found, DEFAULT_POLICY)
    assert judged(bench, found)["step_500"].state is State.UNSAFE_WRITE


# --- unchanged


def test_nothing_is_opened_in_an_unchanged_set_of_directories_and_groups(bench: Bench) -> None:
    put(bench, "step_500", WHOLE)
    put(bench, "step_600", {"sub/deep/x": b"1", "to": "sub", "empty": None})
    for name in ("model_700.pt", "optim_700_rank0.pt", "meta_700.json", "ckpt-8.data-00000-of-00001"):
        bench.write(name)
    first = look(bench)
    assert {"step_500", "step_600", "step_700", "ckpt-8"} <= seen(first).keys()
    assert bench.opened() != []
    bench.clock.time += 10
    second = look(bench, first)
    assert bench.opened() == []
    assert all(seen(second)[name] is one for name, one in seen(first).items())


def test_five_thousand_shards_are_walked_and_not_opened_again(bench: Bench) -> None:
    put(bench, "step-100", {f"__{rank}_{part}.distcp": b"x" for rank in range(50) for part in range(100)})
    first = look(bench)
    bench.opened()
    bench.fs.listings.clear()
    bench.clock.time += 10
    second = look(bench, first)
    assert bench.opened() == []
    assert bench.fs.listings.count(str(bench.root / "step-100")) == 1
    assert seen(second)["step-100"] is seen(first)["step-100"]


def test_a_pin_that_was_set_since_shows_at_a_directory_and_a_group(bench: Bench) -> None:
    put(bench, "step_500", WHOLE)
    bench.write("model_700.pt")
    bench.write("optim_700.pt")
    first = look(bench)
    for name in ("step_500", "step_700"):
        bench.manifest.write_pin(name, "keep")
    bench.clock.time += 10
    second = seen(look(bench, first))
    assert (second["step_500"].pinned, second["step_700"].pinned) == ("keep", "keep")


# --- groups


def test_a_group_is_one_checkpoint_and_its_names_are_none(bench: Bench) -> None:
    for name in ("model_000810.pt", "optim_000810_rank0.pt", "meta_000810.json"):
        bench.write(name)
    found = look(bench)
    assert list(seen(found)) == ["step_000810"]
    one = seen(found)["step_000810"]
    assert (one.kind, one.step) == (Kind.GROUP, 810)
    assert one.identity is not None
    assert [m.path for m in one.identity.members] == ["meta_000810.json", "model_000810.pt", "optim_000810_rank0.pt"]


def test_the_policy_can_keep_names_apart(bench: Bench) -> None:
    for name in ("model_000810.pt", "optim_000810.pt"):
        bench.write(name)
    apart = look(bench, policy=replace(DEFAULT_POLICY, group=False))
    assert seen(apart).keys() == {"model_000810.pt", "optim_000810.pt"}
    assert seen(look(bench, apart)).keys() == {"step_000810"}


def test_a_tensorflow_checkpoint_without_its_index_or_data_is_incomplete(bench: Bench) -> None:
    bench.write("ckpt-7.data-00000-of-00001")
    bench.write("ckpt-8.index")
    states = judged(bench, look(bench))
    assert states["ckpt-7"].state is State.INCOMPLETE
    assert states["ckpt-8"].state is not State.STRUCTURE_OK
    assert states.keys() == {"ckpt-7", "ckpt-8"}


def test_a_member_that_cannot_be_looked_at_makes_the_group_unreadable(bench: Bench) -> None:
    for name in ("model_810.pt", "optim_810.pt"):
        bench.write(name)
    bench.fs.failing[("stat", str(bench.root / "optim_810.pt"))] = errno.EIO
    states = judged(bench, look(bench))
    assert {name: one.state for name, one in states.items()} == {"step_810": State.UNREADABLE}


def test_a_group_and_a_directory_of_one_name_stay_two(bench: Bench) -> None:
    put(bench, "step_100", WHOLE)
    for name in ("model_step_100.pt", "optim_step_100.pt"):
        bench.write(name)
    found = look(bench)
    assert {name: one.kind for name, one in seen(found).items()} == {
        "step_100": Kind.DIRECTORY,
        "step_100.group": Kind.GROUP,
    }
    bench.clock.time += 10
    assert look(bench, found).sightings == found.sightings


def test_a_recorded_group_that_lost_everything_is_missing_and_one_name_keeps_it_there(bench: Bench) -> None:
    for name in ("model_810.pt", "optim_810.pt"):
        bench.write(name)
    members = tuple(RecordMember(name, 1000, ONE) for name in ("model_810.pt", "optim_810.pt"))
    made = replace(record("step_810", 2000, step=810), kind=Kind.GROUP, members=members)
    bench.manifest.write_record(made)
    (bench.root / "optim_810.pt").unlink()
    assert judged(bench, look(bench))["step_810"].sighting.identity is not None
    (bench.root / "model_810.pt").unlink()
    gone = look(bench)
    assert judged(bench, gone)["step_810"].state is State.MISSING
    assert (seen(gone)["step_810"].kind, seen(gone)["step_810"].step) == (Kind.GROUP, 810)


def test_a_file_that_joins_a_recorded_group_makes_it_no_second_checkpoint(bench: Bench) -> None:
    for step in (700, 810):
        for name in (f"model_{step}.pt", f"optim_{step}.pt"):
            bench.write(name)
    members = tuple(RecordMember(name, 1000, ONE) for name in ("model_810.pt", "optim_810.pt"))
    bench.manifest.write_record(replace(record("step_810", 2000, step=810), kind=Kind.GROUP, members=members))
    bench.write("ema_810.pt")
    found = look(bench)
    assert sorted(one.name for one in found.sightings) == ["step_700", "step_810"]
    identity = seen(found)["step_810"].identity
    assert identity is not None
    assert len(identity.members) == 3


# --- what other names say


@pytest.mark.parametrize("name", ["megatron_gpt--val_loss=2.1", "megatron_gpt--val_loss=2.1-step=500.ckpt"])
@pytest.mark.parametrize("ema", ["", "-EMA"])
def test_nemo_s_marker_is_about_the_checkpoint_whatever_its_ending(bench: Bench, name: str, ema: str) -> None:
    stem = name.removesuffix(".ckpt")
    ckpt = f"{stem}{ema}.ckpt"
    put(bench, ckpt, {"weights/x": b"1", "context/y": b"2"})
    (bench.root / f"{stem}-unfinished").touch()
    found = look(bench)
    assert seen(found).keys() == {ckpt}
    one = judged(bench, found)[ckpt]
    assert one.state is State.INCOMPLETE
    assert "-unfinished says that it is not finished" in one.reason


def test_a_marker_about_a_young_checkpoint_says_that_it_is_being_written(bench: Bench) -> None:
    put(bench, "step-500", {"x": b"1"}, age=10.0)
    (bench.root / "step-500-unfinished").touch()
    assert judged(bench, look(bench))["step-500"].state is State.UNSAFE_WRITE


def test_a_directory_that_is_called_like_a_marker_is_not_one(bench: Bench) -> None:
    put(bench, "step-500", WHOLE)
    put(bench, "step-500-unfinished", {"x": b"1"})
    found = look(bench)
    assert seen(found)["step-500"].unfinished is None
    assert "step-500-unfinished" in seen(found)


def test_pointers_name_directories_and_groups(bench: Bench) -> None:
    put(bench, "global_step500", WHOLE)
    put(bench, "iter_0000810", WHOLE)
    for name in ("ckpt-7.index", "ckpt-7.data-00000-of-00001"):
        bench.write(name)
    bench.write("latest", b"global_step500")
    bench.write("latest_checkpointed_iteration.txt", b"810")
    bench.write("checkpoint", b'model_checkpoint_path: "ckpt-7"\nall_model_checkpoint_paths: "ckpt-7"\n')
    (bench.root / "newest").symlink_to("iter_0000810")
    found = seen(look(bench))
    assert found["global_step500"].pointed_at_by == "latest"
    assert found["ckpt-7"].pointed_at_by == "checkpoint"
    assert found["iter_0000810"].pointed_at_by in ("newest", "latest_checkpointed_iteration.txt")


# --- records of another kind


@pytest.mark.parametrize("role", list(Role))
def test_a_directory_where_a_file_was_recorded_is_suspect(tmp_path: Path, role: Role) -> None:
    bench = make_bench(tmp_path / "x", role=role)
    bench.manifest.write_record(record("step_500", 120, step=500))
    put(bench, "step_500", WHOLE)
    one = judged(bench, look(bench))["step_500"]
    assert one.state is State.SUSPECT
    assert one.reason.startswith("recorded as a file, is a directory: move it away")


def test_a_damaged_record_of_a_directory_makes_it_unreadable_and_says_so(bench: Bench) -> None:
    put(bench, "step_500", WHOLE)
    (bench.control / "manifest" / "step_500.json").write_bytes(b"{}")
    one = judged(bench, look(bench))["step_500"]
    assert one.state is State.UNREADABLE
    assert "its record is damaged" in one.reason
