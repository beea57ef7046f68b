"""One thread per side that looks again and again, so that a mount which hangs stops nothing but its own looking (R34).

A system call that does not come back cannot be ended; it can only be noticed from outside. The thread is a daemon:
quitting never waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import CkptdeckError, describe_os_error
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.progress import Clock
from ckptdeck.core.samples import Sample
from ckptdeck.core.sighting import Inventory
from ckptdeck.core.states import FlightState, Role
from ckptdeck.core.values import dataclass, replace
from ckptdeck.monitor.snapshot import SideActivity

Wait = Callable[[threading.Event, float], object]
"""Waits until the event is set or so many seconds went by; also coming back early does no harm."""


def wait_for(event: threading.Event, seconds: float) -> object:
    return event.wait(seconds)


@dataclass(frozen=True, slots=True)
class Timing:
    """When is looked again, in seconds where nothing else is said."""

    second_look: float = 1.0
    """After the first look, and while something moves: two looks tell growth, and agree that something is missing."""
    silence: float = 5.0
    """A side whose file system has said nothing for so long does not answer."""
    scanning: float = 0.5
    """A look that takes longer is worth a word."""
    calm: float = 5.0
    """How many times slower a side is polled while the kernel tells about changes."""
    share: float = 10.0
    """Rests are at least so many times as long as the look before them, up to `longest_rest`."""
    longest_rest: float = 30.0


DEFAULT_TIMING = Timing()


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a side brought."""

    found: CheckpointSet
    inventory: Inventory
    samples: tuple[Sample, ...] = ()
    """The space of its volume so far, oldest first."""


class Lookout:
    """Looks at one side until stopped.

    `look` gets the host to look with and the inventory before; `saw` is told a new look, or why there is none. Both
    run on the looking thread. `poll` gives the seconds between two looks when all is quiet.
    """

    def __init__(
        self,
        role: Role,
        host: Host,
        look: Callable[[Host, Inventory | None], Look],
        saw: Callable[[Role, Look | None, str], None],
        *,
        poll: Callable[[], float],
        wait: Wait = wait_for,
        timing: Timing = DEFAULT_TIMING,
    ) -> None:
        self._role = role
        self._watchdog = Watchdog(host.clock)
        self._host = replace(host, fs=AttentiveFileSystem(host.fs, self._watchdog))
        self._look = look
        self._saw = saw
        self._poll = poll
        self._wait = wait
        self._timing = timing
        self._newest: Look | None = None
        self._ring = threading.Event()
        self._asked = False
        self._hinted = False
        self._stopping = False
        self._events = False
        self._thread = threading.Thread(target=self._run, name=f"look at {role}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No further look begins. Does not wait."""
        self._stopping = True
        self._ring.set()

    def look_now(self) -> None:
        self._asked = True
        self._ring.set()

    def hint(self) -> None:
        """Something changed: look soon, but not more often than twice within `second_look`."""
        self._hinted = True
        self._ring.set()

    def watched(self, events: bool) -> None:
        """Whether hints come from the kernel."""
        self._events = events

    @property
    def silent_since(self) -> float | None:
        """Wall clock time since which the file system has not answered, None while it does."""
        return self._watchdog.silent_since(self._timing.silence)

    @property
    def activity(self) -> SideActivity:
        busy = self._watchdog.busy_for
        return SideActivity(
            scanning=busy is not None and (self._newest is None or busy >= self._timing.scanning),
            silent_since=self.silent_since,
            watching="events" if self._events else "polling",
        )

    def _run(self) -> None:
        clock = self._host.clock
        while not self._stopping:
            self._asked = self._hinted = False  # what is asked for from here on needs a look after this one
            began = clock.monotonic()
            first = self._newest is None
            self._look_once()
            ended = clock.monotonic()
            self._rest(ended, self._pause(first, ended - began))

    def _look_once(self) -> None:
        with self._watchdog:
            look, error = self._try_to_look()
        if look is not None:
            self._newest = look
        if not self._stopping:
            self._saw(self._role, look, error)

    def _try_to_look(self) -> tuple[Look | None, str]:
        previous = self._newest.inventory if self._newest is not None else None
        try:
            return self._look(self._host, previous), ""
        except CkptdeckError as error:
            return None, str(error)
        except OSError as error:
            return None, describe_os_error(error, error.filename or "")
        except Exception as error:  # noqa: BLE001 - a bug must be seen on the screen, not end the looking unseen
            return None, f"This is a bug in ckptdeck: {type(error).__name__}: {error}"

    def _pause(self, first: bool, took: float) -> float:
        inventory = self._newest.inventory if self._newest is not None else None
        if first:
            return self._timing.second_look
        if inventory is not None and unsettled(inventory):
            wanted = self._timing.second_look
        else:
            wanted = self._poll() * (self._timing.calm if self._events else 1.0)
        return max(wanted, min(took * self._timing.share, self._timing.longest_rest))

    def _rest(self, ended: float, pause: float) -> None:
        while not (self._stopping or self._asked):
            due = ended + (min(pause, self._timing.second_look) if self._hinted else pause)
            left = due - self._host.clock.monotonic()
            if left <= 0:
                return
            self._wait(self._ring, left)
            self._ring.clear()


def unsettled(inventory: Inventory) -> bool:
    """Something moves, or one more look would decide what it is."""
    return any(flight.state in (FlightState.LIVE, FlightState.UNKNOWN) for flight in inventory.in_flight) or any(
        s.moved or s.held or s.seen_missing == 1 for s in inventory.sightings
    )


class Watchdog:
    """Knows since when a look has been going on, and when the file system last gave a sign of life."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._busy_since: float | None = None
        self._sign: tuple[float, float] = (0.0, 0.0)

    def __enter__(self) -> None:
        self.sign()
        self._busy_since = self._clock.monotonic()

    def __exit__(self, *_: object) -> None:
        self._busy_since = None

    def sign(self) -> None:
        """A call began or came back."""
        self._sign = (self._clock.monotonic(), self._clock.now())

    @property
    def busy_for(self) -> float | None:
        """Seconds the present look has taken so far."""
        since = self._busy_since
        return None if since is None else self._clock.monotonic() - since

    def silent_since(self, patience: float) -> float | None:
        if self._busy_since is None:
            return None
        moved, wall = self._sign
        return wall if self._clock.monotonic() - moved >= patience else None


class AttentiveFileSystem(FileSystem):
    """A file system whose every call gives the watchdog a sign of life, going in and coming out."""

    def __init__(self, inner: FileSystem, watchdog: Watchdog) -> None:
        self._inner = inner
        self._watchdog = watchdog

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return object.__getattribute__(self, name)
        call = getattr(self._inner, name)
        watchdog = self._watchdog

        def attended(*arguments: Any, **options: Any) -> Any:
            watchdog.sign()
            try:
                return call(*arguments, **options)
            finally:
                watchdog.sign()

        return attended
