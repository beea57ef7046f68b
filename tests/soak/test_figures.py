"""The judge of a soak: what is flat, and what grew."""

from __future__ import annotations

import os

from tests.soak.figures import MIB, Reading, growth, read_process, stretches


def readings(growing_by: int = 0, busier_by: float = 0.0) -> list[Reading]:
    """An hour of one reading a minute."""
    return [
        Reading(
            at=60.0 * minute,
            cpu=60.0 * minute * (0.03 + busier_by * minute / 60),
            rss=50 * MIB + growing_by * minute,
            threads=9,
            fds=12,
        )
        for minute in range(61)
    ]


def test_what_stays_as_it_is_counts_as_flat() -> None:
    assert growth(stretches(readings(), 12)) == ()


def test_a_leak_of_a_few_megabytes_an_hour_is_found() -> None:
    assert growth(stretches(readings(growing_by=MIB // 15), 12)) == ("memory grew from 50.2 MiB to 53.8 MiB",)


def test_work_that_grows_is_found() -> None:
    assert growth(stretches(readings(busier_by=0.05), 12)) == ("CPU grew from 3.4% of a core to 12.6% of a core",)


def test_a_stretch_says_what_it_took() -> None:
    first, *_, last = stretches(readings(), 12)
    assert (first.minutes, last.minutes) == (5.0, 60.0)
    assert round(first.cpu, 6) == 0.03


def test_this_process_can_be_read() -> None:
    reading = read_process(os.getpid(), 1.0)
    assert reading.rss > MIB
    assert reading.threads >= 1
    assert reading.fds >= 3
