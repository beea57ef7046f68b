"""The audit of some paths: every source found is examined, and what was found is told."""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.audit.finding import AuditReport, FileReport
from ckptdeck.audit.reader import Reader
from ckptdeck.audit.sources import find_sources

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are looked at, before each file. What it raises ends the audit."""


def audit(paths: list[str], progress: Progress = lambda _done, _total: None) -> AuditReport:
    """Looks at the Python sources at and below `paths`; nothing of them is imported or run.

    Raises OSError for a path that is not there; what cannot be looked at below one is a note of the report.
    """
    sources = list(find_sources(paths))
    wanted = [source for source in sources if not source.is_test]
    total, done, files = sum(source.size for source in wanted), 0, 0
    reports = []
    with Reader() as reader:
        for source in wanted:
            progress(done, total)
            if source.error:
                reports.append(FileReport(source.path, note=source.error))
            else:
                reports.append(reader.read(source.path))
                files += 1
                done += source.size
    return AuditReport(tuple(reports), files, tests=len(sources) - len(wanted))
