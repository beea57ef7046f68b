"""The rows as a table, with a mark where something is not reached or has become worse than it was."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Better, Row

BASELINE = Path(__file__).parent / "baseline.json"
MISSED, REGRESSED = "✗ reach", "▲ worse"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The figures of an earlier run, by key of their row."""

    date: str
    machine: str
    values: Mapping[str, float]


def machine() -> str:
    """This machine in a few words."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{platform.machine()}, {cores} cores, {memory:.0f} GiB, Linux {platform.release().partition('-')[0]}"


def read_baseline(path: Path = BASELINE) -> Baseline:
    """The stored one; an empty one where there is none."""
    if not path.exists():
        return Baseline("", "", {})
    document = json.loads(path.read_text(encoding="utf-8"))
    return Baseline(document["date"], document["machine"], document["values"])


def keep_baseline(rows: Sequence[Row], date: str, path: Path = BASELINE) -> None:
    """Stores the figures of `rows`; what was not measured now stays as it was."""
    values = {**read_baseline(path).values, **{row.key: round(row.value, 4) for row in rows if row.value is not None}}
    document = {"date": date, "machine": machine(), "values": dict(sorted(values.items()))}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def mark_of(row: Row, baseline: Baseline) -> str:
    """What is wrong with a row, "" when nothing is."""
    marks = [MISSED] if row.missed else []
    before = baseline.values.get(row.key)
    if before is not None and row.regressed(before):
        marks.append(f"{REGRESSED} than {before:.2f}")
    return ", ".join(marks)


def table(rows: Sequence[Row], baseline: Baseline) -> str:
    """One line a row: what, figure, reach, spread over the rounds, seconds, mark."""
    lines = [("", "figure", "reach", "rounds", "seconds", "")]
    subject = None
    for row in rows:
        if row.subject != subject:
            subject = row.subject
            lines.append((subject, "", "", "", "", ""))
        lines.append(
            (
                f"  {row.name}",
                _figure(row.value, row.unit),
                _reach(row),
                "" if row.spread is None else f"{row.spread[0]:.2f}-{row.spread[1]:.2f}",
                "" if row.seconds is None else f"{row.seconds:.3f}",
                "  ".join(filter(None, (mark_of(row, baseline), row.note))),
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    return "\n".join(_padded(line, widths) for line in lines)


def document(rows: Sequence[Row], baseline: Baseline, date: str) -> dict[str, object]:
    """The same for a program."""
    return {
        "date": date,
        "machine": machine(),
        "baseline": {"date": baseline.date, "machine": baseline.machine},
        "rows": [
            {
                "subject": row.subject,
                "name": row.name,
                "value": row.value,
                "unit": row.unit,
                "reach": row.reach,
                "better": row.better,
                "seconds": row.seconds,
                "spread": row.spread,
                "mark": mark_of(row, baseline),
                "note": row.note,
            }
            for row in rows
        ],
    }


def _padded(line: tuple[str, ...], widths: Sequence[int]) -> str:
    name, *figures, mark = line
    cells = [cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True)]
    return "  ".join([name.ljust(widths[0]), *cells, mark]).rstrip()


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.2f} {unit}"


def _reach(row: Row) -> str:
    if row.reach is None:
        return ""
    return f"{'<=' if row.better is Better.LOWER else '>='} {row.reach:.2f}"
