"""The lines of the picture: where they begin, where they end, and that they say what the outlook says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ckptdeck.core.course import Course, Point, course_of
from ckptdeck.core.outlook import Outlook, WhatIf, look_ahead
from ckptdeck.core.samples import Sample
from ckptdeck.core.sides import Survey
from ckptdeck.core.states import Role
from tests.core.looks import DAY, GB, NOW, allocated
from tests.core.test_outlook import HALF_HOUR, SAVE, alone, growing, run_of

FREE = 131 * GB - 46 * SAVE
HERE: Point = (NOW, float(FREE))


def drawn(survey: Survey, what_if: WhatIf | None = None, samples: tuple[Sample, ...] = ()) -> tuple[Course, Outlook]:
    outlook = look_ahead(survey, {Role.PRIMARY: samples}, what_if)[Role.PRIMARY]
    assert survey.primary.inventory.volume is not None
    return course_of(outlook, survey.primary.inventory.volume.free, samples, NOW), outlook


def steps_down(line: tuple[Point, ...]) -> int:
    return sum(one[0] == two[0] and one[1] - two[1] == SAVE for one, two in pairwise(line))


def test_six_saves_are_six_stairs_and_the_line_ends_where_the_seventh_has_no_room() -> None:
    course, outlook = drawn(alone(run_of(46), free=FREE))
    assert course.as_is[0] == HERE
    assert course.as_is[1:3] == ((NOW - 600 + HALF_HOUR, FREE), (NOW - 600 + HALF_HOUR, FREE - SAVE))
    assert steps_down(course.as_is) == outlook.fits == 6
    assert list(course.as_is[-1]) == [outlook.full_at, FREE - 6 * SAVE]
    assert course.pruned[:2] == (HERE, (NOW, FREE + 34 * allocated(SAVE)))
    assert steps_down(course.pruned) > 6
    assert course.top == FREE + 34 * allocated(SAVE)


def test_the_retention_falls_to_its_worst_moment_and_stays() -> None:
    course, outlook = drawn(alone(run_of(46), free=FREE))
    assert outlook.kept_spare is not None
    reserve = FREE - outlook.room
    assert course.kept[-1][0] == course.until
    assert course.kept[-1][1] == pytest.approx(reserve + outlook.kept_spare, abs=GB)
    assert steps_down(course.kept) == 1
    filling, outlook = drawn(alone(run_of(4), free=100 * GB))
    assert steps_down(filling.kept) == 9, "thirteen at the worst moment, four of them there"
    assert outlook.kept_spare is not None
    assert filling.kept[-1] == (filling.until, 2_450_000_000 + outlook.kept_spare)


def test_a_retention_that_does_not_fit_ends_as_the_others_do() -> None:
    course, _ = drawn(alone(run_of(4), free=8 * GB))
    assert course.kept == course.pruned == course.as_is
    assert course.as_is[-1][0] < course.until


def test_what_others_add_makes_every_line_fall() -> None:
    rate = 10 * GB / DAY
    course, outlook = drawn(alone(run_of(46), free=FREE), None, growing(rate))
    at, level = course.as_is[-1]
    assert at == outlook.full_at
    assert level == pytest.approx(FREE - (outlook.fits or 0) * SAVE - rate * (at - NOW))
    assert course.kept[-1][1] < course.kept[-2][1]


def test_the_past_is_no_longer_than_what_is_ahead() -> None:
    samples = growing(1e6, days=30)
    course, _ = drawn(alone(run_of(46), free=FREE), None, samples)
    assert course.now - course.since == pytest.approx(course.until - course.now)
    assert course.past[-1] == HERE
    assert 2 < len(course.past) < 100
    assert all(course.since <= at <= NOW for at, _ in course.past)
    young, _ = drawn(alone(run_of(46), free=FREE), None, (Sample(NOW - 1200, FREE + 5, 0), Sample(NOW + 9e9, 1, 1)))
    assert young.since == NOW - 1200
    assert young.past == ((NOW - 1200, FREE + 5), HERE)


def test_without_samples_it_begins_now_and_without_cadence_it_foretells_nothing() -> None:
    course, _ = drawn(alone(run_of(46), free=FREE))
    assert (course.since, course.past) == (NOW, ())
    still, _ = drawn(alone(run_of(2), free=FREE), None, growing(0.0))
    assert (still.as_is, still.pruned, still.kept) == ((), (), ())
    assert len(still.past) > 2
    assert still.top == max(level for _, level in still.past)


def test_thousands_of_saves_are_a_slope() -> None:
    course, outlook = drawn(alone(run_of(46), free=90_000 * GB, total=100_000 * GB))
    assert (outlook.fits or 0) > 30_000
    assert len(course.as_is) <= 4
    assert course.as_is[-1][0] == outlook.full_at


@pytest.mark.parametrize("keep", [1, 3, 12, 46, 60, 1000])
@pytest.mark.parametrize("size", [None, 1, 50 * GB, 10**18])
@pytest.mark.parametrize("interval", [None, 1e-3, 1e9])
@pytest.mark.parametrize("free", [0, GB, 500 * GB])
def test_every_line_goes_forward_and_stays_within_the_picture(
    keep: int, size: int | None, interval: float | None, free: int
) -> None:
    what_if = WhatIf(keep, interval, size)
    for samples in ((), growing(1e5), growing(1e9)):
        course, _ = drawn(alone(run_of(46), free=free, total=1000 * GB), what_if, samples)
        assert course.since <= course.now < course.until
        for line in (course.past, course.as_is, course.pruned, course.kept):
            times = [at for at, _ in line]
            assert times == sorted(times)
            assert all(course.since <= at <= course.until * (1 + 1e-12) for at in times)
            assert all(level <= course.top for _, level in line)
            assert len(line) < 600


def test_a_prune_that_frees_nothing_is_no_line_up() -> None:
    course, _ = drawn(alone(run_of(12), free=FREE))
    assert course.pruned == course.as_is


def test_the_line_of_a_full_volume_ends_at_the_next_save() -> None:
    course, outlook = drawn(alone(run_of(46), free=GB))
    assert [list(point) for point in course.as_is] == [[NOW, GB], [outlook.full_at, GB]]
