"""One change among many: what a console does when one checkpoint of 10,000 was touched, beside the same among 100."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ckptdeck.core.checkpoint_set import find_pair
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.policy import DEFAULT_POLICY
from ckptdeck.core.survey import take_survey
from ckptdeck.monitor.host import SystemClock, this_host
from tests.bench.figures import Row
from tests.bench.large_pair import make_large_pair, name_of
from tests.bench.subject import Bench, Subject

_FEW, _MANY = 100, 10_000
_REACH_SECONDS, _REACH_GROWTH = 0.2, 2.0


class _Later(SystemClock):
    """A day on: the sets are at rest, not made a moment ago."""

    def now(self) -> float:
        return super().now() + 86_400


def run(bench: Bench) -> Iterable[Row]:
    """Seconds from the change to the new survey of both sides, without the wait for the kernel's word."""
    few, many = (_seconds(bench, count) for count in (_FEW, bench.scaled(_MANY)))
    return [
        Row("change", f"seen among {_FEW}", few, "s", reach=_REACH_SECONDS),
        Row("change", f"seen among {bench.scaled(_MANY):,}", many, "s", reach=_REACH_SECONDS),
        Row("change", "growth from the one to the other", many / few, reach=_REACH_GROWTH),
    ]


def _seconds(bench: Bench, count: int) -> float:
    base = bench.room / f"of-{count}"
    base.mkdir()
    primary, mirror = make_large_pair(base, count)
    host = replace(this_host(), clock=_Later())
    pair = find_pair(FileSystem(), primary, mirror)
    survey = take_survey(host, pair, DEFAULT_POLICY)
    took = []
    for number in range(max(3, bench.rounds)):
        os.utime(Path(primary, name_of(number + 1)))
        began = time.perf_counter()
        survey = take_survey(host, pair, DEFAULT_POLICY, survey)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


SUBJECT = Subject("change", "one change among 10,000 checkpoints on both sides, in this process", run)
