"""What the checkpoints of one run have alike, what one of them lacks, and when the run itself has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ckptdeck.core.health import judge
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.siblings import Company, Lack, Siblings, kinds_of_parts, sibling_key
from ckptdeck.core.sighting import Checkpoint, Identity, Member, RecordMember, Sighting
from ckptdeck.core.states import Kind, MemberKind, Role, State, Structure
from ckptdeck.core.unit import unit_digest
from tests.core.looks import DAY, NOW, ONE, identity, inventory, ns, record, sighting, structure

RANKS = "mp_rank_#_model_states.pt"


def unit(
    step: int,
    files: Sequence[str],
    *,
    kind: Kind = Kind.DIRECTORY,
    age: float = DAY,
    known: Structure = Structure.UNKNOWN,
    recorded: bool = False,
) -> Sighting:
    """Files of 100 bytes, with a record of exactly these or without one."""
    mtime = ns(NOW - age)
    members = tuple(
        Member(path, 100, mtime, mtime, 7, 10 * step + number, 0o644, 1, 8) for number, path in enumerate(sorted(files))
    )
    itself = Member("", 0, mtime, mtime, 7, 10 * step + 9, 0o755, 2, 8, MemberKind.DIRECTORY)
    name = f"step_{step}" if kind is Kind.GROUP else f"global_step{step}"
    there = Identity(members, itself if kind is Kind.DIRECTORY else None)
    made = Sighting(name, step, kind, "deepspeed", identity=there, structure=structure(known))
    if not recorded:
        return made
    listed = tuple(RecordMember(member.path, 100, ONE) for member in members)
    of_it = replace(record(name, 0), kind=kind, members=listed, size=100 * len(listed), mtime_ns=mtime)
    return replace(made, record=replace(of_it, digest=unit_digest(listed), step=step))


def ranks(step: int, count: int, *, age: float = DAY, recorded: bool = False) -> Sighting:
    """A directory of `count` ranks."""
    files = [f"mp_rank_{rank:02d}_model_states.pt" for rank in range(count)]
    return unit(step, files, age=age, recorded=recorded)


def run_of(*counts: int) -> list[Sighting]:
    """One directory per step with so many ranks."""
    return [ranks(100 * (place + 1), count) for place, count in enumerate(counts)]


def group(step: int, *words: str, age: float = DAY, known: Structure = Structure.UNKNOWN) -> Sighting:
    names = [f"{word}_{step}.{'json' if word == 'meta' else 'pt'}" for word in words]
    return unit(step, names, kind=Kind.GROUP, age=age, known=known)


ALL = ("model", "optim", "meta")


def lacks(row: Sequence[Sighting]) -> dict[int, str]:
    """Step → what it lacks."""
    company = Company(row)
    told = {one.step or 0: company.lacking(one) for one in row}
    return {step: lack.text for step, lack in told.items() if lack is not None}


def judged(row: Sequence[Sighting]) -> dict[str, Checkpoint]:
    return {one.name: one for one in judge(inventory(*row), DEFAULT_POLICY, NOW)}


# --- what is counted


def test_paths_that_differ_in_numbers_are_of_one_kind() -> None:
    paths = ["mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt", "sub/0.pt", "sub/1.pt", "latest"]
    assert kinds_of_parts(paths) == {RANKS: 2, "sub/#.pt": 2, "latest": 1}
    assert sibling_key("step_0810.pt") == sibling_key("step_9.pt") == "step_#.pt"


def test_a_directory_with_fewer_files_than_its_siblings_is_told_how_many() -> None:
    assert lacks(run_of(8, 8, 7, 8)) == {300: f"it lacks 1 of 8 {RANKS} that its siblings have"}
    assert lacks(run_of(8, 8, 8, 2)) == {400: f"it lacks 6 of 8 {RANKS} that its siblings have"}


def test_fewer_than_three_that_agree_say_nothing() -> None:
    assert lacks(run_of(8, 7, 8)) == {}
    assert lacks(run_of(8, 6, 9, 7, 10)) == {}


def test_more_files_than_the_siblings_have_are_no_lack() -> None:
    assert lacks(run_of(8, 8, 9, 8, 8)) == {}


@pytest.mark.parametrize(
    "counts",
    [
        (8, 8, 8, 4, 4, 4),
        (8, 8, 8, 4, 4),
        (4, 4, 8, 8, 8),
        (4, 8, 8, 8, 8),
        (8, 8, 8, 4, 4, 8, 8),
        (8, 8, 8, 4, 8, 4, 4),
        (16, 8, 8, 8, 4, 4, 4, 4),
    ],
)
def test_a_run_that_goes_on_with_other_ranks_lacks_nothing(counts: tuple[int, ...]) -> None:
    assert lacks(run_of(*counts)) == {}


def test_the_first_save_of_a_changed_run_is_doubted_until_the_next_agrees() -> None:
    assert list(lacks(run_of(8, 8, 8, 4))) == [400]
    assert lacks(run_of(8, 8, 8, 4, 4)) == {}


def test_the_order_is_that_of_steps_not_of_names() -> None:
    row = [ranks(step, count) for step, count in ((9, 8), (10, 8), (11, 8), (100, 4), (101, 4))]
    assert lacks(row[::-1]) == {}


def test_what_comes_and_goes_beside_a_state_is_not_counted() -> None:
    row = [
        unit(step, ["model.pt", *(["events.out.tfevents.17.box", "sample_1.json"] if step else [])])
        for step in range(5)
    ]
    row += [unit(9, ["model.pt"])]
    assert lacks(row) == {}


def test_checkpoints_of_other_looks_are_no_siblings() -> None:
    row = run_of(8, 8, 8)
    other = replace(ranks(50, 2), name="iter_50")
    assert lacks([other, *row]) == {}


def test_a_directory_without_a_whole_kind_is_told_too() -> None:
    row = [unit(step, ["model.bin", "optimizer.pt"]) for step in (1, 2, 3, 5)]
    assert lacks([*row, unit(4, ["model.bin"])]) == {4: "it lacks the optimizer.pt that its siblings have"}


def test_several_kinds_are_counted_and_a_whole_one_comes_first() -> None:
    full = ["a_0.pt", "a_1.pt", "z_0.pt", "z_1.pt", "y.pt"]
    row = [unit(step, full) for step in (1, 2, 4)]
    found = lacks([*row, unit(3, ["a_0.pt", "y.pt"])])
    assert found == {3: "it lacks all 2 z_#.pt that its siblings have, and 1 more kind"}


def test_names_are_told_with_what_is_odd_in_them_made_visible() -> None:
    row = [unit(step, ["a.pt", "\x1b[2J.pt"]) for step in (1, 2, 4)]
    assert lacks([*row, unit(3, ["a.pt"])]) == {3: r"it lacks the \e[#J.pt that its siblings have"}


# --- groups


def test_a_group_lacks_a_kind_that_three_others_have() -> None:
    row = [group(step, *ALL) for step in (1, 2, 3)]
    company = Company([*row, group(4, "model", "meta")])
    assert company.lacking(group(4, "model", "meta")) == Lack("it lacks the optim_#.pt that its siblings have", True)
    assert lacks([*row[:2], group(4, "model", "meta")]) == {}


def test_two_saves_that_failed_alike_are_told_both_and_three_are_a_run_that_saves_without() -> None:
    row = [group(step, *ALL) for step in (1, 2, 3)]
    assert list(lacks([*row, group(4, "model"), group(5, "model")])) == [4, 5]
    assert lacks([*row, *(group(step, "model", "meta") for step in (4, 5, 6))]) == {}


def test_what_a_retention_took_from_the_old_ones_is_no_lack() -> None:
    row = [group(step, *ALL) for step in (3, 4, 5, 6)]
    assert lacks([group(1, "model", "meta"), group(2, "model", "meta"), *row]) == {}


def test_a_group_with_fewer_ranks_is_counted_like_a_directory() -> None:
    def of(step: int, count: int) -> Sighting:
        names = [f"model_{step}.pt", *(f"optim_{step}_rank{rank}.pt" for rank in range(count))]
        return unit(step, names, kind=Kind.GROUP)

    assert lacks([of(1, 4), of(2, 4), of(3, 3), of(4, 4)]) == {
        3: "it lacks 1 of 4 optim_#_rank#.pt that its siblings have"
    }
    assert lacks([of(1, 4), of(2, 4), of(3, 4), of(4, 2), of(5, 2)]) == {}


# --- as it is judged


def test_a_group_that_lacks_a_kind_is_incomplete_and_while_it_is_young_being_written() -> None:
    row = [group(step, *ALL) for step in (1, 2, 3)]
    old = judged([*row, group(4, "model")])["step_4"]
    assert old.state is State.INCOMPLETE
    assert old.reason.startswith("it lacks the meta_#.json that its siblings have, and 1 more kind")
    young = judged([*row, group(4, "model", age=10.0)])["step_4"]
    assert young.state is State.UNSAFE_WRITE
    assert "it may still be written" in young.reason


@pytest.mark.parametrize("known", [Structure.UNKNOWN, Structure.OK])
def test_a_directory_with_fewer_ranks_is_suspect_whatever_its_files_say(known: Structure) -> None:
    row = run_of(8, 8, 7, 8)
    row[2] = replace(row[2], structure=structure(known))
    found = judged(row)["global_step300"]
    assert (found.state, found.reason) == (State.SUSPECT, f"it lacks 1 of 8 {RANKS} that its siblings have")
    assert judged(row)["global_step200"].state is not State.SUSPECT


def test_a_young_directory_with_fewer_ranks_is_not_doubted_yet() -> None:
    found = judged([*run_of(8, 8, 8), ranks(400, 3, age=10.0)])["global_step400"]
    assert found.state is State.UNRECORDED


def test_a_young_one_vouches_for_nobody() -> None:
    row = [*run_of(8, 8, 8), ranks(400, 7), ranks(500, 3, age=10.0)]
    assert judged(row)["global_step400"].state is State.SUSPECT


def test_a_record_vouches_for_what_it_names() -> None:
    row = [*run_of(8, 8, 8), ranks(400, 7, recorded=True)]
    assert judged(row)["global_step400"].state is State.SIZE_ONLY
    proven = [*(ranks(step, 8, recorded=True) for step in (100, 200, 300)), ranks(400, 7)]
    assert judged(proven)["global_step400"].state is State.SUSPECT


def test_what_its_own_system_calls_whole_lacks_nothing() -> None:
    row = [group(step, "a", "b", known=Structure.OK) for step in (1, 2, 3)]
    assert judged([*row, group(4, "a", known=Structure.OK)])["step_4"].state is State.STRUCTURE_OK


def test_what_is_bad_is_nobody_s_example() -> None:
    row = [ranks(100, 8), ranks(200, 8), replace(ranks(300, 8), structure=structure(Structure.CUT)), ranks(400, 7)]
    assert judged(row)["global_step400"].state is State.UNRECORDED


@pytest.mark.parametrize("role", list(Role))
def test_either_side_is_held_against_itself(role: Role) -> None:
    found = {one.name: one for one in judge(inventory(*run_of(8, 8, 7, 8), role=role), DEFAULT_POLICY, NOW)}
    assert found["global_step300"].state is State.SUSPECT


# --- sizes


def test_sizes_are_compared_among_what_is_there_and_at_rest() -> None:
    row = [sighting(f"step_{step}.pt", step, identity=identity(1000)) for step in range(4)]
    siblings = Siblings([*row, sighting("step_9.pt", 9, identity=identity(10), held=True)])
    assert siblings.usual_size("step_7.pt") == 1000
    assert siblings.strays_from("step_7.pt", 800) == 1000
    assert siblings.strays_from("step_7.pt", 950) is None
    assert siblings.usual_size("other_7.bin") is None
