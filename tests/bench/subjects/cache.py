"""What verify and mirror do to the page cache: what others keep there stays, and nothing of ours is left."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem, opened
from tests.bench.contest import run_once
from tests.bench.deck import deck, forget_copy, recorded_pair
from tests.bench.disks import GIB, MIB, fill, make_cold, make_hot, two_volumes
from tests.bench.figures import Better, Row
from tests.bench.subject import Bench, Subject

_LOOK = 0.02


def run(bench: Bench) -> Iterable[Row]:
    """2 GiB beside 1 GiB that another process keeps hot."""
    size = bench.scaled(2 * GIB)
    with two_volumes(bench.room, max(2 * size, GIB)) as (source, target):
        others = source / "others.bin"
        fill(others, size // 2)
        path, mirror = recorded_pair(source / "ckpt", target / "mirror", lambda path: fill(path, size))

        def verify() -> None:
            run_once(deck("verify", path.parent, path.name, "--quiet"))

        def copy() -> None:
            forget_copy(mirror, path.name)
            run_once(deck("mirror", path.parent, mirror, path.name, "--yes", "--quiet"))

        for command, work, hot in (("verify", verify, False), ("mirror", copy, False), ("mirror", copy, True)):
            yield from _rows(command, work, others, path, mirror / path.name, hot=hot)


def _rows(command: str, work: Callable[[], None], others: Path, path: Path, copy: Path, *, hot: bool) -> Iterable[Row]:
    make_hot(others)
    (make_hot if hot else make_cold)(path)
    with _cache_watched() as grown:
        work()
    which = f"{command} of a {'cached' if hot else 'cold'} file"
    yield Row("cache", f"{which}: of others' hot file stays", _cached(others), "%", 99.0, Better.HIGHER)
    if hot:
        yield Row("cache", f"{which}: of it stays", _cached(path), "%", 99.0, Better.HIGHER)
    else:
        yield Row("cache", f"{which}: of it is left", _cached(path), "%", 0.0)
    if command == "mirror":
        yield Row("cache", f"{which}: of the copy is left", _cached(copy), "%", 0.0)
    yield Row("cache", f"{which}: page cache at most above before", max(grown, default=0.0), "MiB")


def _cached(path: Path) -> float:
    """Percent of a file that is in the page cache."""
    fs = FileSystem()
    size = path.stat().st_size
    with opened(fs, str(path), 0) as fd:
        pages = fs.resident_pages(fd, size)
    return 100.0 * pages / -(-size // 4096)


@contextlib.contextmanager
def _cache_watched() -> Iterator[list[float]]:
    """MiB that the page cache of the whole machine was above what it was at the start, again and again."""
    grown: list[float] = []
    ended = threading.Event()
    before = _page_cache()

    def watch() -> None:
        while not ended.wait(_LOOK):
            grown.append(_page_cache() - before)

    watching = threading.Thread(target=watch)
    subprocess.run(["sync"], check=True)
    watching.start()
    try:
        yield grown
    finally:
        ended.set()
        watching.join()


def _page_cache() -> float:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Cached:")) * 1024 / MIB


SUBJECT = Subject("cache", "what verify and mirror leave in the page cache, and take from there", run)
