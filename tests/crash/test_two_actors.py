"""Two pieces of work at the same time on the same checkpoint, in every order that matters, and one of them dying."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import plan_repair
from ckptdeck.core.states import Role
from tests.crash.actors import Actor, Work, is_shared, play, schedules, shared_paths
from tests.crash.faults import Call, FaultyFileSystem, Killed, fsync_offences, record_calls
from tests.crash.figures import count
from tests.crash.outcomes import report, standing, unconverged
from tests.crash.sandbox import HOUR, Sandbox
from tests.crash.workloads import (
    MIDDLE,
    NAME,
    NEW,
    OLD,
    Unfinished,
    Workload,
    carry_out,
    died_after_rename,
    died_before_rename,
    died_while_writing,
    nothing_there,
    old_one_there,
    rotten_copy_there,
    save,
    verify,
)

Act = Callable[[FileSystem, Sandbox], object]
SCHEDULES = 90
"""How many schedules of a pair are played; where there are more, every n-th of them, evenly."""
RECOVER_EVERY = 4


def _publish(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, NEW, pid=1)


def _publish_another(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, MIDDLE, pid=2)


def _replace(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, NEW, replace=True, readback=True, pid=1)


def _replace_with_another(fs: FileSystem, sandbox: Sandbox) -> None:
    save(fs, sandbox, MIDDLE, replace=True, readback=True, pid=2)


def _mirror(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_mirror, pid=3)


def _mirror_too(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_mirror, pid=4)


def _repair(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_repair, pid=5)


def _repair_too(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_repair, pid=6)


def _recover(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_recover, hours=HOUR, pid=7)


def _recover_too(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_recover, hours=HOUR, pid=8)


def _verify_mirror(fs: FileSystem, sandbox: Sandbox) -> None:
    verify(fs, sandbox, Role.MIRROR)


@dataclass(frozen=True, slots=True)
class Encounter:
    """Two acts on one scene."""

    scene: Callable[[Sandbox], None]
    acts: tuple[Act, Act]

    def __str__(self) -> str:
        names = [act.__name__.strip("_").replace("_", " ") for act in self.acts]
        return f"{' and '.join(names)} ({self.scene.__name__.replace('_', ' ')})"


ENCOUNTERS = (
    Encounter(nothing_there, (_publish, _publish_another)),
    Encounter(nothing_there, (_publish, verify)),
    Encounter(nothing_there, (_publish, _mirror)),
    Encounter(died_while_writing, (_publish, _recover)),
    Encounter(died_before_rename, (_publish, _recover)),
    Encounter(old_one_there, (_replace, _replace_with_another)),
    Encounter(old_one_there, (_replace, verify)),
    Encounter(old_one_there, (_replace, _mirror)),
    Encounter(rotten_copy_there, (_replace, _repair)),
    Encounter(died_before_rename, (_replace, _recover)),
    Encounter(died_after_rename, (_replace, _recover)),
    Encounter(old_one_there, (_mirror, _mirror_too)),
    Encounter(old_one_there, (_mirror, verify)),
    Encounter(rotten_copy_there, (_mirror, _repair)),
    Encounter(died_after_rename, (_mirror, _recover)),
    Encounter(rotten_copy_there, (_repair, _repair_too)),
    Encounter(rotten_copy_there, (_repair, _verify_mirror)),
    Encounter(rotten_copy_there, (_repair, _recover)),
    Encounter(died_before_rename, (_recover, _recover_too)),
    Encounter(died_before_rename, (_recover, verify)),
)


@pytest.mark.parametrize("encounter", ENCOUNTERS, ids=str)
def test_every_order_of_two_actors(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox]) -> None:
    shared, counts = _shared_calls(encounter, fresh_sandbox)
    every = list(schedules(counts))
    stride = -(-len(every) // SCHEDULES) | 1  # odd: schedules with and without a crash take turns in the list
    found = []
    for number, schedule in enumerate(every[::stride]):
        sandbox = _scene(encounter, fresh_sandbox)
        actors = play(_works(encounter, sandbox), schedule, _pauses(sandbox, shared))
        wrong = _wrong(sandbox, actors)
        if number % RECOVER_EVERY == 0 or schedule.crash:
            wrong += unconverged(_ANY, sandbox)
        found += [(str(schedule), violation) for violation in wrong]
    count("interleavings played", len(every[::stride]))
    count("interleavings there are", len(every))
    assert not found, report(found)


_ANY = Workload("two actors", nothing_there, lambda _fs, _sandbox: None, copies=True)


def _scene(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox]) -> Sandbox:
    """The mirror may get whatever the primary may hold."""
    sandbox = fresh_sandbox()
    encounter.scene(sandbox)
    for data in (OLD, MIDDLE, NEW):
        sandbox.allow(Role.MIRROR, NAME, data)
    return sandbox


def _works(encounter: Encounter, sandbox: Sandbox) -> tuple[Work, Work]:
    first, second = encounter.acts
    return (lambda fs: first(fs, sandbox)), (lambda fs: second(fs, sandbox))


def _shared_calls(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox]) -> tuple[frozenset[str], tuple[int, int]]:
    """Names both use, relative to the sandbox, and how many calls on them each makes when it is alone."""
    logs = []
    for act in encounter.acts:
        sandbox = _scene(encounter, fresh_sandbox)
        logs.append([_relative(call, sandbox) for call in _alone(act, sandbox)])
    shared = shared_paths((logs[0], logs[1]))
    first, second = (sum(is_shared(call, shared) for call in log) for log in logs)
    return shared, (first, second)


def _alone(act: Act, sandbox: Sandbox) -> Sequence[Call]:
    def run(fs: FaultyFileSystem) -> None:
        try:
            act(fs, sandbox)
        except (CkptdeckError, Unfinished):
            return  # with nothing there yet it has nothing to do

    return record_calls(run)


def _pauses(sandbox: Sandbox, shared: frozenset[str]) -> Callable[[Call], bool]:
    return lambda call: is_shared(_relative(call, sandbox), shared)


def _relative(call: Call, sandbox: Sandbox) -> Call:
    return replace(call, paths=tuple(os.path.relpath(path, sandbox.base) for path in call.paths))


def _wrong(sandbox: Sandbox, actors: tuple[Actor, Actor]) -> list[str]:
    wrong = standing(sandbox)
    for actor in actors:
        wrong += fsync_offences(actor.fs.log)
        if actor.error is not None and not isinstance(actor.error, CkptdeckError | Unfinished | Killed):
            wrong.append(f"raised {actor.error!r}")
    return wrong
