"""`python -m tests.bench [NAME...]`: measures, shows a table, and says where something is not reached or got worse.

Exit code 1 when a row is marked. Needs about 20 GiB of disk and an idle machine; as root it mounts two file systems of
its own on loop devices, and measures copies between them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject, all_subjects
from tests.bench.table import document, keep_baseline, machine, mark_of, read_baseline, table


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the chosen subjects, all by default."""
    subjects = {subject.name: subject for subject in all_subjects()}
    arguments = _parser(subjects.values()).parse_args(argv)
    unknown = [name for name in arguments.names if name not in subjects]
    if unknown:
        sys.stderr.write(f"no subject {', '.join(unknown)}; there are {', '.join(subjects)}\n")
        return 2
    chosen = [subjects[name] for name in arguments.names] or list(subjects.values())
    baseline = read_baseline()
    rows = [row for subject in chosen for row in measured(subject, arguments)]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    sys.stdout.write(f"{machine()}, {today}; baseline of {baseline.date or 'never'}\n\n{table(rows, baseline)}\n")
    if arguments.json is not None:
        text = json.dumps(document(rows, baseline, today), indent=1, ensure_ascii=False)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if arguments.keep:
        keep_baseline(rows, today)
    return 1 if any(mark_of(row, baseline) for row in rows) else 0


def measured(subject: Subject, arguments: argparse.Namespace) -> list[Row]:
    """The rows of one subject, in a room of its own."""
    with tempfile.TemporaryDirectory(prefix=f"bench-{subject.name}-", dir=arguments.room) as room:
        return list(subject.run(Bench(Path(room), arguments.rounds, arguments.scale)))


def _parser(subjects: Iterable[Subject]) -> argparse.ArgumentParser:
    about = "\n".join(f"  {subject.name:12} {subject.about}" for subject in subjects)
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        epilog=f"subjects:\n{about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these subjects")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the real sizes, to try the bench itself")
    parser.add_argument("--room", type=Path, default=Path("/var/tmp"), help="where to work: on a real disk")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    parser.add_argument("--keep", action="store_true", help="keep these figures as the baseline")
    return parser


if __name__ == "__main__":
    # Ended from outside it still unmounts what it mounted.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    sys.exit(main())
