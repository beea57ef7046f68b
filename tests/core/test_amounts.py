"""Amounts as the reasons word them."""

from __future__ import annotations

import pytest

from ckptdeck.core.amounts import counted, span_text

DAY = 86400.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (40, "40s"),
        (662, "11m02s"),
        (3 * 3600 + 300, "3h05m"),
        (4 * DAY + 7200, "4d02h"),
        (729 * DAY, "729d00h"),
        (3 * 365.25 * DAY, "3y"),
        (9.4 * 365.25 * DAY, "9y"),
        (72026 * DAY + 3 * 3600, ">10y"),
    ],
)
def test_a_span_has_two_units_and_a_long_one_only_years(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


def test_one_is_singular_and_thousands_are_set_apart() -> None:
    assert [counted(number, "gap") for number in (0, 1, 2, 1046)] == ["0 gaps", "1 gap", "2 gaps", "1,046 gaps"]
