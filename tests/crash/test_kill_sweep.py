"""Every piece of work is killed before each call that changes something, in each write, and after the last one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.crash.faults import FaultyFileSystem, Killed, kills
from tests.crash.figures import count
from tests.crash.outcomes import attempt, believed, offences, report, unconverged, undone
from tests.crash.sandbox import Sandbox
from tests.crash.tree_workloads import TREE_WORKLOADS, WORKLOADS
from tests.crash.workloads import Workload


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_killed_at_every_call(workload: Workload, fresh_sandbox: Callable[[], Sandbox]) -> None:
    sandbox = fresh_sandbox()
    workload.prepare(sandbox)
    undisturbed = attempt(workload, FaultyFileSystem(largest_write=workload.largest_write), sandbox)
    assert undisturbed.error is None
    assert not offences(undisturbed, killed=False)

    found = []
    for kill in kills(undisturbed.log):
        sandbox = fresh_sandbox()
        workload.prepare(sandbox)
        tried = attempt(workload, FaultyFileSystem(kill, largest_write=workload.largest_write), sandbox)
        assert isinstance(tried.error, Killed), f"{kill} was survived: {tried.error!r}"
        wrong = offences(tried, killed=True) + believed(sandbox)
        wrong += unconverged(workload, sandbox) + undone(workload, sandbox)
        found += [(f"{kill} at {tried.log[-1]}", violation) for violation in wrong]
        count("kills tried on trees" if workload in TREE_WORKLOADS else "kills tried")
    assert not found, report(found)
