"""A trainer that saves on a pretended machine, and a watch beside it that is turned by hand."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ckptdeck.core.checkpoint_set import find_set, sibling_control
from ckptdeck.core.host import Host
from ckptdeck.core.initialise import initialise
from ckptdeck.core.publish import Intent, publish
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.engine import LiveEngine
from ckptdeck.monitor.notify import Notifier
from ckptdeck.monitor.watch import Watch
from ckptdeck.monitor.watch_event import Event, Happening
from ckptdeck.monitor.watch_work import Duties
from tests.monitor.making import GUARD, StandingClock, made_up_host
from tests.monitor.pretended import Disks, PretendedKernel, tells_nothing
from tests.monitor.test_engine import LOOKING_AND_COMPOSING

POLL = 2.0
"""Seconds of pretended time between two looks: the default."""
SIZE = 20_000
HOUR = 3600.0
BOTH = Duties(mirror=True, prune=True)


class World:
    """Both sides initialised, a trainer, and `ckptdeck watch` without its command line."""

    def __init__(
        self, disks: Disks, *, duties: Duties = BOTH, paired: bool = True, earlier: World | None = None
    ) -> None:
        self.disks = disks
        self.clock: StandingClock = StandingClock(float(int(time.time()))) if earlier is None else earlier.clock
        self.kernel: PretendedKernel = PretendedKernel(self.clock) if earlier is None else earlier.kernel
        self.host = made_up_host(self.clock, self.kernel)
        self.trainer: Host = replace(self.host, pid=7, command="python train.py")
        if earlier is None:
            initialise(self.host, str(disks.primary), str(disks.mirror) if paired else None)
        self.engine = LiveEngine(
            self.host,
            str(disks.primary),
            wait=self.clock.wait,
            watch=tells_nothing,
            prepare_job=lambda: None,
        )
        self.events: list[Event] = []
        self.notifier = Notifier(self.clock, str(disks.primary), {})
        self.watch = Watch(self.engine, self.clock, duties, self.notifier, self.events.append)
        self._begun = False
        self._threads = LOOKING_AND_COMPOSING - (not paired)

    @property
    def control(self) -> str:
        return sibling_control(str(self.disks.primary))

    def another(self, duties: Duties) -> World:
        """The next watch on the same machine."""
        return World(self.disks, duties=duties, earlier=self)

    def begin(self) -> None:
        self._begun = True
        self.watch.begin()
        self._settle()

    def save(self, name: str, data: bytes) -> None:
        """As `ckptdeck.publish` does."""
        target = find_set(self.kernel, str(self.disks.primary), Role.PRIMARY)
        with publish(self.trainer, target, Intent(name, step=int(name[5:-3]))) as (stream, _):
            stream.write(data)

    def turn(self, seconds: float = POLL) -> bool:
        """Lets time pass, both sides be looked at and the watch decide; True when it did some work."""
        self.look(seconds)
        before = {job.id for job in self.engine.snapshot().jobs}
        self.watch.turn()
        begun = [job.id for job in self.engine.snapshot().jobs if job.id not in before]
        self._finish()
        return bool(begun)

    def look(self, seconds: float) -> None:
        """Lets time pass, both sides be looked at, and what runs end; the watch does not hear of it."""
        self.clock.advance(seconds)
        if self._begun:
            self._settle()
            self._finish()

    def _finish(self) -> None:
        for job in self.engine.snapshot().jobs:
            assert job.state.over or self.engine._runner.wait(job.id, GUARD)
        self._settle()

    def rest(self) -> None:
        """Turns until nothing is left to do."""
        idle = 0
        while idle < 2:
            idle = 0 if self.turn() else idle + 1

    def unmount(self) -> None:
        self.disks.unmount()
        self.disks.mounted = False

    def mount(self) -> None:
        self.disks.mount()
        self.disks.mounted = True

    def notified(self) -> None:
        """Waits for the notify command that runs, and has the watch look after it."""
        running = self.notifier._running
        if running is not None:
            running.wait(GUARD)
        self.watch.turn()

    def survey(self) -> Survey:
        survey = self.engine.snapshot().survey
        assert survey is not None
        return survey

    def end(self) -> int:
        self._begun = False
        return self.watch.end()

    def told(self, *kinds: Happening) -> list[str]:
        return [event.text for event in self.events if event.what in kinds]

    def _settle(self) -> None:
        self.clock.settle(self._threads)


def content(name: str, size: int) -> bytes:
    """Bytes of no known format, the same for the same name."""
    return hashlib.shake_128(name.encode()).digest(size)


class WorldMaker(Protocol):
    """Of the fixture `make`: a pair in plain directories, with what a watch beside it may do."""

    def __call__(self, *, mirror: bool = True, prune: bool = True, policy: str = "", paired: bool = True) -> World: ...


def save(world: World, *saves: int, size: int = SIZE) -> None:
    """One an hour."""
    for number in saves:
        name = name_of(number)
        world.save(name, content(name, size))
        world.look(HOUR)


def name_of(number: int) -> str:
    return f"step_{number}.pt"


def steps_on(root: Path) -> list[int]:
    return sorted(int(name[5:-3]) for name in os.listdir(root) if name.endswith(".pt"))
