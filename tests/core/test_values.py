"""Values behave like the standard library's frozen classes in everything that code relies on."""

from __future__ import annotations

from dataclasses import field, replace

from ckptdeck.core.values import dataclass


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
