"""`python -m tests.soak --minutes 60`: the real console in tmux beside a fast trainer, for as long as it takes.

Samples what the console and a watch beside it cost, prints a table, and fails when memory, CPU, threads or open files
are not flat after the warm-up.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.box import Box, act, open_box
from tests.soak.figures import MIB, Reading, growth, read_process, stretches

SAMPLE_EVERY = 5.0
"""Seconds between two readings; the operator presses something as often."""
STRETCHES = 12
WARM_UP = 0.5
"""Share of the run in which as much comes to be pruned as is saved (the age guard protects what is younger than five
minutes) and what is remembered of names, painted lines and log entries, all of it bounded, fills."""


def main() -> int:
    options = _options()
    readings: dict[str, list[Reading]] = {"console": [], "watch": []}
    with tempfile.TemporaryDirectory(prefix="ckptdeck-soak-", dir=options.directory) as base:
        with open_box(Path(base), options.interval, options.size) as box:
            _follow(box, options.minutes * 60, readings)
            _say(f"checkpoints on both sides at the end: {box.saves}")
    grown = [f"{who}: {text}" for who, taken in readings.items() for text in _report(who, taken)]
    for text in grown:
        _say(f"GREW  {text}")
    _say("flat" if not grown else "NOT flat")
    return 1 if grown else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--interval", type=float, default=2.0, help="seconds between two saves (default 2)")
    parser.add_argument("--size", type=int, default=200_000, help="bytes of one save (default 200000)")
    parser.add_argument("--directory", help="where the made-up sets lie (default: the usual temporary place)")
    return parser.parse_args()


def _follow(box: Box, seconds: float, readings: dict[str, list[Reading]]) -> None:
    began = time.monotonic()
    turn = 0
    while (now := time.monotonic()) - began < seconds:
        readings["console"].append(read_process(box.console, now))
        readings["watch"].append(read_process(box.watch, now))
        if turn % 60 == 0:
            newest = readings["console"][-1]
            _say(f"{(now - began) / 60:6.1f} min  console {newest.rss / MIB:.1f} MiB  {box.saves} checkpoints")
        act(box.screen, turn)
        turn += 1
        time.sleep(max(0.0, began + turn * SAMPLE_EVERY - time.monotonic()))


def _report(who: str, readings: list[Reading]) -> tuple[str, ...]:
    """Prints the table of one process; what grew in it."""
    table = stretches(readings, STRETCHES)
    _say(f"\n{who:8}  until   memory      CPU  threads  files")
    for stretch in table:
        _say(
            f"{stretch.minutes:11.1f} min  {stretch.rss / MIB:5.1f} MiB  {stretch.cpu:5.1%}"
            f"  {stretch.threads:7g}  {stretch.fds:5g}"
        )
    return growth(table[round(len(table) * WARM_UP) :])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
