"""Samples as lines, which of them count, and the slope of what is not ours."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptdeck.core.samples import SPACING, Sample, decode_samples, encode_sample, is_due, merged, other_growth, pooled
from tests.core.looks import DAY, GB, NOW

HOUR = 3600.0


def hourly(count: int, *, rate: float = 0.0, ours: int = 0, now: float = NOW) -> tuple[Sample, ...]:
    """Others add `rate` bytes a second; the newest is an hour old."""
    return tuple(
        Sample(now - (count - index) * HOUR, round(200 * GB - rate * index * HOUR) - ours, ours)
        for index in range(count)
    )


def test_a_sample_is_a_line_and_comes_back() -> None:
    sample = Sample(NOW + 0.25, 17_400_000_000, 113_620_000_000)
    assert encode_sample(sample).endswith(b'"free": 17400000000, "ours": 113620000000}\n')
    assert decode_samples(encode_sample(sample)) == (sample,)


def test_lines_come_back_oldest_first() -> None:
    samples = hourly(3)
    assert decode_samples(b"".join(map(encode_sample, reversed(samples)))) == samples


@pytest.mark.parametrize(
    "line",
    [
        b"", b"{", b"[]", b"null", b'"at"', b"\xff\xfe\x00", b"[" * 10_000,
        b'{"free": 1, "ours": 1}',
        b'{"at": "yesterday", "free": 1, "ours": 1}',
        b'{"at": "2026-11-30T04:05:06", "free": 1, "ours": 1}',
        b'{"at": 5, "free": 1, "ours": 1}',
        b'{"at": "2026-11-30T04:05:06Z", "free": -1, "ours": 1}',
        b'{"at": "2026-11-30T04:05:06Z", "free": 1.5, "ours": 1}',
        b'{"at": "2026-11-30T04:05:06Z", "free": true, "ours": 1}',
        b'{"at": "2026-11-30T04:05:06Z", "free": 1e999, "ours": 1}',
    ],
)  # fmt: skip
def test_a_damaged_line_takes_no_other_with_it(line: bytes) -> None:
    one, other = hourly(2)
    assert decode_samples(encode_sample(one) + line + b"\n" + encode_sample(other)) == (one, other)


@given(st.binary(max_size=200))
def test_no_bytes_at_all_raise(data: bytes) -> None:
    assert isinstance(decode_samples(data), tuple)


def test_one_is_due_every_ten_minutes() -> None:
    assert is_due((), NOW)
    assert is_due((Sample(NOW - SPACING, 1, 1),), NOW)
    assert not is_due((Sample(NOW - SPACING + 1, 1, 1), Sample(NOW - DAY, 1, 1)), NOW)


def test_a_clock_that_was_set_back_neither_stops_nor_floods_the_ring() -> None:
    ahead = Sample(NOW + DAY, 1, 1)
    assert is_due((ahead,), NOW)
    assert not is_due((ahead, Sample(NOW - 5, 1, 1)), NOW)


def test_what_lies_in_the_future_says_nothing_about_growth() -> None:
    past = hourly(48, rate=1e6)
    assert other_growth((*past, Sample(NOW + DAY, 0, 0)), NOW) == other_growth(past, NOW)


def test_merging_keeps_the_order_and_each_moment_once() -> None:
    samples = hourly(4)
    assert merged(samples[1:], samples[:3]) == samples


def test_on_one_volume_what_both_sets_hold_is_nobody_else_s() -> None:
    """Each set holds more and more; what is free falls by both, and others add nothing."""
    held = [hour * GB for hour in range(48)]
    one = [Sample(NOW - (48 - hour) * HOUR, 300 * GB - 2 * held[hour], held[hour]) for hour in range(48)]
    other = [Sample(each.at + 3.0, each.free, each.ours) for each in one]
    assert other_growth(one, NOW).bytes_per_second > 0, "half of it looks like somebody else's"
    both = pooled(one, [other])
    assert [each.ours for each in both] == [2 * bytes_held for bytes_held in held]
    assert other_growth(both, NOW).bytes_per_second == 0.0


def test_what_was_seen_of_one_set_alone_tells_nothing_of_both() -> None:
    one = hourly(4)
    assert pooled(one, []) == one
    assert pooled(one, [[]]) == ()
    assert [each.at for each in pooled(one, [one[1:2]])] == [one[1].at]


def test_too_few_or_too_close_tell_nothing() -> None:
    assert not other_growth(hourly(5), NOW).known
    within = tuple(Sample(NOW - 60.0 * index, 1, 1) for index in range(30, 0, -1))
    assert not other_growth(within, NOW).known
    assert other_growth(hourly(7), NOW).known


def test_only_the_last_week_counts() -> None:
    long_ago = hourly(100, rate=5e6, now=NOW - 8 * DAY)
    assert other_growth((*long_ago, *hourly(48)), NOW).bytes_per_second == 0.0


def test_our_own_saves_and_prunes_are_nobody_else_s() -> None:
    luck = random.Random(1)
    samples = [
        Sample(one.at, one.free - ours, ours)
        for one in hourly(100, rate=2e6)
        for ours in (luck.randrange(0, 60) * 2 * GB,)
    ]
    assert other_growth(samples, NOW).bytes_per_second == pytest.approx(2e6, rel=1e-6)


def test_a_day_on_which_somebody_unpacked_and_removed_something_does_not_move_it() -> None:
    samples = list(hourly(100, rate=2e6))
    for index in range(40, 52):
        samples[index] = Sample(samples[index].at, samples[index].free - 80 * GB, 0)
    assert other_growth(samples, NOW).bytes_per_second == pytest.approx(2e6, rel=0.1)


def test_many_samples_are_thinned_out_and_say_the_same() -> None:
    fine = [
        Sample(NOW - 600.0 * index, round(200 * GB - 3e5 * (NOW - 600.0 * index - NOW)), 0)
        for index in range(1000, 0, -1)
    ]
    assert other_growth(fine, NOW).bytes_per_second == pytest.approx(3e5, rel=1e-3)
