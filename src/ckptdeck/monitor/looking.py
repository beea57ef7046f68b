"""One thread per side that looks again and again, so that a mount which hangs stops nothing but its own looking (R34).

A system call that does not come back cannot be ended; it can only be noticed from outside. The thread is a daemon:
quitting never waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import CkptdeckError, describe_os_error
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.host import Host
from ckptdeck.core.progress import Clock
from ckptdeck.core.register import Changes
from ckptdeck.core.samples import Sample
from ckptdeck.core.sighting import ENOUGH, Inventory
from ckptdeck.core.states import FlightState, Role
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.snapshot import SideActivity
from ckptdeck.monitor.watch_keeping import Place

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
    calm_share: float = 300.0
    """The same of looks at everything while the kernel tells whatever changes, up to `longest_calm`: where checkpoints
    are directories it does not."""
    longest_calm: float = 60.0


DEFAULT_TIMING = Timing()


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a side brought."""

    found: CheckpointSet
    inventory: Inventory
    samples: tuple[Sample, ...] = ()
    """The space of its volume so far, oldest first."""
    complete: bool = True
    """Everything was looked at, and not only what was told to have changed."""
    changes: Changes | None = None
    """What is seen otherwise than at the look before; None: anything may be."""
    place: Place | None = None
    """Which directories were looked at, as they were just before; None where they cannot be told apart."""


class Lookout:
    """Looks at one side until stopped.

    `look` gets the host to look with, the look before, and the paths that changed since, None where anything may have;
    `saw` is told a new look, or why there is none. Both run on the looking thread. `poll` gives the seconds between two
    looks when all is quiet.
    """

    def __init__(
        self,
        role: Role,
        host: Host,
        look: Callable[[Host, Look | None, Collection[str] | None], Look],
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
        self._lock = threading.Lock()
        self._asked = False
        self._hinted = False
        self._unnamed = False
        self._paths: set[str] = set()
        self._told_since = False
        self._complete_due = 0.0
        self._stopping = False
        self._events = False
        self._watches = 0
        """How often it was said that hints come, or come no more."""
        self._thread = threading.Thread(target=self._run, name=f"look at {role}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No further look begins. Does not wait."""
        self._stopping = True
        self._ring.set()

    def look_now(self) -> None:
        with self._lock:
            self._asked = True
        self._ring.set()

    def hint(self) -> None:
        """Something changed: look soon, but not more often than twice within `second_look`."""
        with self._lock:
            self._unnamed = self._hinted = True
        self._ring.set()

    def changed(self, paths: Collection[str]) -> None:
        """The same, where it is known what."""
        with self._lock:
            self._paths.update(paths)
            self._hinted = True
        self._ring.set()

    def watched(self, events: bool) -> None:
        """Whether hints come from the kernel. When they come no more, everything is polled again."""
        with self._lock:
            self._events = events
            self._watches += 1
            if not events:
                self._told_since = False
                self._complete_due = min(self._complete_due, self._host.clock.monotonic() + self._poll())
        if not events:
            self._ring.set()

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
            began = clock.monotonic()
            first = self._newest is None
            paths, watches = self._take_paths(began)
            complete = self._look_once(paths)
            ended = clock.monotonic()
            if complete is not False:
                self._count_from(watches, ended, ended - began, failed=complete is None)
            self._rest(first, ended, ended - began)

    def _take_paths(self, now: float) -> tuple[Collection[str] | None, int]:
        """What to look at, None for everything, and how often the watch had changed by then.

        What is asked for from here on needs a look after this one.
        """
        with self._lock:
            everything = self._asked or self._unnamed or not self._told_since or now >= self._complete_due
            self._asked = self._hinted = self._unnamed = False
            paths, self._paths = self._paths, set()
            return None if everything else paths, self._watches

    def _count_from(self, watches: int, ended: float, took: float, *, failed: bool) -> None:
        """After a look at everything, or one that failed: how far names are enough, and when everything is due again.

        They are where one and the same watch stood all the while, so that nothing changed between it and the look.
        """
        with self._lock:
            self._told_since = self._events and self._watches == watches and not failed
            self._complete_due = ended + self._complete_pause(took, seldom=self._events and not failed)

    def _look_once(self, paths: Collection[str] | None) -> bool | None:
        """Whether everything was looked at, and not only `paths`; None when nothing could be."""
        with self._watchdog:
            look, error = self._try_to_look(paths)
        if look is not None:
            self._newest = look
        if not self._stopping:
            self._saw(self._role, look, error)
        return None if look is None else look.complete

    def _try_to_look(self, paths: Collection[str] | None) -> tuple[Look | None, str]:
        try:
            return self._look(self._host, self._newest, paths), ""
        except CkptdeckError as error:
            return None, str(error)
        except OSError as error:
            return None, describe_os_error(error, error.filename or "")
        except Exception as error:  # noqa: BLE001 - a bug must be seen on the screen, not end the looking unseen
            return None, f"This is a bug in ckptdeck: {type(error).__name__}: {error}"

    def _pause(self, first: bool, ended: float, took: float) -> float:
        """Seconds until the next look, if nothing is told meanwhile."""
        if first:
            return self._timing.second_look
        left = max(0.0, self._complete_due - ended)
        if self._newest is not None and unsettled(self._newest.inventory):
            return min(left, max(self._timing.second_look, min(took * self._timing.share, self._timing.longest_rest)))
        return left

    def _complete_pause(self, took: float, *, seldom: bool) -> float:
        """Seconds until everything is looked at again."""
        timing = self._timing
        if seldom:
            inside = self._newest is not None and self._newest.inventory.holds_directories
            share, longest = (timing.share, timing.longest_rest) if inside else (timing.calm_share, timing.longest_calm)
            return max(self._poll() * timing.calm, min(took * share, longest))
        return max(self._poll(), min(took * timing.share, timing.longest_rest))

    def _rest(self, first: bool, ended: float, took: float) -> None:
        while not (self._stopping or self._asked):
            pause = self._pause(first, ended, took)
            due = ended + (min(pause, self._timing.second_look) if self._hinted else pause)
            left = due - self._host.clock.monotonic()
            if left <= 0:
                return
            self._wait(self._ring, left)
            self._ring.clear()


def unsettled(inventory: Inventory) -> bool:
    """Something moves, or one more look would decide what it is."""
    return any(flight.state in (FlightState.LIVE, FlightState.UNKNOWN) for flight in inventory.in_flight) or any(
        s.moved or s.held or 0 < s.seen_missing < ENOUGH for s in inventory.sightings
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
