"""A training that computes, writes and syncs all the time, alone and beside ours: how much of its pace it keeps."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.contest import run_once
from tests.bench.deck import deck, forget_copy, recorded_pair
from tests.bench.disks import GIB, fill, make_cold, make_hot, two_volumes
from tests.bench.figures import Better, Row
from tests.bench.subject import Bench, Subject

_SECONDS = 12.0
"""How long each stretch is watched."""
_BARS = "▁▂▃▄▅▆▇█"
_TRAINER = """
import hashlib, os, sys, time
path, size = sys.argv[1], int(sys.argv[2])
data, batch = os.urandom(size), bytes(1 << 20)
fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
place = 0
while True:
    until = time.process_time() + 0.06
    while time.process_time() < until:
        hashlib.sha256(batch).digest()
    os.pwrite(fd, data, place)
    os.fsync(fd)
    place = (place + size) % (64 * size)
    print(time.monotonic(), flush=True)
"""


def run(bench: Bench) -> Iterable[Row]:
    """Alone, beside verify, beside mirror, beside a plain cp and an xxhsum; in turn, several times."""
    size = bench.scaled(2 * GIB)
    stretch = _SECONDS * min(1.0, bench.scale * 10)
    with two_volumes(bench.room, max(3 * size, GIB)) as (source, target):
        path, mirror = recorded_pair(source / "ckpt", target / "mirror", lambda path: fill(path, size))
        copy = mirror / path.name

        def verify() -> None:
            run_once(deck("verify", path.parent, path.name, "--quiet"))

        def copied() -> None:
            forget_copy(mirror, path.name)
            run_once(deck("mirror", path.parent, mirror, path.name, "--yes", "--quiet"))

        def hashed() -> None:
            make_cold(path)
            run_once(["xxhsum", "-H2", str(path)])

        def plain() -> None:
            copy.unlink(missing_ok=True)
            run_once(["sh", "-c", f"cp {path} {copy} && sync {copy}"])

        works: dict[str, Callable[[], None]] = {
            "verify": verify,
            "mirror": copied,
            "xxhsum -H2": hashed,
            "cp; sync": plain,
        }
        yield from _rows(works, bench, path, source / "training.bin", stretch)


def _rows(
    works: dict[str, Callable[[], None]], bench: Bench, checkpoint: Path, file: Path, stretch: float
) -> Iterable[Row]:
    kept: dict[str, list[float]] = {name: [] for name in works}
    curves = dict.fromkeys(works, "")
    for _ in range(bench.rounds):
        for name, work in works.items():
            make_hot(checkpoint)
            with _training(file) as steps:
                alone = _paced(steps, stretch)
                beside = _paced(steps, stretch, work)
            kept[name].append(100.0 * sum(beside) / len(beside) / (sum(alone) / len(alone)))
            curves[name] = f"{_curve(alone, max(alone))} | {_curve(beside, max(alone))}"
    for name, percents in kept.items():
        ours = name in ("verify", "mirror")
        yield Row(
            "beside a training",
            f"its pace beside {name}",
            statistics.median(percents),
            "%",
            95.0 if ours else None,
            Better.HIGHER,
            spread=(min(percents), max(percents)),
            note=f"steps a second, alone | beside: {curves[name]}",
        )


@contextmanager
def _training(file: Path) -> Iterator[list[float]]:
    """The times at which its steps ended, as they come."""
    times: list[float] = []
    trainer = subprocess.Popen(
        [sys.executable, "-c", _TRAINER, str(file), str(8 << 20)], stdout=subprocess.PIPE, text=True
    )
    reading = threading.Thread(target=_note_steps, args=(trainer, times))
    reading.start()
    try:
        yield times
    finally:
        trainer.kill()
        trainer.wait()
        reading.join()
        file.unlink()


def _note_steps(trainer: subprocess.Popen[str], times: list[float]) -> None:
    assert trainer.stdout is not None
    with trainer.stdout as lines:
        for line in lines:
            times.append(float(line))  # noqa: PERF401 - they are looked at while they come


def _paced(times: list[float], stretch: float, work: Callable[[], None] | None = None) -> list[float]:
    """Steps in each second of a stretch, during which `work` is done again and again."""
    started = time.monotonic()
    if work is None:
        time.sleep(stretch)
    else:
        while time.monotonic() - started < stretch:
            work()
    ended = time.monotonic()
    seconds = max(1, int(ended - started))
    within = [moment for moment in list(times) if started <= moment < started + seconds]
    counts = [0] * seconds
    for moment in within:
        counts[int(moment - started)] += 1
    return [float(count) for count in counts]


def _curve(steps: list[float], most: float) -> str:
    return "".join(_BARS[min(len(_BARS) - 1, int(each / max(most, 1.0) * (len(_BARS) - 1)))] for each in steps)


SUBJECT = Subject("beside", "a training's pace, alone and beside verify and mirror", run)
