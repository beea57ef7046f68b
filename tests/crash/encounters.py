"""Two acts on one scene, in a sample of the orders that matter, each judged and recovered from."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.states import Role
from tests.crash.actors import Actor, Work, is_shared, play, schedules, shared_paths
from tests.crash.contents import Content
from tests.crash.faults import Call, FaultyFileSystem, Killed, fsync_offences, record_calls
from tests.crash.figures import count
from tests.crash.outcomes import report, standing, unconverged
from tests.crash.sandbox import Sandbox
from tests.crash.workloads import NAME, Act, Scene, Unfinished, Workload, nothing_there

RECOVER_EVERY = 4


@dataclass(frozen=True, slots=True)
class Encounter:
    """Two acts on one scene."""

    scene: Scene
    acts: tuple[Act, Act]
    contents: tuple[Content, ...]
    """What the primary may hold in the course of it, and so the mirror."""
    name: str = NAME

    def __str__(self) -> str:
        names = [act.__name__.strip("_").replace("_", " ") for act in self.acts]
        return f"{' and '.join(names)} ({self.scene.__name__.replace('_', ' ')})"


def play_in_every_order(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox], *, at_most: int, of: str) -> None:
    """Plays `at_most` schedules, evenly chosen where there are more. `of` is what the figures call them."""
    shared, counts = _shared_calls(encounter, fresh_sandbox)
    every = list(schedules(counts))
    stride = -(-len(every) // at_most) | 1  # odd: schedules with and without a crash take turns in the list
    found = []
    for number, schedule in enumerate(every[::stride]):
        sandbox = _scene(encounter, fresh_sandbox)
        actors = play(_works(encounter, sandbox), schedule, _pauses(sandbox, shared))
        wrong = _wrong(sandbox, actors)
        if number % RECOVER_EVERY == 0 or schedule.crash:
            wrong += unconverged(_ANY, sandbox)
        found += [(str(schedule), violation) for violation in wrong]
    count(f"interleavings{of} played", len(every[::stride]))
    count(f"interleavings{of} there are", len(every))
    assert not found, report(found)


_ANY = Workload("two actors", nothing_there, lambda _fs, _sandbox: None, copies=True)


def _scene(encounter: Encounter, fresh_sandbox: Callable[[], Sandbox]) -> Sandbox:
    """The mirror may get whatever the primary may hold."""
    sandbox = fresh_sandbox()
    encounter.scene(sandbox)
    for data in encounter.contents:
        sandbox.allow(Role.MIRROR, encounter.name, data)
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
