"""The kernel's word which names changed, taken as a hint to look at them; polling stays behind it (R34).

Only for file systems of this machine: network mounts and Windows drives do not tell what others change, and setting
up a watch there could hang with the interpreter's lock held, which would stop the whole console.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

Watch = Callable[[Sequence[str], Callable[[str, str], bool], threading.Event], Iterable[Collection[str]]]
"""(directories, filter of (change, name), stop event) → the paths of each batch of changes, until the event is set.

The first batch comes when the kernel watches, at once and empty where nothing changes; more empty ones may follow.
Raises OSError when the kernel cannot watch them, or no more."""

_DEBOUNCE_MS = 500
_STEP_MS = 50
_TIMEOUT_MS = 200
"""How long after its beginning a watch is known to stand, where nothing changes."""


class Hinted(Protocol):
    """Who wants to know."""

    def changed(self, paths: Collection[str]) -> None:
        """What lies at `paths` changed; look at that soon."""

    def watched(self, events: bool) -> None:
        """Whether changes are told from now on."""


class Watcher:
    """Follows directories in a thread of its own until stopped, or until they cannot be followed any more."""

    def __init__(self, directories: Sequence[str], listener: Hinted, watch: Watch) -> None:
        self._directories = directories
        self._listener = listener
        self._watch = watch
        self._lock = threading.Lock()
        self._standing = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"watch {directories[0]!r}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Ends the watching; it says nothing any more once this returns. Waits up to `timeout` s: a thread inside the
        watching library must not outlive the interpreter."""
        self._stop.set()
        self._say(False)
        self._thread.join(timeout)

    @property
    def ended(self) -> bool:
        """It was started, and follows nothing any more."""
        return not self._thread.is_alive()

    def _follow(self) -> None:
        try:
            for paths in self._watch(self._directories, worth_a_look, self._stop):
                self._say(True)
                if any(directory in paths for directory in self._directories):
                    return  # one was removed or renamed; what lies there now is not what is watched
                if paths:
                    self._listener.changed(paths)
        except OSError:
            return  # no watches left, or a name that is not UTF-8: polling sees all the same, only later
        finally:
            self._say(False)

    def _say(self, events: bool) -> None:
        """Whether it watches, in an order that holds: nothing good any more after `stop`."""
        with self._lock:
            if events != self._standing and not (events and self._stop.is_set()):
                self._standing = events
                self._listener.watched(events)


def worth_a_look(change: str, name: str) -> bool:
    """False for the flood a growing `.part` makes; its progress is looked at every second anyway. Appearing,
    disappearing and being renamed (`change` "added" or "deleted") always count."""
    return change != "modified" or not name.endswith(".part")


def watch_directories(
    directories: Sequence[str], wanted: Callable[[str, str], bool], stop: threading.Event
) -> Iterable[Collection[str]]:
    """Batches of changes of the names directly in `directories`, and of themselves, by inotify."""
    import watchfiles

    try:
        for batch in watchfiles.watch(
            *directories,
            watch_filter=None,  # a batch it leaves nothing of would not even say that the watch stands
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stop,
            rust_timeout=_TIMEOUT_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=False,
            recursive=False,
        ):
            yield {path for change, path in batch if wanted(change.raw_str(), path.rpartition("/")[2])}
    except RuntimeError as error:  # the library's own type for a failing watch
        raise OSError(str(error)) from error
