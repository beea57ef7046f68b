"""Finds Python code that writes, copies or renames to a final name in a way that can leave half a checkpoint there.

    ckptdeck audit src/ train.py

PATH is a source or a directory of them; nothing is imported or run. Each finding says where, what can happen and what
to write instead. `# ckptdeck: ok (reason)` on its line, or alone on the line above, silences one.

rules: copy-to-final, save-to-final, rename-without-fsync, rename-without-directory-fsync, temp-elsewhere,
retention-by-mtime, retention-by-text, size-floor, ok-without-reason

Few false alarms come before many findings. Quiet are: temporary names (`.part`, `.tmp`, staging, tempfile), buffers and
streams of unknown origin, what is renamed afterwards, and whatever is named for a log, plot, configuration, cache, data
set, tokenizer or test. Not seen are: other languages and notebooks (a `cp` in a shell script), calls through variables
or libraries of one's own, what happens in another file, which of several values a name has at a place, whether a name
without any hint (`copy(src, dst)`) is a checkpoint's, and test sources, unless named as PATH.

exit codes: 0 no findings, 1 findings, 2 usage
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckptdeck.cli.interruption import Interruption
from ckptdeck.cli.json_output import Document
from ckptdeck.cli.progress_bar import ProgressBar
from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import UsageError, describe_os_error
from ckptdeck.core.progress import Progress
from ckptdeck.core.safe_text import json_name, visible
from ckptdeck.monitor.host import SystemClock

if TYPE_CHECKING:
    from ckptdeck.audit.finding import AuditReport, FileReport

ALL_WELL = 0
FOUND = 1
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a Python source, or a directory of them")


def run(arguments: argparse.Namespace, terminal: Terminal, interruption: Interruption) -> int:
    from ckptdeck.audit.audit import audit

    bar = ProgressBar(terminal, SystemClock())
    with interruption.working() as token:

        def tell(done: int, total: int) -> None:
            token.check()
            bar(Progress("read", "sources", "", done, total))

        try:
            report = audit(arguments.paths, tell)
        except OSError as error:
            raise UsageError(
                f"{describe_os_error(error, error.filename or '')}",
                next_step="Name Python sources or directories of them",
            ) from error
        finally:
            bar.clear()
    code = FOUND if report.found else ALL_WELL
    terminal.document(audit_document(report, code))
    for line in _lines(report):
        terminal.say(line)
    for one in report.reports:
        if one.note:
            terminal.warn(f"{visible(one.path)}: {visible(one.note)}")
    terminal.note(_summary(report))
    return code


def audit_document(report: AuditReport, exit_code: int) -> Document:
    return {
        "schema": "ckptdeck.audit/1",
        "findings": [
            {
                **json_name(one.path, "path"),
                "line": finding.line,
                "column": finding.column,
                "rule": finding.rule,
                "severity": finding.severity,
                "what": finding.what,
                "can_happen": finding.can_happen,
                "instead": finding.instead,
            }
            for one in report.reports
            for finding in one.findings
        ],
        "silenced": [
            {**json_name(one.path, "path"), "line": silenced.line, "rule": silenced.rule, "reason": silenced.reason}
            for one in report.reports
            for silenced in one.silenced
        ],
        "notes": [{**json_name(one.path, "path"), "text": one.note} for one in report.reports if one.note],
        "files": report.files,
        "tests_left_out": report.tests,
        "exit_code": exit_code,
    }


def _lines(report: AuditReport) -> Iterator[str]:
    for one in report.reports:
        yield from _lines_of(one)


def _lines_of(one: FileReport) -> Iterator[str]:
    for finding in one.findings:
        yield f"{visible(one.path)}:{finding.line}: {finding.rule} ({finding.severity}): {visible(finding.what)}"
        yield from _wrapped("can happen", finding.can_happen)
        yield from _wrapped("instead", finding.instead)


def _wrapped(label: str, text: str) -> list[str]:
    import textwrap

    lines = textwrap.wrap(f"{label}: {visible(text)}", _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"    {line}" for line in lines]


def _summary(report: AuditReport) -> str:
    silenced = sum(len(one.silenced) for one in report.reports)
    pieces = [f"{_count(report.found, 'finding')} in {_count(report.files, 'source')}"]
    if silenced:
        pieces.append(f"{silenced} silenced with a reason")
    if report.tests:
        pieces.append(f"{_count(report.tests, 'test source')} left out")
    return ", ".join(pieces)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
