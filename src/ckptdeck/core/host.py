"""Everything the core must be told about the machine it runs on. Built once by the caller, passed down."""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.progress import Clock
from ckptdeck.core.sighting import Writer
from ckptdeck.core.values import dataclass

FindWriters = Callable[[frozenset[tuple[int, int]]], dict[tuple[int, int], Writer]]
"""(device, inode) of files somebody writes to → who, as far as this user may see."""


def nobody(_files: frozenset[tuple[int, int]]) -> dict[tuple[int, int], Writer]:
    """A FindWriters that knows no process."""
    return {}


@dataclass(frozen=True, slots=True)
class Host:
    """The machine: its file system calls, its clock, its name, this boot, this process."""

    fs: FileSystem
    clock: Clock
    name: str
    boot_id: str
    pid: int
    process_start: str
    """Start time of this process in the kernel's words, so that a recycled pid is not taken for us."""
    command: str = ""
    """The command line, as the log shows it."""
    find_writers: FindWriters = nobody
    pairs: bool = False
    """Two threads may go through one large file (`turns`): there are processors for both."""
