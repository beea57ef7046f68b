"""What an audit says: findings with their cure, notes about what could not be looked at, and what was silenced."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that can lose or break a checkpoint. Lines and columns count from 1."""

    line: int
    column: int
    rule: str
    severity: str
    """"high": a half file can be taken for a whole one, or the wrong one is deleted. "medium": after a power cut or a
    crash. "low": only after a power cut in a short moment."""
    what: str
    can_happen: str
    instead: str


@dataclass(frozen=True, slots=True)
class Silenced:
    """A finding that a comment with a reason has answered."""

    line: int
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one source file was found to do; `note` says why it could not be read, then there is nothing else."""

    path: str
    findings: tuple[Finding, ...] = ()
    silenced: tuple[Silenced, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All files in the order they were met. `files` counts what was looked at, `tests` the test sources left out."""

    reports: tuple[FileReport, ...]
    files: int
    tests: int

    @property
    def found(self) -> int:
        return sum(len(report.findings) for report in self.reports)
