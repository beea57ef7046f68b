"""Knobs: every notch, both ends, back to what is so, and how they look."""

from __future__ import annotations

import pytest

from ckptdeck.core.outlook import WhatIf
from ckptdeck.tui.view_model.line import Ink, text_of, width_of
from ckptdeck.tui.view_model.what_if import Found, Knob, Knobs, knob_lines, notches_of

FOUND = Found(12, 662.0, 2_470_000_000, most=50)
NOTHING = Found(12, None, None)


def turned(knob: Knob, *by: int, found: Found = FOUND) -> Knobs:
    knobs = Knobs(chosen=knob)
    for each in by:
        knobs = knobs.turn(each, found)
    return knobs


def test_what_was_found_is_a_notch_of_its_own() -> None:
    assert turned(Knob.KEEP, 1).keep_last == 13
    assert turned(Knob.KEEP, -1, -1).keep_last == 10
    assert turned(Knob.INTERVAL, 1).interval == 900
    assert turned(Knob.INTERVAL, -1).interval == 600
    assert turned(Knob.SIZE, 1).size == 2_500_000_000
    assert turned(Knob.SIZE, -1).size == 2_000_000_000
    for knob in Knob:
        for there_and_back in ((1, -1), (-1, 1), (1, 1, -1, -1)):
            assert turned(knob, *there_and_back) == Knobs(chosen=knob)


@pytest.mark.parametrize("knob", Knob)
@pytest.mark.parametrize("found", [FOUND, NOTHING])
def test_a_knob_stops_at_its_ends_and_passes_every_notch(knob: Knob, found: Found) -> None:
    notches = notches_of(knob, found)
    assert list(notches) == sorted(set(notches))
    knobs = turned(knob, *[-1] * 200, found=found)
    passed = []
    for _ in range(len(notches) + 3):
        value = knobs.of(knob)
        passed.append(value if value is not None else found.of(knob))
        knobs = knobs.turn(1, found)
    assert list(dict.fromkeys(passed)) == list(notches)


def test_without_ground_a_knob_begins_somewhere() -> None:
    assert turned(Knob.SIZE, 1, found=NOTHING).size is not None
    assert turned(Knob.INTERVAL, 1, found=NOTHING).interval is not None


def test_choosing_goes_round_and_reset_keeps_the_choice() -> None:
    assert [Knobs().choose(by).chosen for by in (1, 2, 3, -1)] == [Knob.INTERVAL, Knob.SIZE, Knob.KEEP, Knob.SIZE]
    knobs = turned(Knob.SIZE, 1)
    assert knobs.turned
    assert knobs.what_if == WhatIf(None, None, 2_500_000_000)
    assert knobs.reset() == Knobs(chosen=Knob.SIZE)
    assert not knobs.reset().turned


def test_a_turned_knob_says_what_is_so() -> None:
    keep, every, size = (text_of(line) for line in knob_lines(turned(Knob.SIZE, 1), FOUND, 80))
    assert keep.startswith("  keep last  12 ")
    assert "the policy's; at most 50" in keep
    assert every.startswith("  save every 11m02s ")
    assert "as measured" in every
    assert size.startswith("▸ one save   2.50G ")
    assert "2.47G as measured" in size
    assert {line.index("●") for line in (keep, every, size)} != {0}
    turned_ink = next(piece.ink for piece in knob_lines(turned(Knob.KEEP, 1), FOUND, 80)[0] if "13" in piece.text)
    assert turned_ink is Ink.WARN


def test_what_nobody_knows_is_a_question_mark() -> None:
    _, every, size = (text_of(line) for line in knob_lines(Knobs(), NOTHING, 80))
    for words in (every, size):
        assert "?" in words
        assert "not known" in words
        assert "●" not in words


@pytest.mark.parametrize("width", [20, 30, 40, 59, 60, 80, 160])
def test_every_width_is_exact_and_grooves_stand_below_each_other(width: int) -> None:
    for knobs in (Knobs(), turned(Knob.KEEP, 1), turned(Knob.SIZE, *[1] * 99)):
        lines = knob_lines(knobs, FOUND, width)
        assert [width_of(line) for line in lines] == [width] * 3
        ends = {max(map(text_of(line).rfind, "━─●")) for line in lines}
        assert len(ends) == 1
