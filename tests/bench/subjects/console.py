"""The console beside a bare Textual application: first paint, a key, the loop while it works, and doing nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ckptdeck.cli.main import main
from ckptdeck.monitor.engine import LiveEngine
from tests.bench.consoles import (
    bare_app,
    console,
    during_the_survey,
    idle_share,
    key_to_frame,
    lags,
    large_file,
)
from tests.bench.contest import Against, Contest, Program
from tests.bench.figures import Row
from tests.bench.large_pair import make_large_pair
from tests.bench.subject import Bench, Subject

_COUNTS = (100, 1_000, 10_000)
_PAINT_REACH = {1_000: 1.5, 10_000: 2.0}
_FRAME_REACH, _LAG_REACH, _IDLE_REACH = 100.0, 50.0, 2.0
_HASHED = 2 << 30
_NAME = "console"


def run(bench: Bench) -> Iterable[Row]:
    pairs = {}
    for count in _COUNTS:
        base = bench.room / str(count)
        base.mkdir()
        pairs[count] = make_large_pair(base, bench.scaled(count))
    yield from _first_paint(bench, pairs)
    yield from _keys_and_idleness(bench, pairs)
    yield _lag_of_survey(pairs)
    yield _lag_of_hashing(bench)


def _first_paint(bench: Bench, pairs: dict[int, tuple[str, str]]) -> list[Row]:
    def paint(count: int) -> Callable[[], None]:
        def open_and_close() -> None:
            with console(*pairs[count], bench.room, "RESUME"):
                pass

        return open_and_close

    def paint_bare() -> None:
        with bare_app(bench.room):
            pass

    bare = "a bare Textual app"
    contest = Contest(
        _NAME,
        (
            Program(bare, paint_bare),
            *(Program(f"first paint, {count:,} pairs", paint(count)) for count in _COUNTS),
        ),
        tuple(Against(f"first paint, {count:,} pairs", bare, reach=_PAINT_REACH.get(count)) for count in _COUNTS),
    )
    return contest.run(bench)


def _keys_and_idleness(bench: Bench, pairs: dict[int, tuple[str, str]]) -> Iterable[Row]:
    seconds = 20.0 * min(1.0, bench.scale)
    with bare_app(bench.room) as terminal:
        yield Row(_NAME, "idle, a bare Textual app", idle_share(terminal, seconds), unit="% of a core")
    for count, pair in pairs.items():
        with console(*pair, bench.room, "verified") as terminal:
            frame = 1000 * key_to_frame(terminal, "jjjkkkGgjk" * 2)
            yield Row(_NAME, f"key to frame, {count:,} pairs", frame, unit="ms", reach=_FRAME_REACH)
            share = idle_share(terminal, seconds)
            yield Row(_NAME, f"idle, {count:,} pairs", share, unit="% of a core", reach=_IDLE_REACH)


def _lag_of_survey(pairs: dict[int, tuple[str, str]]) -> Row:
    count = max(pairs)
    late = 1000 * lags(*pairs[count], lambda _engine: False, during_the_survey)
    return Row(_NAME, f"loop lag p95, first survey of {count:,} pairs", late, unit="ms", reach=_LAG_REACH)


def _lag_of_hashing(bench: Bench) -> Row:
    base = bench.room / "hashed"
    primary, mirror = base / "ckpt", base / "mirror"
    primary.mkdir(parents=True)
    mirror.mkdir()
    path = primary / "step_1.npy"
    large_file(path, bench.scaled(_HASHED))
    _make_recordable(path)
    for command in ("init", "adopt"):
        words = [command, str(primary), str(mirror), *(["--yes"] if command == "adopt" else []), "--quiet"]
        if main(words) != 0:
            raise RuntimeError(f"ckptdeck {command} failed")
    late = 1000 * lags(str(primary), str(mirror), _hashing, lambda engine: engine.verify())
    return Row(_NAME, "loop lag p95 while hashing", late, unit="ms", reach=_LAG_REACH)


def _make_recordable(path: Path) -> None:
    """A whole array of bytes that was saved an hour ago."""
    size = path.stat().st_size
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size - 128},), }}"
    with path.open("r+b") as file:
        file.write(b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117).encode() + b"\n")
    then = time.time() - 3600
    os.utime(path, (then, then))


def _hashing(engine: LiveEngine) -> bool:
    return any(not job.state.over for job in engine.snapshot().jobs)


SUBJECT = Subject(_NAME, "the console: first paint, keys, loop lag, idle", run)
