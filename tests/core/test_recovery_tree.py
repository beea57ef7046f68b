"""What a crash left of a directory or a group, and what one run of recover makes of it; a second finds nothing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import xxhash

from ckptdeck.core.plans.plan import Act, Outcome, PlanResult
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.publish import Intent
from ckptdeck.core.publish_tree import publish_tree
from ckptdeck.core.sighting import Record, RecordMember
from ckptdeck.core.staging import staging_place
from ckptdeck.core.states import FlightState, Kind, MemberKind, Origin, Role, State
from ckptdeck.core.unit import record_of_link, unit_digest
from tests.core.pairs import QUIET, left_in, put, put_names, recover, states, survey
from tests.core.units import contents, fill, seen
from tests.core.workbench import Workbench, digest_of

NAME = "step_500"
Files = Mapping[str, bytes | str | None]
NEW: Files = {"a/x.dat": b"12" * 4000, "trainer_state.json": b"{}", "to": "a/x.dat", "empty": None}
OLD: Files = {"a/x.dat": b"21" * 3000, "b.dat": b"31"}
GROUP = {
    "ckpt-7.index": b"i1" * 60,
    "ckpt-7.data-00000-of-00002": b"d1" * 900,
    "ckpt-7.data-00001-of-00002": b"d2" * 900,
}


def members(files: Files, base: Path) -> tuple[RecordMember, ...]:
    """As a record keeps them."""
    root = fill(base / f"measured-{len(list(base.iterdir()))}", files)
    return tuple(
        RecordMember(m.path, m.size, digest_of((root / m.path).read_bytes()))
        if m.kind is MemberKind.FILE
        else record_of_link(m)
        for m in seen(root).members
    )


def announced(
    bench: Workbench,
    files: Files,
    base: Path,
    *,
    name: str = NAME,
    kind: Kind = Kind.DIRECTORY,
    replaces: str | None = None,
    side: Role = Role.PRIMARY,
    origin: Origin = Origin.PUBLISHED,
) -> Record:
    """A next record of `files`."""
    listed = members(files, base)
    made = Record(
        name=name,
        step=500,
        kind=kind,
        size=sum(member.size for member in listed),
        mtime_ns=int(QUIET) * 10**9,
        digest=unit_digest(listed),
        members=listed,
        recorded_at=QUIET,
        origin=origin,
        run_id=None,
        host="box",
        replaces=replaces,
    )
    bench.manifest(side).write_next_record(made)
    return made


def staged(bench: Workbench, files: Files, name: str = NAME, side: Role = Role.PRIMARY) -> Path:
    return fill(Path(staging_place(bench.on(side), name), name), files, at=QUIET)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A place beside the sets."""
    made = tmp_path / "measured"
    made.mkdir()
    return made


def settled(bench: Workbench, side: Role = Role.PRIMARY) -> bool:
    """Nothing is left to recover."""
    again = plan_recover(survey(bench))
    manifest = bench.manifest(side)
    assert [item for item in again.items if item.acts] == []
    return left_in(bench, side, "staging") == [] and manifest.next_record(NAME) is None


def outcomes(result: PlanResult) -> list[tuple[str, Outcome]]:
    return [(one.item.name, one.outcome) for one in result.results]


# --- directories


def test_what_is_whole_gets_its_name(bench: Workbench, base: Path) -> None:
    made = announced(bench, NEW, base)
    staged(bench, NEW)
    (flight,) = survey(bench).primary.inventory.in_flight
    assert (flight.name, flight.target, flight.step) == (f"staging/{NAME}", NAME, 500)
    assert (flight.kind, flight.staged, flight.announced, flight.state) == (
        Kind.DIRECTORY,
        True,
        True,
        FlightState.READY,
    )
    assert outcomes(recover(bench)) == [(NAME, Outcome.DONE)]
    assert contents(bench.primary / NAME) == NEW
    assert bench.record(NAME) == made
    assert states(bench, NAME)[0] is State.VERIFIED
    assert settled(bench)


def test_what_replaces_the_old_one_takes_its_place(bench: Workbench, base: Path) -> None:
    put(bench, NAME, OLD)
    announced(bench, NEW, base, replaces=unit_digest(members(OLD, base)))
    staged(bench, NEW)
    recover(bench)
    assert contents(bench.primary / NAME) == NEW
    assert (settled(bench), left_in(bench, Role.PRIMARY, "quarantine")) == (True, [])


def test_what_had_taken_its_place_already_is_recorded_and_the_old_one_goes(bench: Workbench, base: Path) -> None:
    put(bench, NAME, NEW)
    announced(bench, NEW, base, replaces=unit_digest(members(OLD, base)))
    staged(bench, OLD)
    recover(bench)
    assert contents(bench.primary / NAME) == NEW
    assert bench.record(NAME).digest == unit_digest(members(NEW, base))
    assert (settled(bench), left_in(bench, Role.PRIMARY, "quarantine")) == (True, [])


