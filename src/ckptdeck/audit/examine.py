"""One source: its bytes in, its findings out. Never raises for what is in them, and runs none of it."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings

from ckptdeck.audit.copies import find_copies
from ckptdeck.audit.examination import Examination
from ckptdeck.audit.finding import FileReport, Finding
from ckptdeck.audit.floors import find_floors
from ckptdeck.audit.known_calls import may_write
from ckptdeck.audit.module_reader import read_module
from ckptdeck.audit.renames import find_renames
from ckptdeck.audit.retention import find_retention
from ckptdeck.audit.saves import find_saves
from ckptdeck.audit.silence import bare_comments, read_comments, silence

LARGEST = 2 << 20
"""Bytes. A source that a person wrote is never larger, and what is larger costs more time than it can tell."""
_FINDERS = (find_copies, find_saves, find_renames, find_retention, find_floors)


def examine(path: str, data: bytes) -> FileReport:
    """What the source `data` of the file `path` does; a note instead when it is none that can be read."""
    if len(data) > LARGEST:
        return FileReport(path, note=f"too large to look at: {len(data):,} bytes")
    try:
        text = _decode(data)
        if "\0" in text:  # the parser says so too, with an error that depends on its version
            return FileReport(path, note="not Python: it holds a NUL character")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a compiler would say about the source is not our subject
            tree = ast.parse(text)
        return _examine(path, text, tree)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        return FileReport(path, note=f"not Python that this interpreter reads: {error.msg}{where}")
    except (ValueError, LookupError) as error:
        return FileReport(path, note=f"not readable as text: {error}")
    except (RecursionError, MemoryError):
        return FileReport(path, note="nested too deeply to look at")


def _decode(data: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def _examine(path: str, text: str, tree: ast.Module) -> FileReport:
    comments = read_comments(text)
    findings: list[Finding] = []
    ends: dict[tuple[int, int], int] = {}
    if may_write(text):
        module = read_module(tree, text, path.rpartition("/")[2])
        look = Examination(module)
        for find in _FINDERS:
            findings += find(look)
        for node in (*module.calls, *module.comparisons):
            ends[node.lineno, node.col_offset + 1] = node.end_lineno or node.lineno
    left, silenced = silence(findings, comments, ends)
    left += bare_comments(comments)
    ordered = sorted(left, key=lambda finding: (finding.line, finding.column, finding.rule))
    return FileReport(path, tuple(ordered), tuple(silenced))
