"""What is told to a person, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.states import Condition, FlightState, Role, State, Verdict
from ckptdeck.core.survey import Projection
from ckptdeck.monitor.trouble import find_trouble
from tests.monitor.making import checkpoint, flight, inventory, step, survey


def primary_only(state: State, reason: str = "why", verdict: Verdict = Verdict.AT_RISK) -> tuple[str, ...]:
    one = checkpoint("step_1.pt", state, reason)
    good = checkpoint("step_2.pt")
    steps = [step("step_2.pt", Verdict.AT_RISK, good, None), step("step_1.pt", verdict, one, None)]
    return find_trouble(survey(inventory(), None, {Role.PRIMARY: (good, one)}, steps=steps))


def room_for(fits: int | None) -> Projection:
    return Projection(100, 60.0, fits, None, "largest of the last 5: 100 B")


@pytest.mark.parametrize(
    "state",
    [State.TRUNCATED, State.CORRUPT, State.INCOMPLETE, State.CHANGED, State.SUSPECT, State.MISSING, State.UNREADABLE],
)
def test_a_copy_that_is_not_right_is_told_with_its_reason(state: State) -> None:
    assert primary_only(state, "650 MB are missing") == (f"step_1.pt on primary is {state}: 650 MB are missing",)


@pytest.mark.parametrize(
    "state",
    [
        State.VERIFIED,
        State.SIZE_ONLY,
        State.STRUCTURE_OK,
        State.UNRECORDED,
        State.REMOVED,
        State.ABSENT,
        State.RETIRED,
        State.FOREIGN,
    ],
)
def test_what_is_fine_or_meant_is_no_trouble(state: State) -> None:
    assert primary_only(state) == ()


def test_a_direct_writer_is_told() -> None:
    (told,) = primary_only(State.UNSAFE_WRITE, "pid 7 has it open")
    assert told == "step_1.pt on primary is being written under its final name: pid 7 has it open"


def test_diverged_and_lost_steps_are_told_beside_their_copies() -> None:
    assert primary_only(State.VERIFIED, verdict=Verdict.DIVERGED)[0].startswith("step_1.pt differs between the sides")
    assert primary_only(State.CORRUPT, verdict=Verdict.LOST)[0] == "step_1.pt is whole on no side: as told"


@pytest.mark.parametrize(
    ("state", "told"),
    [(FlightState.STALE, True), (FlightState.READY, True), (FlightState.LIVE, False), (FlightState.UNKNOWN, False)],
)
def test_a_part_is_trouble_once_nobody_writes_it(state: FlightState, told: bool) -> None:
    trouble = find_trouble(survey(inventory(in_flight=[flight("x.pt.part", state, "quiet for 2h")])))
    assert bool(trouble) is told
    assert all("x.pt.part on primary" in text and "quiet for 2h" in text for text in trouble)


@pytest.mark.parametrize("condition", [c for c in Condition if c not in (Condition.OK, Condition.UNINITIALISED)])
def test_a_side_that_is_not_right_comes_before_everything_else(condition: Condition) -> None:
    bad = checkpoint("step_1.pt", State.CORRUPT, "one bit")
    seen = survey(
        inventory(),
        inventory(Role.MIRROR, root="/mnt/d", condition=condition, why="Mount it"),
        {Role.PRIMARY: (bad,)},
        steps=[step("step_1.pt", Verdict.LOST, bad, None)],
    )
    first, *rest = find_trouble(seen)
    assert first.startswith("mirror /mnt/d is ")
    assert first.endswith("Mount it")
    assert rest


def test_copies_on_a_side_that_cannot_be_read_are_not_judged() -> None:
    stale = checkpoint("step_1.pt", State.MISSING, "gone")
    gone = inventory(Role.MIRROR, condition=Condition.NOT_MOUNTED, why="Mount it")
    seen = survey(inventory(), gone, {}, steps=[step("step_1.pt", Verdict.UNKNOWN, None, stale)])
    assert not any("step_1.pt" in text for text in find_trouble(seen))


def test_a_bare_directory_is_no_trouble() -> None:
    assert find_trouble(survey(inventory(condition=Condition.UNINITIALISED))) == ()


def test_no_way_to_resume_is_told_only_when_there_is_something_and_no_hope() -> None:
    def told(*states: State) -> bool:
        there = tuple(checkpoint(f"step_{n}.pt", state) for n, state in enumerate(states))
        trouble = find_trouble(survey(inventory(), None, {Role.PRIMARY: there}))
        return "No checkpoint on either side can be resumed from" in trouble

    assert told(State.CORRUPT, State.FOREIGN)
    assert not told(State.CORRUPT, State.STRUCTURE_OK)
    assert not told(State.FOREIGN)
    assert not told()


@pytest.mark.parametrize("fits", [2, None])
def test_enough_room_and_no_ground_to_tell_are_no_trouble(fits: int | None) -> None:
    assert find_trouble(survey(inventory(), space={Role.PRIMARY: room_for(fits)})) == ()


def test_little_room_is_told_before_it_is_gone() -> None:
    (told,) = find_trouble(survey(inventory(), space={Role.PRIMARY: room_for(1)}))
    assert told == "primary has room for 1 more checkpoint: largest of the last 5: 100 B"


def test_a_next_save_that_does_not_fit_comes_before_what_is_lost_already() -> None:
    bad = checkpoint("step_1.pt", State.CORRUPT, "one bit")
    there = survey(
        inventory(), None, {}, steps=[step("step_1.pt", Verdict.LOST, bad, None)], space={Role.PRIMARY: room_for(0)}
    )
    told = "the next save does not fit on primary: it takes 100 B, 490 B are left beside the reserve"
    assert find_trouble(there)[0] == told
    due = replace(room_for(0), full_at=90.0)
    (soon,) = find_trouble(survey(inventory(), space={Role.PRIMARY: due}))
    assert soon.startswith("the next save does not fit on primary, due 1970-01-01 00:01 UTC: ")
    (late,) = find_trouble(survey(inventory(), space={Role.PRIMARY: due}, taken_at=100.0))
    assert late.startswith("the next save does not fit on primary, due now: ")


def test_what_is_being_written_and_does_not_fit_is_told_while_it_is_written() -> None:
    live = replace(flight("step_3.pt.part", FlightState.LIVE), expected_size=511)  # 10 of them are there, 500 are free
    (told,) = find_trouble(survey(inventory(in_flight=[live]), space={Role.PRIMARY: room_for(0)}))
    assert told == "what is being written to primary does not fit: 501 B are still to come, 500 B are free"
    just = replace(live, expected_size=510)
    assert find_trouble(survey(inventory(in_flight=[just]))) == ()
    stale = replace(live, state=FlightState.STALE)
    assert not any("does not fit" in text for text in find_trouble(survey(inventory(in_flight=[stale]))))


def test_both_sides_on_one_device_write_into_the_same_room() -> None:
    live = replace(flight("step_3.pt.part", FlightState.LIVE), expected_size=300)
    both = survey(inventory(in_flight=[live]), inventory(Role.MIRROR, in_flight=[live]), shared_device=True)
    assert sum("580 B are still to come" in text for text in find_trouble(both)) == 2
    apart = survey(inventory(in_flight=[live]), inventory(Role.MIRROR, in_flight=[live]))
    assert find_trouble(apart) == ()


def test_a_mirror_on_the_same_device_is_the_least_trouble() -> None:
    seen = survey(
        inventory(in_flight=[flight("x.part", FlightState.STALE)]), inventory(Role.MIRROR), shared_device=True
    )
    assert "same device" in find_trouble(seen)[-1]
    assert len(find_trouble(seen)) == 2


def test_hostile_names_are_escaped() -> None:
    bad = checkpoint("a\x1b[2J.pt", State.CORRUPT, "one bit")
    seen = survey(inventory(), None, {}, steps=[step(bad.name, Verdict.LOST, bad, None)])
    assert find_trouble(seen)
    assert all("\x1b" not in text for text in find_trouble(seen))
