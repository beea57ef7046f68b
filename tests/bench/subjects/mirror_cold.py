"""The same copies of a source that is not in the page cache."""

from __future__ import annotations

from collections.abc import Iterable

from tests.bench.figures import Row
from tests.bench.subject import Bench, Subject
from tests.bench.subjects.mirror import copies


def run(bench: Bench) -> Iterable[Row]:
    """Without the slowest peers."""
    return copies("mirror, source not cached", bench, hot=False)


SUBJECT = Subject("mirror-cold", "the same copies of a source that is not cached", run)
