"""Items of a plan as lines that are made on demand."""

from __future__ import annotations

import pytest

from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.states import Role
from ckptdeck.tui.view_model import item_lines
from ckptdeck.tui.view_model.item_lines import ItemLines, Together
from ckptdeck.tui.view_model.line import Line, line, text_of, wrap
from ckptdeck.tui.view_model.review import plan_lines

REASONS = ("short", "a reason that needs more than one line on every terminal that is not very wide indeed", "short")


def items(count: int) -> list[PlanItem]:
    return [
        PlanItem(f"step_{n}.pt", Role.MIRROR, Act.COPY, REASONS[n % len(REASONS)], size=1_000_000) for n in range(count)
    ]


@pytest.mark.parametrize("width", [30, 60, 120])
def test_any_part_is_the_same_as_that_part_of_all(width: int) -> None:
    found = ItemLines(items(7), width, sided=True)
    whole = list(found)
    assert len(whole) == len(found)
    assert found[-1] == whole[-1]
    for start in range(len(whole)):
        assert list(found[start : start + 5]) == whole[start : start + 5]
    with pytest.raises(IndexError):
        found[len(found)]


@pytest.mark.parametrize("width", [30, 60, 120])
def test_every_item_has_its_name_once_and_all_of_its_reason(width: int) -> None:
    told = [text_of(part) for part in ItemLines(items(6), width, sided=False)]
    words = " ".join(" ".join(told).split())
    for number in range(6):
        assert sum(f"step_{number}.pt" in text for text in told) == 1
    assert words.count(REASONS[1]) == 2 or width < 120  # beside an item other columns stand between its lines
    assert words.count("indeed") == 2


def test_runs_of_lines_are_one() -> None:
    parts: tuple[tuple[Line, ...], ...] = ((line("a"), line("b")), (), (line("c"),), (line("d"), line("e")))
    whole = [one for part in parts for one in part]
    together = Together(*parts)
    assert list(together) == whole
    assert len(Together()) == 0
    for start in range(6):
        for stop in range(start, 7):
            assert list(together[start:stop]) == whole[start:stop]
    assert together[-1] == line("e")


def test_a_large_plan_makes_only_the_lines_that_show(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[int] = []

    def counting(pieces: Line, width: int, *, indent: str = "") -> tuple[Line, ...]:
        wrapped.append(width)
        return wrap(pieces, width, indent=indent)

    monkeypatch.setattr(item_lines, "wrap", counting)
    shown = plan_lines(Plan("mirror", tuple(items(10_000))), None, 80)
    assert len(shown[9_000:9_020]) == 20
    assert len(wrapped) == len(set(REASONS))
