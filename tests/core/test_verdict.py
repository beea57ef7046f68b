"""The table of verdicts: every pair of states, first match wins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckptdeck.core.sides import Side, Step
from ckptdeck.core.sighting import Checkpoint, InFlight
from ckptdeck.core.states import Condition, FlightState, Kind, Role, State, Verdict
from ckptdeck.core.verdict import align
from tests.core.looks import ONE, OTHER, inventory, record, sighting

V, S, K, U = State.VERIFIED, State.SIZE_ONLY, State.STRUCTURE_OK, State.UNRECORDED


def copy(state: State, name: str = "step_0810.pt", step: int | None = 810, digest: str = ONE) -> Checkpoint:
    return Checkpoint(sighting(name, step, record=record(name, digest=digest)), state, f"because {state}")


def side(role: Role, *checkpoints: Checkpoint, condition: Condition = Condition.OK, **changes: Any) -> Side:
    seen = inventory(*(c.sighting for c in checkpoints), role=role, condition=condition)
    return Side(replace(seen, **changes), checkpoints)


def row(primary: State | None, mirror: State | None, *, mirrored: bool = True) -> Step:
    one = side(Role.PRIMARY, *([copy(primary)] if primary is not None else []))
    other = side(Role.MIRROR, *([copy(mirror)] if mirror is not None else [])) if mirrored else None
    (found,) = align(one, other)
    return found


@pytest.mark.parametrize(
    ("primary", "mirror", "verdict"),
    [
        (State.UNREADABLE, V, Verdict.UNKNOWN),
        (V, State.UNREADABLE, Verdict.UNKNOWN),
        (State.UNREADABLE, State.RETIRED, Verdict.UNKNOWN),
        (State.RETIRED, V, Verdict.RETIRED),
        (State.UNSAFE_WRITE, State.RETIRED, Verdict.IN_FLIGHT),
        (State.UNSAFE_WRITE, V, Verdict.IN_FLIGHT),
        (V, State.UNSAFE_WRITE, Verdict.IN_FLIGHT),
        (V, V, Verdict.SAFE),
        (V, State.TRUNCATED, Verdict.REPAIR),
        (State.CORRUPT, V, Verdict.REPAIR),
        (V, State.INCOMPLETE, Verdict.REPAIR),
        (State.SUSPECT, V, Verdict.REPAIR),
        (S, V, Verdict.ADOPT),
        (V, S, Verdict.ADOPT),
        (V, U, Verdict.ADOPT),
        (K, None, Verdict.ADOPT),
        (State.CHANGED, V, Verdict.ADOPT),
        (State.TRUNCATED, K, Verdict.ADOPT),
        (State.SUSPECT, U, Verdict.ADOPT),
        (V, None, Verdict.MIRROR_ME),
        (V, State.MISSING, Verdict.MIRROR_ME),
        (V, State.REMOVED, Verdict.MIRROR_ME),
        (None, V, Verdict.MIRROR_ONLY),
        (State.MISSING, V, Verdict.MIRROR_ONLY),
        (State.REMOVED, V, Verdict.MIRROR_ONLY),
        (V, State.FOREIGN, Verdict.AT_RISK),
        (State.SUSPECT, State.SUSPECT, Verdict.AT_RISK),
        (State.TRUNCATED, State.CORRUPT, Verdict.LOST),
        (State.MISSING, None, Verdict.LOST),
        (State.TRUNCATED, State.REMOVED, Verdict.LOST),
    ],
)
def test_two_sides(primary: State | None, mirror: State | None, verdict: Verdict) -> None:
    found = row(primary, mirror)
    assert found.verdict is verdict
    assert found.reason


@pytest.mark.parametrize(
    ("primary", "verdict"),
    [
        (V, Verdict.AT_RISK),
        (S, Verdict.ADOPT),
        (State.SUSPECT, Verdict.AT_RISK),
        (State.CORRUPT, Verdict.LOST),
        (State.UNREADABLE, Verdict.UNKNOWN),
    ],
)
def test_without_a_mirror(primary: State, verdict: Verdict) -> None:
    found = row(primary, None, mirrored=False)
    assert (found.verdict, found.mirror) == (verdict, None)


@pytest.mark.parametrize("primary", [V, S])
@pytest.mark.parametrize("mirror", [V, S])
def test_records_that_name_different_content_diverge(primary: State, mirror: State) -> None:
    one, other = side(Role.PRIMARY, copy(primary)), side(Role.MIRROR, copy(mirror, digest=OTHER))
    (found,) = align(one, other)
    assert found.verdict is Verdict.DIVERGED
    assert ONE[:8] in found.reason
    assert OTHER[:8] in found.reason


def test_what_a_side_lacks_is_absent_and_what_it_cannot_show_is_unreadable() -> None:
    one = side(Role.PRIMARY, copy(V))
    (found,) = align(one, side(Role.MIRROR))
    assert found.mirror is not None
    assert (found.mirror.state, found.mirror.sighting.identity, found.mirror.size) == (State.ABSENT, None, 0)
    lost = side(Role.MIRROR, condition=Condition.NOT_MOUNTED, why="its volume is probably not mounted")
    (found,) = align(one, lost)
    assert (found.verdict, found.mirror.state if found.mirror else None) == (Verdict.UNKNOWN, State.UNREADABLE)
    assert "not mounted" in found.reason


def test_nothing_is_safe_while_a_side_only_says_what_it_said_last() -> None:
    one, other = copy(V), copy(V)
    whole = side(Role.PRIMARY, one), side(Role.MIRROR, other)
    before = align(*whole)
    silent = side(Role.MIRROR, other, condition=Condition.UNREADABLE, why="it does not answer")
    meanwhile = align(whole[0], silent, before)
    assert [(row.verdict, row.reason) for row in meanwhile] == [(Verdict.UNKNOWN, "mirror: it does not answer")]
    assert [row.verdict for row in align(*whole, meanwhile)] == [Verdict.SAFE]


def test_another_name_of_the_same_step_is_a_row_of_its_own() -> None:
    one = side(Role.PRIMARY, copy(V, "step_0810.pt"))
    other = side(Role.MIRROR, copy(V, "step_810.pt"))
    verdicts = {found.name: found.verdict for found in align(one, other)}
    assert verdicts == {"step_0810.pt": Verdict.MIRROR_ME, "step_810.pt": Verdict.MIRROR_ONLY}


def test_steps_count_as_numbers_and_rolling_rows_come_last() -> None:
    names = [("last.ckpt", None), ("step_9900.pt", 9900), ("step_10000.pt", 10000)]
    one = side(Role.PRIMARY, *(copy(V, name, step) for name, step in names))
    assert [found.name for found in align(one, None)] == ["step_10000.pt", "step_9900.pt", "last.ckpt"]


def test_foreign_names_and_a_retentions_work_are_no_rows() -> None:
    one = side(Role.PRIMARY, copy(State.FOREIGN, "notes.txt", None), copy(State.REMOVED))
    assert align(one, side(Role.MIRROR)) == ()
    assert align(one, None) == ()
    assert [found.verdict for found in align(one, side(Role.MIRROR, copy(V)))] == [Verdict.MIRROR_ONLY]


# --- what is being written


def part(state: FlightState, name: str = "step_0820.pt", **changes: Any) -> InFlight:
    made = InFlight(f"{name}.part", name, 820, 5, 0, 3, state, "it grows", None, None, None, True)
    return replace(made, **changes)


@pytest.mark.parametrize("state", [FlightState.LIVE, FlightState.UNKNOWN])
def test_a_name_that_only_exists_as_a_live_part_is_a_row(state: FlightState) -> None:
    (found,) = align(side(Role.PRIMARY, in_flight=(part(state),)), side(Role.MIRROR))
    assert (found.step, found.name, found.verdict) == (820, "step_0820.pt", Verdict.IN_FLIGHT)
    assert found.primary is not None
    assert (found.primary.state, found.primary.sighting.kind) == (State.ABSENT, Kind.FILE)


@pytest.mark.parametrize("state", [FlightState.STALE, FlightState.READY])
def test_a_leftover_part_is_no_row(state: FlightState) -> None:
    assert align(side(Role.PRIMARY, in_flight=(part(state),)), None) == ()


def test_a_save_under_way_over_a_safe_step_is_in_flight_and_our_own_copy_is_not() -> None:
    live = part(FlightState.LIVE, "step_0810.pt")
    (found,) = align(side(Role.PRIMARY, copy(V), in_flight=(live,)), side(Role.MIRROR, copy(V)))
    assert found.verdict is Verdict.IN_FLIGHT
    (found,) = align(side(Role.PRIMARY, copy(V)), side(Role.MIRROR, in_flight=(live,)))
    assert found.verdict is Verdict.MIRROR_ME
