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
Raises OSError when the kernel cannot watch them."""

_NOT_DECODED = "\ufffd"
"""In place of what is no UTF-8: such a name was not told."""
_DEBOUNCE_MS = 500
_STEP_MS = 50
_TIMEOUT_MS = 1000


class Hinted(Protocol):
    """Who wants to know."""

    def hint(self) -> None:
        """Something changed; look again soon."""

    def changed(self, paths: Collection[str]) -> None:
        """What lies at `paths` changed; look at that soon."""

    def watched(self, events: bool) -> None:
        """Whether changes are told from now on."""


class Watcher:
    """Follows directories in a thread of its own until stopped."""

    def __init__(self, directories: Sequence[str], listener: Hinted, watch: Watch) -> None:
        self._directories = directories
        self._listener = listener
        self._watch = watch
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"watch {directories[0]!r}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Ends the watching. Waits up to `timeout` s: a thread inside the watching library must not outlive the
        interpreter."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _follow(self) -> None:
        self._listener.watched(True)
        try:
            for paths in self._watch(self._directories, worth_a_look, self._stop):
                if any(_NOT_DECODED in path for path in paths):
                    self._listener.hint()
                else:
                    self._listener.changed(paths)
        except OSError:
            return  # no watches left, or the directory went away: polling sees all the same, only later
        finally:
            if not self._stop.is_set():  # who stopped it may have set another one in its place
                self._listener.watched(False)


def worth_a_look(change: str, name: str) -> bool:
    """False for the flood a growing `.part` makes; its progress is looked at every second anyway. Appearing,
    disappearing and being renamed (`change` "added" or "deleted") always count."""
    return change != "modified" or not name.endswith(".part")


def watch_directories(
    directories: Sequence[str], wanted: Callable[[str, str], bool], stop: threading.Event
) -> Iterable[Collection[str]]:
    """Batches of changes of the names directly in `directories`, by inotify."""
    import watchfiles

    def keep(change: watchfiles.Change, path: str) -> bool:
        return wanted(change.raw_str(), path.rpartition("/")[2])

    try:
        for batch in watchfiles.watch(
            *directories,
            watch_filter=keep,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stop,
            rust_timeout=_TIMEOUT_MS,
            raise_interrupt=False,
            force_polling=False,
            recursive=False,
        ):
            yield {path for _, path in batch}
    except RuntimeError as error:  # the library's own type for a failing watch
        raise OSError(str(error)) from error
