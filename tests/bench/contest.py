"""Programs against each other: interleaved rounds in shuffled order, disturbed runs repeated, ratios round by round."""

from __future__ import annotations

import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.bench.figures import Row, not_here
from tests.bench.quiet import busy_now, have_ready, taken_by_others, wait_until_quiet
from tests.bench.subject import Bench

_REPEATS = 4
"""How often a disturbed run is tried again before it is taken as it is."""
_SEED = 20_08


def _nothing() -> None:
    """No preparation."""


@dataclass(frozen=True, slots=True)
class Program:
    """One contender. `command` is one command line or a shell line; a function is timed in this process.

    `before` is not timed: it sets the stage (an empty target, a hot or a cold file). `needs` are the tools it runs.
    """

    name: str
    command: Sequence[str] | str | Callable[[], object]
    before: Callable[[], object] = _nothing
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        """The tools it needs that are not here."""
        return ", ".join(tool for tool in self.needs if shutil.which(tool) is None)


@dataclass(frozen=True, slots=True)
class Against:
    """One ratio that is shown: `program` over `base`, with what it has to reach."""

    program: str
    base: str
    reach: float | None = None
    less: str = ""
    """Another program whose time is taken off first, such as what it takes to start."""


@dataclass(slots=True)
class Contest:
    """Programs that do the same work, and the ratios between them that count."""

    subject: str
    programs: Sequence[Program]
    ratios: Sequence[Against]
    allowance: float = 0.25
    """Processors that may be busy beside a run: more where the kernel's own threads write for it."""
    memory: int = 0
    """Bytes of free memory that each run finds ready, since it fills about as much page cache."""
    times: dict[str, list[float]] = field(default_factory=dict)
    disturbed: int = 0

    def run(self, bench: Bench) -> list[Row]:
        """The rows of `ratios`. Each round runs every program once."""
        here = [program for program in self.programs if not program.missing]
        shuffle = random.Random(_SEED)
        self.times = {program.name: [] for program in here}
        for number in range(bench.rounds):
            order = shuffle.sample(here, len(here))
            for program in order:
                self.times[program.name].append(self._measured(program, patient=not bench.trial))
                sys.stderr.write(f"\r  {self.subject}: round {number + 1}/{bench.rounds} {program.name:40.40}")
        sys.stderr.write("\n")
        return [self._row(ratio) for ratio in self.ratios]

    def _measured(self, program: Program, *, patient: bool) -> float:
        for _ in range(_REPEATS if patient else 1):
            program.before()
            if patient:
                wait_until_quiet()
            have_ready(self.memory)
            before, own = busy_now(), _own_seconds()
            elapsed = _timed(program)
            others = taken_by_others(before, busy_now(), _own_seconds() - own)
            # A tick of the clock is 10 ms: what is over in less than a few of them cannot be judged by it.
            if others <= max(self.allowance, 0.03 / elapsed):
                return elapsed
        self.disturbed += 1
        return elapsed

    def _row(self, ratio: Against) -> Row:
        name = f"{ratio.program}{' less ' if ratio.less else ''}{ratio.less} / {ratio.base}"
        missing = {program.name: program.missing for program in self.programs}
        lacking = missing[ratio.program] or missing[ratio.base]
        if lacking:
            return not_here(self.subject, name, lacking)
        ours, theirs = self.times[ratio.program], self.times[ratio.base]
        if ratio.less:
            ours = [one - other for one, other in zip(ours, self.times[ratio.less], strict=True)]
        each = [one / other for one, other in zip(ours, theirs, strict=True)]
        return Row(
            self.subject,
            name,
            statistics.median(each),
            reach=ratio.reach,
            seconds=statistics.median(ours),
            spread=(min(each), max(each)),
            note=f"{self.disturbed} runs disturbed" if self.disturbed else "",
        )


def _own_seconds() -> float:
    """Processor time of this process and its ended children."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _timed(program: Program) -> float:
    command = program.command
    if callable(command):
        started = time.perf_counter()
        command()
        return time.perf_counter() - started
    words = ["sh", "-c", command] if isinstance(command, str) else list(command)
    started = time.perf_counter()
    run_once(words)
    return time.perf_counter() - started


def run_once(words: Sequence[str]) -> None:
    """Runs a program to its end. Raises RuntimeError with what it said when it fails."""
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, env=environment())
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")


def environment() -> dict[str, str]:
    """Ours, without what a developer set for the product; compiled modules are kept, as an installation does."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("CKPTDECK_", "PYTHON"))}
