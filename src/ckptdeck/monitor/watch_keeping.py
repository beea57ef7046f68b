"""One side kept watched: by a watch that still watches what lies there, as far as the kernel can be asked to."""

from __future__ import annotations

import threading

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.manifest import directories_of
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.watcher import Hinted, Watch, Watcher


@dataclass(frozen=True, slots=True)
class Place:
    """The directories of a side that are watched, and which ones they are: a watch stays with what was there when it
    began, whatever takes its name."""

    directories: tuple[str, ...]
    nodes: tuple[tuple[int, int], ...]
    """(device, inode) of each."""
    mount: str = ""
    """That of the first, where it is known: a watch ends unseen when its volume is unmounted."""


def place_of(fs: FileSystem, found: CheckpointSet) -> Place | None:
    """Where a side and its bookkeeping lie; None where one of the directories is not there or does not say."""
    directories = (found.root, *directories_of(found))
    try:
        statuses = [fs.lstat(directory) for directory in directories]
    except OSError:
        return None  # the look that follows says why, where that is trouble
    return Place(directories, tuple((status.st_dev, status.st_ino) for status in statuses))


class WatchKeeper:
    """Has one watcher at a time, told where by every look."""

    def __init__(self, listener: Hinted, watch: Watch) -> None:
        self._listener = listener
        self._watch = watch
        self._lock = threading.Lock()
        self._stopped = False
        self._place: Place | None = None
        self._watcher: Watcher | None = None

    def keep(self, place: Place | None, *, revive: bool) -> None:
        """Watches `place`, None: nothing. With `revive` a watch that ended is replaced, which a look at names alone
        would ask for too often."""
        with self._lock:
            ended = self._watcher is not None and self._watcher.ended
            if self._stopped or (place == self._place and not (revive and ended)):
                return
            if self._watcher is not None:
                self._watcher.stop(0)
            self._place = place
            self._watcher = None if place is None else Watcher(place.directories, self._listener, self._watch)
            if self._watcher is not None:
                self._watcher.start()

    def stop(self, timeout: float) -> None:
        """For good. Waits up to `timeout` s."""
        with self._lock:
            self._stopped = True
            watcher = self._watcher
        if watcher is not None:
            watcher.stop(timeout)
