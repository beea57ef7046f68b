"""One change among many: what a console does when the kernel names one checkpoint of 10,000, beside one of 100."""

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
from ckptdeck.core.states import Role
from ckptdeck.monitor.core_calls import core_calls
from ckptdeck.monitor.eye import Eye
from ckptdeck.monitor.host import SystemClock, this_host
from tests.bench.figures import Row
from tests.bench.large_pair import make_large_pair, name_of
from tests.bench.subject import Bench, Subject

_FEW, _MANY = 100, 10_000
_CHANGES = 15
_REACH_SECONDS, _REACH_GROWTH = 0.2, 2.0


class _Later(SystemClock):
    """A day on: the sets are at rest, not made a moment ago."""

    def now(self) -> float:
        return super().now() + 86_400


def run(bench: Bench) -> Iterable[Row]:
    """Seconds from the kernel's word, when it has come, to the new survey of both sides."""
    few, many = (_seconds(bench, count) for count in (_FEW, bench.scaled(_MANY)))
    return [
        Row("change", f"seen among {_FEW}", few, "s", reach=_REACH_SECONDS),
        Row("change", f"seen among {bench.scaled(_MANY):,}", many, "s", reach=_REACH_SECONDS),
        Row("change", "growth from the one to the other", many / few, reach=_REACH_GROWTH),
    ]


def _seconds(bench: Bench, count: int) -> float:
    base = bench.room / f"of-{count}"
    base.mkdir()
    roots = make_large_pair(base, count)
    host, fs, core = replace(this_host(), clock=_Later()), FileSystem(), core_calls()
    pair = find_pair(fs, *roots)
    primary, mirror = Eye(core), Eye(core)
    here = primary.look(host, pair.primary, DEFAULT_POLICY, None)
    there = mirror.look(host, pair.on(Role.MIRROR), DEFAULT_POLICY, None)
    core.compose(here.inventory, there.inventory, DEFAULT_POLICY, host.clock.now(), None)
    took = []
    for number in range(max(_CHANGES, bench.rounds)):
        path = str(Path(pair.primary.root, name_of(number + 1)))
        os.utime(path)
        began = time.perf_counter()
        here = primary.look(host, core.find_set(fs, roots[0], Role.PRIMARY), DEFAULT_POLICY, {path})
        changes = {Role.PRIMARY: here.changes or {}}
        core.compose(here.inventory, there.inventory, DEFAULT_POLICY, host.clock.now(), changes)
        took.append(time.perf_counter() - began)
        if here.complete or path.rpartition("/")[2] not in changes[Role.PRIMARY]:
            raise RuntimeError(f"{path} was not looked at by its name")
    return statistics.median(took)


SUBJECT = Subject("change", "one change among 10,000 checkpoints on both sides, in this process", run)
