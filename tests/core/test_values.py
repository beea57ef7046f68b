"""Values behave like the standard library's frozen classes in everything that code relies on."""

from __future__ import annotations

import dataclasses

import pytest

from ckptdeck.core.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Point:
    """Two numbers and a remark."""

    x: int
    y: int = 2
    remark: str = field(default="", compare=False)
    secret: str = field(default="s", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Single:
    """One field: its value alone is what is compared."""

    x: tuple[int, ...]


@dataclass(slots=True)
class Tally:
    """Changes, starts with something of its own, and works out the rest."""

    names: list[str] = field(default_factory=list)
    start: int = field(init=False, default=7)
    longest: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self.longest = max(map(len, self.names), default=0)


@dataclass(slots=True, eq=False)
class Node:
    """Each is itself."""

    x: int


class TestValues:
    def test_equal_by_content_and_hashed_alike(self) -> None:
        assert Point(1) == Point(1, 2, "other")
        assert Point(1) != Point(1, 3)
        assert len({Point(1), Point(1, remark="r"), Point(2)}) == 2
        assert Single((1,)) == Single((1,))
        assert Single((1,)) != Single((2,))

    def test_another_class_with_the_same_content_is_another_thing(self) -> None:
        assert Single((1,)).__eq__(Point(1)) is NotImplemented

    def test_can_be_replaced_and_shown(self) -> None:
        assert replace(Point(1, remark="r"), x=5) == Point(5)
        assert repr(Point(1)) == "Point(x=1, y=2, remark='')"

    def test_has_no_room_for_anything_else(self) -> None:
        assert not hasattr(Point(1), "__dict__")

    def test_what_is_missing_or_unknown_is_refused(self) -> None:
        for wrong in ((), (1, 2, "", "", 5)):
            with pytest.raises(TypeError, match="argument"):
                Point(*wrong)
        with pytest.raises(TypeError, match="start"):
            replace(Tally(), start=1)

    def test_each_has_a_default_of_its_own_and_works_out_the_rest(self) -> None:
        one, other = Tally(), Tally(["ab", "c"])
        one.names.append("a")
        assert Tally().names == []
        assert (other.start, other.longest, one.longest) == (7, 2, 0)
        assert replace(other, names=["abc"]).longest == 3

    def test_what_changes_has_no_hash_and_what_is_itself_has_its_own(self) -> None:
        assert Tally(["a"]) == Tally(["a"])
        with pytest.raises(TypeError, match="unhashable"):
            hash(Tally())
        assert Node(1) != Node(1)
        assert len({Node(1), Node(1)}) == 2

    def test_the_standard_library_takes_it_for_one_of_its_own(self) -> None:
        assert dataclasses.is_dataclass(Point)
        assert dataclasses.replace(Point(1), y=3) == Point(1, 3)
        assert dataclasses.asdict(Tally(["a"])) == {"names": ["a"], "start": 7, "longest": 1}
        assert [each.name for each in dataclasses.fields(Single)] == ["x"]

    def test_a_default_that_all_would_share_is_refused(self) -> None:
        with pytest.raises(AssertionError, match="shared"):

            @dataclass(frozen=True, slots=True)
            class Shared:
                names: list[str] = []  # noqa: RUF012 - what is refused

    def test_a_field_of_the_standard_library_is_refused(self) -> None:
        with pytest.raises(AssertionError, match="standard library"):

            @dataclass(frozen=True, slots=True)
            class Strange:
                names: list[str] = dataclasses.field(default_factory=list)
