"""Both sides together: twins, resume point, warnings, and looking twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import Pair
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Inventory, Sighting, StructureFinding
from ckptdeck.core.states import Condition, Evidence, FlightState, Role, State, Structure, Verdict
from ckptdeck.core.survey import compose, take_settled_survey, take_survey
from tests.core.looks import (
    GB,
    LOCAL,
    NOW,
    ONE,
    SERVER,
    identity,
    inventory,
    make_bench,
    ns,
    record,
    set_age,
    sighting,
    structure,
    verified,
)

SEED, LEFT = 2_470_000_000, 1_820_000_000


def survey(primary: tuple[Sighting, ...] | Inventory, mirror: tuple[Sighting, ...] | Inventory | None) -> Survey:
    one = primary if isinstance(primary, Inventory) else inventory(*primary)
    other = inventory(*mirror, role=Role.MIRROR) if isinstance(mirror, tuple) else mirror
    return compose(one, other, DEFAULT_POLICY, NOW)


def states(found: Survey, name: str) -> tuple[State | None, State | None]:
    row = next(step for step in found.steps if step.name == name)
    return (row.primary.state if row.primary else None, row.mirror.state if row.mirror else None)


# --- twins


@pytest.mark.parametrize("finding", [None, structure(Structure.OK)])
def test_the_seeds_twins_are_both_suspect_with_both_sizes(finding: StructureFinding | None) -> None:
    one = sighting(identity=identity(SEED), structure=finding)
    other = sighting(identity=identity(LEFT), structure=finding)
    found = survey((one,), (other,))
    assert states(found, "step_0810.pt") == (State.SUSPECT, State.SUSPECT)
    row = found.steps[0]
    assert "2.47 GB on primary, 1.82 GB on mirror" in row.reason
    assert "adopt step_0810.pt --side" in row.reason
    assert row.verdict is Verdict.AT_RISK
    assert found.primary.find("step_0810.pt") == row.primary


def test_twins_of_one_size_stay_candidates_and_proven_damage_stays_proven() -> None:
    same = sighting(identity=identity(SEED))
    assert states(survey((same,), (same,)), "step_0810.pt") == (State.UNRECORDED, State.UNRECORDED)
    whole = sighting(identity=identity(SEED), structure=structure(Structure.OK))
    cut = sighting(identity=identity(LEFT), structure=structure(Structure.CUT))
    found = survey((whole,), (cut,))
    assert states(found, "step_0810.pt") == (State.STRUCTURE_OK, State.TRUNCATED)
    assert found.steps[0].verdict is Verdict.ADOPT


def test_an_unrecorded_copy_on_the_mirror_is_held_against_the_primarys_record() -> None:
    other = sighting(identity=identity(LEFT))
    found = survey((verified("step_0810.pt", 810, SEED),), (other,))
    assert states(found, "step_0810.pt") == (State.VERIFIED, State.SUSPECT)
    assert found.steps[0].verdict is Verdict.REPAIR


def test_an_unrecorded_save_on_the_primary_is_never_doubted_for_the_mirrors_record() -> None:
    newer = sighting(identity=identity(LEFT))
    found = survey((newer,), (verified("step_0810.pt", 810, SEED),))
    assert states(found, "step_0810.pt") == (State.UNRECORDED, State.VERIFIED)
    assert found.steps[0].verdict is Verdict.ADOPT


def test_a_name_recorded_on_one_side_is_foreign_on_neither() -> None:
    recorded = sighting("weights", 5, family="recorded", record=record("weights", step=5))
    found = survey((recorded,), (sighting("weights", None, family="foreign"),))
    assert states(found, "weights") == (State.SIZE_ONLY, State.UNRECORDED)


def test_content_marked_bad_on_one_side_is_bad_on_both() -> None:
    one = verified("step_0810.pt", 810)
    marked = replace(one, record=record(marked_bad=ONE, step=810))
    assert states(survey((marked,), (one,)), "step_0810.pt") == (State.CORRUPT, State.CORRUPT)


# --- the resume point


def resume(primary: tuple[Sighting, ...], mirror: tuple[Sighting, ...] | None = None) -> tuple[object, ...] | None:
    point = survey(primary, mirror).resume
    return None if point is None else (point.step, point.side, point.state, point.certain)


def size_only(name: str, step: int) -> Sighting:
    return sighting(name, step, record=record(name, step=step))


def test_newest_step_first_and_the_primary_before_the_mirror() -> None:
    both = (verified("step_0800.pt", 800),)
    assert resume(both, both) == (800, Role.PRIMARY, State.VERIFIED, True)
    newer = (verified("step_0810.pt", 810),)
    assert resume(both, newer) == (810, Role.MIRROR, State.VERIFIED, True)


def test_size_only_must_still_be_hashed() -> None:
    assert resume((size_only("step_0820.pt", 820), verified("step_0810.pt", 810))) == (
        820,
        Role.PRIMARY,
        State.SIZE_ONLY,
        False,
    )


def test_what_no_record_vouches_for_is_no_resume_point() -> None:
    candidates = (
        sighting("step_0830.pt", 830, structure=structure(Structure.OK)),
        sighting("step_0820.pt", 820),
        sighting("step_0815.pt", 815, record=record("step_0815.pt", retired=True)),
    )
    assert resume(candidates) is None
    assert resume((*candidates, verified("step_0810.pt", 810))) == (810, Role.PRIMARY, State.VERIFIED, True)


def test_a_step_beats_a_rolling_name_and_a_rolling_name_beats_nothing() -> None:
    rolling = verified("last.ckpt", None, age=10.0)
    assert resume((rolling, verified("step_0810.pt", 810))) == (810, Role.PRIMARY, State.VERIFIED, True)
    assert resume((rolling,)) == (None, Role.PRIMARY, State.VERIFIED, True)


def test_the_point_says_where_and_how_it_is_known() -> None:
    point = survey((verified("step_0810.pt", 810),), None).resume
    assert point is not None
    assert (point.path, point.evidence, point.verified_at) == ("/primary/step_0810.pt", Evidence.DEVICE, NOW - 3600)


def test_a_side_that_cannot_be_read_gives_no_resume_point_and_makes_every_row_unknown() -> None:
    lost = inventory(role=Role.MIRROR, condition=Condition.NOT_MOUNTED, why="not mounted", volume=None)
    found = survey((verified("step_0810.pt", 810),), lost)
    assert found.steps[0].verdict is Verdict.UNKNOWN
    assert found.resume is not None
    assert found.resume.side is Role.PRIMARY


# --- beside


def test_one_device_for_both_sides_is_said() -> None:
    mirror = inventory(verified("step_0810.pt", 810), role=Role.MIRROR, volume=LOCAL)
    found = survey((verified("step_0810.pt", 810),), mirror)
    assert found.shared_device
    assert [warning.code for warning in found.warnings] == ["shared-device"]


def test_a_server_where_every_mtime_is_the_same_is_not_believed() -> None:
    alike = tuple(sighting(f"step_{n:04d}.pt", n, identity=identity(mtime_ns=ns(NOW))) for n in range(3))
    assert [w.code for w in survey(inventory(*alike, volume=SERVER), None).warnings] == ["W16"]
    assert survey(inventory(*alike), None).warnings == ()


# --- on disk


def test_a_copy_under_way_is_expected_to_become_what_the_primary_holds(tmp_path: Path) -> None:
    primary = make_bench(tmp_path)
    mirror = make_bench(tmp_path, role=Role.MIRROR)
    primary.write("step_0810.pt", b"x" * 4000)
    mirror.write("step_0810.pt.part", b"x" * 1000, age=1.0)
    found = take_survey(primary.host, Pair(primary.found, mirror.found), DEFAULT_POLICY)
    assert found.mirror is not None
    (flight,) = found.mirror.inventory.in_flight
    assert (flight.expected_size, flight.size) == (4000, 1000)


def test_a_quiet_pair_is_looked_at_once(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    bench.write("step_0810.pt")
    take_settled_survey(bench.host, Pair(bench.found, None), DEFAULT_POLICY)
    assert bench.clock.slept == []


def test_a_young_file_is_looked_at_twice_and_one_that_moves_is_an_unsafe_write(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    path = bench.write("step_0810.pt", age=10.0)
    sleep = bench.clock.sleep

    def write_on(seconds: float) -> None:
        sleep(seconds)
        with path.open("ab") as file:
            file.write(b"y" * 500)
        set_age(path, bench.clock.now(), 0.0)

    bench.clock.sleep = write_on  # type: ignore[method-assign]
    found = take_settled_survey(bench.host, Pair(bench.found, None), DEFAULT_POLICY)
    assert bench.clock.slept == [1.0]
    assert states(found, "step_0810.pt") == (State.UNSAFE_WRITE, None)
    (flight,) = found.primary.inventory.in_flight
    assert (flight.final_name, flight.state) == (True, FlightState.LIVE)
    assert flight.bytes_per_second == pytest.approx(500)


def test_another_naming_policy_reads_everything_anew(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    bench.write("step_0810.pt")
    pair = Pair(bench.found, None)
    first = take_survey(bench.host, pair, DEFAULT_POLICY)
    ignoring = replace(DEFAULT_POLICY, ignore=("step_*",))
    assert [c.state for c in take_survey(bench.host, pair, ignoring, first).primary.checkpoints] == [State.FOREIGN]


def test_sizes_are_bytes() -> None:
    found = survey((verified("step_0810.pt", 810, GB),), None)
    assert found.space[Role.PRIMARY].checkpoint_size == GB
