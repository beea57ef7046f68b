"""Who holds a file open for writing. Sees the processes this user may look into, no others."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ckptdeck.core.sighting import Writer


def find_writers(files: frozenset[tuple[int, int]], proc: str = "/proc") -> dict[tuple[int, int], Writer]:
    """The first process found writing to each of `files`, given as (device, inode). Our own process is left out.

    Files nobody writes to, or whose writer belongs to a user we may not look into, are not in the answer.
    """
    found: dict[tuple[int, int], Writer] = {}
    if not files:
        return found
    own = os.getpid()
    for pid in _process_ids(proc):
        if pid == own:
            continue
        for key in _written_by(f"{proc}/{pid}", files - found.keys()):
            found[key] = Writer(pid, _command_of(pid) or _process_name(f"{proc}/{pid}"))
        if len(found) == len(files):
            break
    return found


def _process_ids(proc: str) -> Iterator[int]:
    try:
        names = os.listdir(proc)
    except OSError:
        return  # no /proc here: nobody can be seen
    yield from sorted(int(name) for name in names if name.isdigit())


def _written_by(process: str, files: frozenset[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    try:
        descriptors = os.listdir(f"{process}/fd")
    except OSError:
        return  # ended meanwhile, or not ours to look into
    for descriptor in descriptors:
        try:
            stat = os.stat(f"{process}/fd/{descriptor}")
        except OSError:
            continue  # closed meanwhile
        key = (stat.st_dev, stat.st_ino)
        if key in files and _opened_for_writing(f"{process}/fdinfo/{descriptor}"):
            yield key


def _opened_for_writing(fdinfo: str) -> bool:
    try:
        with open(fdinfo, encoding="ascii") as file:
            for line in file:
                if line.startswith("flags:"):
                    return int(line.split()[1], 8) & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)
    except OSError:
        return False  # closed meanwhile
    return False


def _command_of(pid: int) -> str:
    """ "python train.py" rather than "python": the program and what it runs. "" when it cannot be told."""
    import psutil  # only when somebody was found: it costs a launch script 30 ms

    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return ""
    named = [os.path.basename(words[0])] if words else []
    if len(words) > 2 and words[1] == "-m":
        named += words[1:3]
    else:
        named += [os.path.basename(word) for word in words[1:2] if not word.startswith("-")]
    return " ".join(named)


def _process_name(process: str) -> str:
    try:
        with open(f"{process}/comm", "rb") as file:
            return os.fsdecode(file.read().rstrip(b"\n"))
    except OSError:
        return ""
