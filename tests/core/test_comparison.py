"""What differs between a record and what is there, file by file, with its arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.core.comparison import Difference, compare_members, unread, written_since
from ckptdeck.core.sighting import RecordMember
from ckptdeck.core.states import MemberKind, State
from tests.core.units import fill, seen

A, B = "a" * 32, "b" * 32
RECORDED = (
    RecordMember("shard_0.pt", 1000, A),
    RecordMember("shard_1.pt", 1000, B),
    RecordMember("to", 0, A, MemberKind.LINK, "shard_0.pt"),
    RecordMember("logs", 0, B, MemberKind.DIRECTORY),
)


def without(path: str) -> list[RecordMember]:
    return [member for member in RECORDED if member.path != path]


def compared(*changed: RecordMember) -> list[tuple[State, str]]:
    """What `changed`, in the place of what has its path, makes different."""
    paths = {member.path for member in changed}
    there = [member for member in RECORDED if member.path not in paths] + list(changed)
    return [(one.state, one.text) for one in compare_members(RECORDED, there)]


def test_the_same_in_any_order_is_no_difference() -> None:
    assert compare_members(RECORDED, reversed(RECORDED)) == ()


def test_a_look_that_read_nothing_compares_names_sizes_and_links(tmp_path: Path) -> None:
    root = fill(tmp_path / "d", {"a.pt": b"1234", "to": "a.pt", "empty": None})
    found = unread(seen(root))
    assert found == [
        RecordMember("a.pt", 4, ""),
        RecordMember("empty", 0, "", MemberKind.DIRECTORY),
        RecordMember("to", 0, "", MemberKind.LINK, "a.pt"),
    ]
    assert compare_members([RecordMember("a.pt", 4, A), *found[1:]], found) == ()


@pytest.mark.parametrize(
    ("now", "state", "text"),
    [
        (RecordMember("shard_1.pt", 350, B), State.TRUNCATED, "shard_1.pt: 350 of 1000 bytes, 650 are missing"),
        (RecordMember("shard_1.pt", 0, ""), State.TRUNCATED, "shard_1.pt: 0 of 1000 bytes, 1000 are missing"),
        (RecordMember("shard_1.pt", 1007, B), State.CORRUPT, "shard_1.pt: 7 bytes more than the 1000 recorded"),
        (
            RecordMember("shard_1.pt", 1000, A),
            State.CORRUPT,
            f"shard_1.pt: the size fits and the content does not: {A} for {B}",
        ),
        (
            RecordMember("shard_1.pt", 0, B, MemberKind.LINK, "x"),
            State.CORRUPT,
            "shard_1.pt: it is a link, a file was recorded",
        ),
        (RecordMember("logs", 0, B), State.CORRUPT, "logs: it is a file, a directory was recorded"),
    ],
)
def test_one_file_that_is_another(now: RecordMember, state: State, text: str) -> None:
    assert compared(now) == [(state, text)]


def test_a_link_that_points_elsewhere_is_told_with_both_targets() -> None:
    assert compared(RecordMember("to", 0, "", MemberKind.LINK, "shard_1\n.pt")) == [
        (State.CORRUPT, r"to: it leads to shard_1\n.pt, to shard_0.pt when it was recorded")
    ]


def test_a_file_that_is_not_there_and_one_that_no_record_knows() -> None:
    extra = RecordMember("ex\x1btra.pt", 12, "")
    assert compare_members(RECORDED, [*without("shard_0.pt"), extra]) == (
        Difference(State.INCOMPLETE, "shard_0.pt (1.00 kB) is not there"),
        Difference(State.SUSPECT, r"ex\etra.pt (12 B) is in no record"),
    )


def test_the_worst_comes_first() -> None:
    there = [
        RecordMember("shard_1.pt", 2000, ""),
        RecordMember("to", 0, "", MemberKind.LINK, "shard_0.pt"),
        RecordMember("more", 1, ""),
        RecordMember("shard_0.pt", 1, ""),
    ]
    assert [one.state for one in compare_members(RECORDED, there)] == [
        State.TRUNCATED,
        State.CORRUPT,
        State.INCOMPLETE,
        State.SUSPECT,
    ]


def test_a_file_of_its_own_is_not_called_by_its_empty_path() -> None:
    one = compare_members([RecordMember("", 10, A)], [RecordMember("", 4, "")])
    assert one == (Difference(State.TRUNCATED, "4 of 10 bytes, 6 are missing"),)


MISSING = (Difference(State.INCOMPLETE, "x is not there"),)


@pytest.mark.parametrize(
    ("moved", "differences", "tolerance", "written"),
    [
        (0, (), 0, False),
        (1, (), 0, True),
        (-1, (), 0, True),
        (1, MISSING, 0, True),
        (-1, MISSING, 0, False),
        (5, (), 5, False),
        (-6, (), 5, True),
        (-6, MISSING, 5, False),
    ],
)
def test_who_wrote_since_shows_in_the_time_of_the_newest_file(
    moved: int, differences: tuple[Difference, ...], tolerance: int, written: bool
) -> None:
    assert written_since(10**18 + moved, 10**18, differences, tolerance) is written