@pytest.mark.parametrize("lost", ["a/x.dat", "trainer_state.json", "to", "empty"])
def test_what_lacks_anything_is_set_aside(bench: Workbench, base: Path, lost: str) -> None:
    announced(bench, NEW, base)
    staged(bench, {path: data for path, data in NEW.items() if path != lost})
    recover(bench)
    assert bench.names(Role.PRIMARY) == set()
    assert len(left_in(bench, Role.PRIMARY, "quarantine")) == 1
    assert settled(bench)


@pytest.mark.parametrize("other", [{**NEW, "a/x.dat": b"13" * 4000}, {**NEW, "more": b"1"}, {**NEW, "to": "empty"}])
def test_what_holds_other_bytes_is_set_aside(bench: Workbench, base: Path, other: Files) -> None:
    announced(bench, NEW, base)
    staged(bench, other)
    recover(bench)
    assert bench.names(Role.PRIMARY) == set()
    (aside,) = left_in(bench, Role.PRIMARY, "quarantine")
    assert contents(Path(bench.on(Role.PRIMARY).control_path("quarantine", aside))) == other
    assert settled(bench)


def test_a_pipe_in_it_is_set_aside_with_it(bench: Workbench, base: Path) -> None:
    announced(bench, NEW, base)
    os.mkfifo(staged(bench, NEW) / "pipe")
    recover(bench)
    assert bench.names(Role.PRIMARY) == set()
    assert settled(bench)


def test_a_name_that_something_else_took_stays_with_it(bench: Workbench, base: Path) -> None:
    put(bench, NAME, OLD)
    announced(bench, NEW, base)
    staged(bench, NEW)
    recover(bench)
    assert contents(bench.primary / NAME) == OLD
    assert len(left_in(bench, Role.PRIMARY, "quarantine")) == 1
    assert settled(bench)


def test_a_file_under_its_name_is_left_alone(bench: Workbench, base: Path) -> None:
    bench.put(Role.PRIMARY, NAME, b"a file", QUIET)
    announced(bench, NEW, base)
    staged(bench, NEW)
    recover(bench)
    assert (bench.primary / NAME).read_bytes() == b"a file"
    assert left_in(bench, Role.PRIMARY, "staging") == []


def test_what_nobody_announced_is_taken_apart(bench: Workbench) -> None:
    os.mkfifo(staged(bench, {"half": b"1", "sub/x": b"2"}) / "pipe")
    plan = plan_recover(survey(bench))
    assert [(item.name, item.act, item.details["mode"]) for item in plan.items] == [(NAME, Act.DISCARD, "tree")]
    recover(bench)
    assert (bench.names(Role.PRIMARY), settled(bench)) == (set(), True)


def test_only_a_record_to_finish_is_left(bench: Workbench, base: Path) -> None:
    put(bench, NAME, NEW)
    made = announced(bench, NEW, base)
    recover(bench)
    assert bench.record(NAME) == made
    assert (states(bench, NAME)[0], settled(bench)) == (State.VERIFIED, True)


def test_an_announcement_without_data_is_withdrawn(bench: Workbench, base: Path) -> None:
    announced(bench, NEW, base)
    assert survey(bench).primary.inventory.orphan_next == (NAME,)
    recover(bench)
    assert settled(bench)


@pytest.mark.parametrize("announce", [True, False])
def test_what_its_writer_still_holds_is_left_alone(bench: Workbench, base: Path, announce: bool) -> None:
    if announce:
        announced(bench, NEW, base)
    root = staged(bench, NEW)
    owner = os.open(root.parent, os.O_RDONLY)
    fcntl.flock(owner, fcntl.LOCK_EX)
    try:
        (flight,) = survey(bench).primary.inventory.in_flight
        assert flight.state is FlightState.LIVE
        assert recover(bench).results == ()
        assert contents(root) == NEW
    finally:
        os.close(owner)


def test_a_library_that_works_beside_what_it_was_given_is_left_alone(bench: Workbench) -> None:
    """As Orbax does it when told to overwrite: for a while the directory itself is not there."""
    with publish_tree(bench.host, bench.on(Role.PRIMARY), Intent(NAME)) as (path, _):
        Path(path).rmdir()
        beside = fill(Path(f"{path}.orbax-checkpoint-tmp"), NEW)
        (flight,) = survey(bench).primary.inventory.in_flight
        assert (flight.name, flight.target, flight.state) == (f"staging/{NAME}", NAME, FlightState.LIVE)
        assert recover(bench).results == ()
        assert contents(beside) == NEW
        beside.rename(path)
    assert contents(bench.primary / NAME) == NEW
    assert settled(bench)


