"""Disk space by arithmetic that can be followed by hand, and weeks of a made-up disk against what was foretold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

import pytest

from ckptdeck.core.outlook import Outlook, WhatIf, foresee, freed_by_prune, largest_keep, look_ahead
from ckptdeck.core.policy import Policy
from ckptdeck.core.samples import Sample
from ckptdeck.core.sides import Survey
from ckptdeck.core.sighting import Quarantined, Sighting
from ckptdeck.core.states import Condition, FlightState, Role, State
from ckptdeck.core.survey import compose
from tests.core.looks import DAY, GB, LOCAL, NOW, allocated, inventory
from tests.core.plans.scenes import pair, part, seen

SAVE = 2_470_000_000
HALF_HOUR = 1800.0


def run_of(count: int, *, every: float = HALF_HOUR, size: int = SAVE, newest: float = 600.0) -> list[Sighting]:
    """`count` verified steps of 50, the newest saved `newest` seconds ago."""
    return [
        seen((index + 1) * 50, State.VERIFIED, size=size, age=newest + (count - 1 - index) * every)
        for index in range(count)
    ]


def alone(
    sightings: list[Sighting], *, free: int, total: int = 245 * GB, policy: Policy | None = None, now: float = NOW
) -> Survey:
    """One side on a volume of its own; the reserve is 1 % of `total`."""
    volume = replace(LOCAL, free=free, total=total)
    return compose(inventory(*sightings, volume=volume), None, policy or Policy(), now)


def of(survey: Survey, what_if: WhatIf | None = None, samples: tuple[Sample, ...] = ()) -> Outlook:
    return look_ahead(survey, {Role.PRIMARY: samples}, what_if)[Role.PRIMARY]


def test_the_seed_46_saves_of_2_47_gb_where_131_gb_were_free() -> None:
    """131 - 46 x 2.47 = 17.38 GB are left, 2.45 of them reserve: 14.93 / 2.47 = 6.04."""
    found = of(alone(run_of(46), free=131 * GB - 46 * SAVE))
    assert found.room == 14_930_000_000
    assert found.fits == 6
    assert found.full_at == NOW - 600 + 7 * HALF_HOUR  # the seventh save from now is the first without room
    assert found.peak_need == 13 * SAVE == 32_110_000_000
    assert found.frees == 34 * allocated(SAVE)
    assert found.full_at_pruned == NOW - 600 + ((14_930_000_000 + 34 * allocated(SAVE)) // SAVE + 1) * HALF_HOUR
    assert found.kept_fits
    assert found.full_at_kept is None
    assert found.largest_keep == (14_930_000_000 + 46 * SAVE) // SAVE - 1 == 51


def test_what_if_answers_for_another_size_time_and_retention() -> None:
    survey = alone(run_of(46), free=131 * GB - 46 * SAVE)
    found = of(survey, WhatIf(keep_last=3, interval=3600.0, size=5 * GB, steps_left=1000))
    assert (found.size, found.interval, found.keep_last) == (5 * GB, 3600.0, 3)
    assert found.fits == 2
    assert found.peak_need == 20 * GB
    assert found.saves_left == 20  # 1,000 steps, one save every 50
    assert found.rest_fits is False
    assert found.rest_fits_kept is True
    assert "assumed: 5.00 GB a save" in found.basis


def test_a_retention_that_does_not_fit_says_so() -> None:
    found = of(alone(run_of(3), free=5 * GB), WhatIf(keep_last=12))
    assert found.kept_fits is False
    assert found.full_at_kept == found.full_at
    assert found.largest_keep == (2_550_000_000 + 3 * SAVE) // SAVE - 1 == 3
    assert of(alone(run_of(3), free=5 * GB), WhatIf(keep_last=3)).kept_fits is True


def test_a_full_disk_takes_a_retention_that_a_prune_makes_room_for() -> None:
    found = of(alone(run_of(46), free=GB))
    assert (found.room, found.fits, found.kept_fits, found.full_at_kept) == (0, 0, True, None)
    assert found.kept_spare == 46 * SAVE - 13 * SAVE
    assert found.fits_pruned == 34


def test_what_a_guard_holds_back_makes_no_room() -> None:
    """Nothing is proven, so nothing goes, whatever the retention would like."""
    unproven = [replace(one, receipt=None) for one in run_of(46)]
    found = of(alone(unproven, free=GB))
    assert (found.frees, found.kept_fits, found.fits_pruned) == (0, False, 0)
    assert found.kept_spare == -SAVE
    assert found.full_at_kept == found.full_at


def test_larger_saves_than_those_that_are_there_are_counted_until_all_are_large() -> None:
    found = of(alone(run_of(12), free=20 * GB), WhatIf(size=5 * GB))
    assert found.kept_fits is False
    assert found.kept_spare == 17_550_000_000 + 12 * SAVE - 13 * 5 * GB


def test_where_files_share_blocks_the_figure_is_an_upper_limit() -> None:
    sightings = run_of(14)
    survey = compose(inventory(*sightings, volume=replace(LOCAL, fs_type="xfs")), None, Policy(), NOW)
    assert of(survey).frees_at_most
    assert "files on xfs may share blocks" in " ".join(of(survey).basis)
    assert not of(survey, WhatIf(keep_last=14)).frees_at_most
    assert not of(alone(sightings, free=20 * GB)).frees_at_most


def test_what_a_prune_frees_can_be_handed_in() -> None:
    survey = alone(run_of(14), free=20 * GB)
    assert freed_by_prune(survey, 12) == {Role.PRIMARY: 2 * allocated(SAVE)}
    assert look_ahead(survey, {}, None, {Role.PRIMARY: 7 * GB})[Role.PRIMARY].frees == 7 * GB


def test_both_sides_on_one_volume_pay_twice() -> None:
    sightings = run_of(14)
    survey = pair(sightings, sightings, free=30 * GB, shared=True)
    found = look_ahead(survey, {})
    assert found[Role.PRIMARY].room == 20 * GB
    assert found[Role.PRIMARY].fits == found[Role.MIRROR].fits == 4  # 20 / 4.94
    assert found[Role.PRIMARY].frees == 4 * allocated(SAVE)  # two steps beyond twelve, on both sides
    assert "every save counts twice" in " ".join(found[Role.PRIMARY].basis)


def test_the_largest_retention_is_that_of_the_tighter_side() -> None:
    sightings = run_of(14)
    found = look_ahead(pair(sightings, sightings, free=12 * GB), {})
    assert largest_keep(found) == found[Role.MIRROR].largest_keep == (2 * GB + 14 * SAVE) // SAVE - 1
    assert largest_keep({}) is None


def test_an_empty_mirror_is_told_by_what_the_primary_s_saves_take() -> None:
    found = look_ahead(pair(run_of(14), [], free=30 * GB), {})[Role.MIRROR]
    assert (found.size, found.fits) == (SAVE, 8)
    assert "largest of the last 5: 2.47 GB, as on the primary" in found.basis


def test_a_side_that_cannot_be_read_has_no_outlook() -> None:
    survey = pair(run_of(14), run_of(14), conditions={Role.MIRROR: Condition.NOT_MOUNTED})
    assert set(look_ahead(survey, {})) == {Role.PRIMARY}


def test_what_is_being_written_counts_and_quarantine_is_told() -> None:
    survey = alone(run_of(4), free=20 * GB)
    flight = part(250, FlightState.LIVE, size=GB)
    entry = Quarantined("id", "step_0010.pt", "cut", 3 * GB, NOW - DAY)
    inventory_then = replace(survey.primary.inventory, in_flight=(flight,), quarantine=(entry,))
    survey = replace(survey, primary=replace(survey.primary, inventory=inventory_then))
    found = of(survey)
    assert found.room == 20 * GB - 2_450_000_000 - (SAVE - GB)
    assert "3.00 GB in quarantine, which `ckptdeck purge` frees" in found.basis


def test_inodes_run_out_before_bytes() -> None:
    volume = replace(LOCAL, free=100 * GB, total=245 * GB, free_inodes=3)
    survey = compose(inventory(*run_of(4), volume=volume), None, Policy(), NOW)
    assert of(survey).fits == 3
    made_as_needed = replace(volume, free_inodes=0)
    assert of(compose(inventory(*run_of(4), volume=made_as_needed), None, Policy(), NOW)).fits == 39


def test_nothing_is_claimed_without_ground() -> None:
    found = of(alone([], free=100 * GB))
    assert (found.size, found.fits, found.full_at, found.peak_need, found.largest_keep) == (None,) * 5
    assert found.kept_fits is None
    assert "no size yet" in found.basis[0]
    assert "0 samples over 0s, too few to tell" in " ".join(found.basis)


def growing(rate: float, *, days: float = 3.0, ours: int = 0) -> tuple[Sample, ...]:
    """A sample an hour; others add `rate` bytes a second."""
    count = int(days * 24)
    return tuple(
        Sample(NOW - (count - index) * 3600.0, round(200 * GB - rate * 3600 * index) - ours, ours)
        for index in range(count)
    )


def test_others_on_the_disk_bring_the_day_nearer() -> None:
    survey = alone(run_of(46), free=131 * GB - 46 * SAVE)
    rate = 10 * GB / DAY
    found = of(survey, None, growing(rate))
    assert found.others.known
    assert found.others.bytes_per_second == pytest.approx(rate, rel=1e-6)
    assert found.fits == int((14_930_000_000 - rate * (HALF_HOUR - 600 - HALF_HOUR + 0)) // (SAVE + rate * HALF_HOUR))
    assert found.full_at_kept == pytest.approx(NOW + (14_930_000_000 + 46 * SAVE - 13 * SAVE) / rate)


def test_the_projections_of_a_survey_count_with_known_growth_only() -> None:
    survey = alone(run_of(46), free=131 * GB - 46 * SAVE)
    assert foresee(survey, {Role.PRIMARY: growing(0.0)}) is survey
    assert foresee(survey, {}) is survey
    samples = {Role.PRIMARY: growing(10 * GB / DAY)}
    found, outlook = foresee(survey, samples).space[Role.PRIMARY], look_ahead(survey, samples)[Role.PRIMARY]
    assert (found.fits, found.full_at) == (outlook.fits, outlook.full_at)
    assert (found.fits or 0) < (survey.space[Role.PRIMARY].fits or 0)
    assert "others add 10.0 GB a day" in found.basis
    assert foresee(survey, samples).steps is survey.steps


def test_on_one_device_the_mirror_s_copies_are_no_others() -> None:
    sightings = run_of(14)
    survey = pair(sightings, sightings, free=30 * GB, shared=True)
    held = [index * 100_000_000 for index in range(72)]
    seen_of_both = tuple(
        Sample(NOW - (72 - index) * 3600.0, 200 * GB - 2 * bytes_held, bytes_held)
        for index, bytes_held in enumerate(held)
    )
    samples = {Role.PRIMARY: seen_of_both, Role.MIRROR: seen_of_both}
    for outlook in look_ahead(survey, samples).values():
        assert (outlook.others.known, outlook.others.bytes_per_second) == (True, 0.0)
    assert foresee(survey, samples) is survey


def test_others_that_shrink_or_hold_still_are_not_counted_on() -> None:
    survey = alone(run_of(46), free=131 * GB - 46 * SAVE)
    assert of(survey, None, growing(-1e6)).fits == 6
    assert "not counted on" in of(survey, None, growing(-1e6)).others.basis
    assert "nothing else grows" in of(survey, None, growing(0.0)).others.basis


# --- against the truth


@dataclass(frozen=True, slots=True)
class Weather:
    """How one made-up run behaves."""

    every: float
    jitter: float
    restarts: float
    """Share of saves after which the run stands still for hours."""
    others: float
    """Bytes a second that others add."""
    size: int
    drift: float
    """Share by which the cadence changes over the run."""


WEATHERS = [
    Weather(1800, 0.05, 0.0, 0.0, SAVE, 0.0),
    Weather(1800, 0.2, 0.01, 0.0, SAVE, 0.0),
    Weather(900, 0.1, 0.02, 3 * GB / DAY, SAVE, 0.0),
    Weather(3600, 0.1, 0.005, 10 * GB / DAY, 2 * SAVE, 0.0),
    Weather(1800, 0.1, 0.01, 1 * GB / DAY, SAVE, 0.3),
    Weather(600, 0.3, 0.01, 5 * GB / DAY, GB, -0.3),
]


def saves_of(weather: Weather, luck: random.Random, room: int) -> Iterator[tuple[float, int]]:
    """(seconds since the start, bytes others added by then) of each save until one does not fit."""
    at, index = 0.0, 0
    while True:
        index += 1
        stretch = 1 + weather.drift * min(1.0, index * weather.size / room)
        at += weather.every * stretch * luck.uniform(1 - weather.jitter, 1 + weather.jitter)
        if luck.random() < weather.restarts:
            at += luck.uniform(2, 8) * 3600
        others = round(weather.others * at)
        yield at, others
        if index * weather.size + others > room:
            return


def test_the_day_it_was_full_against_the_day_foretold() -> None:
    """Half way through each run: the error as a share of the time that was left. Stated: median and worst."""
    errors = []
    for number, weather in enumerate(WEATHERS):
        for seed in range(4):
            luck = random.Random(number * 100 + seed)
            room, total = 1500 * GB, 200 * GB
            saves = list(saves_of(weather, luck, room))
            full = saves[-1][0]
            done = saves[: len(saves) // 2]
            now = NOW
            begun = now - done[-1][0] - 60.0
            sightings = [
                seen((index + 1) * 50, State.VERIFIED, size=weather.size, age=now - (begun + at))
                for index, (at, _) in enumerate(done)
            ]
            free = room + 2 * GB - len(done) * weather.size - done[-1][1]
            hours = range(int(done[-1][0] // 3600))
            samples = tuple(_sample(begun, hour * 3600.0, done, weather, room) for hour in hours)
            foretold = of(alone(sightings, free=free, total=total), None, samples).full_at
            assert foretold is not None
            left = begun + full - now
            errors.append((foretold - (begun + full)) / left)
    assert median(map(abs, errors)) < 0.12
    assert max(errors) < 0.25, "foretold too late"
    assert min(errors) > -0.45, "foretold too early: hours of standing still are nobody's to foretell"


def _sample(begun: float, after: float, done: list[tuple[float, int]], weather: Weather, room: int) -> Sample:
    ours = sum(at <= after for at, _ in done) * weather.size
    return Sample(begun + after, room + 2 * GB - ours - round(weather.others * after), ours)
