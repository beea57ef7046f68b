"""Which files below some paths are Python sources to look at."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

_NOT_OURS = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})
_TEST_ROOMS = frozenset({"test", "tests", "testing", "test_utils"})
_TEST_FILE = re.compile(r"(?:test|testing)_.*\.pyw?|.*_tests?\.pyw?|conftest\.py")
_PYTHON = (".py", ".pyw")


@dataclass(frozen=True, slots=True)
class Source:
    """One file to look at. `error` says why it, or a directory, cannot be."""

    path: str
    size: int = 0
    is_test: bool = False
    error: str = ""


def find_sources(paths: list[str]) -> Iterator[Source]:
    """The sources at and below `paths`, each once, in a fixed order. Raises OSError for a path itself.

    A path that is a file is looked at whatever its name. Below a directory: what ends in `.py` or `.pyw`; tests are
    told apart; hidden directories, virtual environments and installed packages are left out, and no link to a directory
    is followed, so that a loop has no end to reach.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            os.listdir(path)
            yield from _below(path, seen)
        elif stat.S_ISREG(status.st_mode):
            yield from _once(Source(path, status.st_size), status, seen)
        else:
            yield Source(path, error="neither a file nor a directory")


def _below(root: str, seen: set[tuple[int, int]]) -> Iterator[Source]:
    waiting = [(root, False)]
    while waiting:
        directory, in_tests = waiting.pop()
        try:
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Source(directory, error=f"cannot be listed: {error.strerror}")
            continue
        inner = []
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not _is_left_out(entry):
                        inner.append((entry.path, in_tests or entry.name.lower() in _TEST_ROOMS))
                elif entry.name.endswith(_PYTHON) and entry.is_file():
                    status = entry.stat()
                    is_test = in_tests or _TEST_FILE.fullmatch(entry.name) is not None
                    yield from _once(Source(entry.path, status.st_size, is_test), status, seen)
            except OSError as error:
                yield Source(entry.path, error=f"cannot be looked at: {error.strerror}")
        waiting += reversed(inner)


def _is_left_out(entry: os.DirEntry[str]) -> bool:
    hidden = entry.name.startswith(".") or entry.name in _NOT_OURS
    return hidden or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _once(source: Source, status: os.stat_result, seen: set[tuple[int, int]]) -> Iterator[Source]:
    identity = status.st_dev, status.st_ino
    if identity not in seen:
        seen.add(identity)
        yield source