@pytest.mark.parametrize("name", ["y" * 250, os.fsdecode(b"b\xff\n_7")])
def test_names_that_are_kept_as_a_hash_are_found_again(bench: Workbench, base: Path, name: str) -> None:
    announced(bench, NEW, base, name=name)
    staged(bench, NEW, name)
    recover(bench)
    assert bench.names(Role.PRIMARY) == {name}
    staged(bench, NEW, f"{name[:-1]}8")
    recover(bench)
    assert left_in(bench, Role.PRIMARY, "staging") == []


# --- groups


@pytest.mark.parametrize("placed", [0, 1, 2, 3])
def test_a_group_is_finished_wherever_its_naming_was_cut(bench: Workbench, base: Path, placed: int) -> None:
    names = sorted(GROUP, key=lambda name: (name.endswith(".index"), name))
    announced(bench, GROUP, base, name="ckpt-7", kind=Kind.GROUP)
    put_names(bench, {name: GROUP[name] for name in names[:placed]})
    staged(bench, {name: GROUP[name] for name in names[placed:]}, "ckpt-7")
    recover(bench)
    assert bench.names(Role.PRIMARY) == set(GROUP)
    assert bench.record("ckpt-7").kind is Kind.GROUP
    assert states(bench, "ckpt-7")[0] is State.VERIFIED
    assert bench.manifest().next_record("ckpt-7") is None
    assert settled(bench)


def test_a_group_that_lost_a_file_takes_its_names_back(bench: Workbench, base: Path) -> None:
    names = sorted(GROUP)
    announced(bench, GROUP, base, name="ckpt-7", kind=Kind.GROUP)
    put_names(bench, {names[0]: GROUP[names[0]]})
    staged(bench, {names[2]: GROUP[names[2]]}, "ckpt-7")
    recover(bench)
    assert bench.names(Role.PRIMARY) == set()
    assert bench.manifest().next_record("ckpt-7") is None
    assert settled(bench)


def test_a_file_of_somebody_else_among_a_group_s_names_stays(bench: Workbench, base: Path) -> None:
    names = sorted(GROUP)
    announced(bench, GROUP, base, name="ckpt-7", kind=Kind.GROUP)
    put_names(bench, {names[0]: b"theirs", names[1]: GROUP[names[1]]})
    staged(bench, {names[2]: GROUP[names[2]]}, "ckpt-7")
    recover(bench)
    assert bench.names(Role.PRIMARY) == {names[0]}
    assert (bench.primary / names[0]).read_bytes() == b"theirs"
    assert settled(bench)


# --- the mirror's copies


def test_a_copy_that_was_announced_is_finished_on_the_mirror(bench: Workbench, base: Path) -> None:
    put(bench, NAME, NEW)
    announced(bench, NEW, base, side=Role.MIRROR, origin=Origin.MIRRORED)
    staged(bench, NEW, side=Role.MIRROR)
    recover(bench)
    assert contents(bench.mirror / NAME) == NEW
    assert settled(bench, Role.MIRROR)


def test_a_copy_that_the_mirror_command_goes_on_with_is_left_to_it(bench: Workbench) -> None:
    put(bench, NAME, {"a/x.dat": bytes(range(1, 200))})
    staged(bench, {"a/x.dat": bytes(range(1, 100))}, side=Role.MIRROR)
    plan = plan_recover(survey(bench))
    (kept,) = [item for item in plan.items if item.side is Role.MIRROR]
    assert kept.act is Act.KEEP
    assert f"`ckptdeck mirror {NAME}` goes on with it" in kept.reason


def test_a_damaged_announcement_stops_nothing_else(bench: Workbench, base: Path) -> None:
    announced(bench, NEW, base)
    staged(bench, NEW)
    put(bench, "step_600", NEW)
    announced(bench, NEW, base, name="step_600")
    (Path(bench.on(Role.PRIMARY).control_path("manifest")) / f"{NAME}.json.next").write_bytes(b"{")
    recover(bench)
    assert bench.record("step_600").digest == unit_digest(members(NEW, base))
    assert bench.names(Role.PRIMARY) == {"step_600"}
    assert left_in(bench, Role.PRIMARY, "staging") == []


def test_what_is_measured_here_is_what_the_core_measures(base: Path) -> None:
    (x, *_rest) = [member for member in members(NEW, base) if member.path == "a/x.dat"]
    assert x.digest == xxhash.xxh3_128(b"12" * 4000).hexdigest()
    assert replace(x, digest="") == RecordMember("a/x.dat", 8000, "")
