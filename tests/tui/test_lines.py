from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ckptdeck.core.safe_text import visible
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import FLIGHTS, JOBS, STATES, VERDICTS, bar, in_ascii
from ckptdeck.tui.view_model.line import Ink, Piece, fit, harmless, line, pad, spread, text_of, width_of, wrap

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Mn", "Me", "Cf")), max_size=60)


@given(TEXT, st.integers(1, 80))
def test_pad_and_fit_are_exact(text: str, width: int) -> None:
    text = visible(text)
    assert cell_len(pad(text, width)) == width
    assert cell_len(pad(text, width, right=True)) == width
    assert width_of(fit(line("ab", Piece(text, Ink.BAD), "cd"), width)) == width


@given(TEXT, st.integers(5, 40))
def test_wrap_keeps_every_character_and_every_width(text: str, width: int) -> None:
    lines = wrap(line(visible(text)), width)
    assert all(cell_len(text_of(part).rstrip()) <= width for part in lines)
    assert "".join(text_of(part) for part in lines) == visible(text)


def test_wrap_indents_breaks_long_words_and_says_when_it_leaves_out() -> None:
    lines = [text_of(part) for part in wrap(line("one two " + "x" * 30), 12, indent="  ")]
    assert lines == ["one two ", "  xxxxxxxxxx", "  xxxxxxxxxx", "  xxxxxxxxxx"]
    assert text_of(wrap(line("one two three four five"), 9, limit=2)[-1]).endswith("…")


def test_spread_drops_the_right_end_when_there_is_no_room() -> None:
    assert text_of(spread(line("left"), line("right"), 12)) == "left   right"
    assert text_of(spread(line("left"), line("right"), 10)) == "left      "


@given(st.text(max_size=40))
def test_nothing_that_acts_on_a_terminal_gets_through(text: str) -> None:
    assert not any(
        ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000 for char in harmless(text)
    )


@given(st.text(max_size=40))
def test_ascii_is_ascii(text: str) -> None:
    assert in_ascii(text).isascii()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (512, "512B"),
        (1820e6, "1.82G"),
        (29.6e9, "29.6G"),
        (114e9, "114G"),
        (999.9e6, "1.00G"),
        (9.999e9, "10.0G"),
    ],
)
def test_sizes(count: float, text: str) -> None:
    assert measures.size(count) == text


@given(st.integers(0, 10**18))
def test_sizes_stay_narrow(count: int) -> None:
    assert len(measures.size(count)) <= 5


@pytest.mark.parametrize(
    ("seconds", "age", "span"),
    [(-5, "0s", "0s"), (59, "59s", "59s"), (420, "7m", "7m"), (4200, "1h", "1h 10m"), (3600, "1h", "1h"),
     (172800, "2d", "2d"), (273600, "3d", "3d 4h"), (40 * 86400, "40d", "40d")],
)  # fmt: skip
def test_times(seconds: float, age: str, span: str) -> None:
    assert (measures.age(seconds), measures.span(seconds)) == (age, span)


def test_times_that_say_nothing_are_not_called_old() -> None:
    assert measures.since(1e9, 0) == "?"
    assert measures.since(1e9, 1e9 + 100) == "ahead"
    assert measures.since(1e9, 1e9 - 59) == "<1m"
    assert measures.clock(0, UTC) == "00:00:00"


def test_percent_and_bar_are_full_only_when_it_is_done() -> None:
    assert measures.percent(999, 1000) == "99%"
    assert measures.percent(1000, 1000) == "100%"
    assert measures.percent(1, 0) == ""
    for done in range(101):
        full = bar(done / 100, 10, Ink.PLAIN)[0].width
        assert (full == 0) == (done == 0)
        assert (full == 10) == (done == 100)


def test_every_state_has_a_glyph_a_word_and_no_colour_stands_alone() -> None:
    from ckptdeck.core.states import FlightState, State, Verdict
    from ckptdeck.monitor.snapshot import JobState

    assert set(STATES) == set(State)
    assert set(VERDICTS) == set(Verdict)
    assert set(FLIGHTS) == set(FlightState)
    assert set(JOBS) == set(JobState)
    for marks in (STATES, VERDICTS, FLIGHTS, JOBS):
        assert len({mark.word for mark in marks.values()}) == len(marks)
    assert all(mark.word == verdict and mark.meaning for verdict, mark in VERDICTS.items())
    assert len({in_ascii(mark.glyph) for mark in STATES.values()}) > 8
