"""`# ckptdeck: ok (reason)` on the line of a finding, or alone on the line above it."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from ckptdeck.audit.finding import Finding, Silenced
from ckptdeck.audit.rules import BARE

_COMMENT = re.compile(r"#\s*ckptdeck:\s*ok\b(?:\s*\((?P<reason>.*)\))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comment:
    """One such comment; `alone` when there is no code on its line."""

    line: int
    column: int
    reason: str
    alone: bool


def read_comments(text: str) -> dict[int, Comment]:
    """Line → comment. What only looks like one inside a string is none."""
    return {comment.line: comment for comment in _comments(text)} if "ckptdeck" in text.lower() else {}


def _comments(text: str) -> Iterator[Comment]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and (found := _COMMENT.match(token.string)):
                reason = (found["reason"] or "").strip()
                said = reason if any(map(str.isalnum, reason)) else ""
                alone = not token.line[: token.start[1]].strip()
                yield Comment(token.start[0], token.start[1] + 1, said, alone)
    except (tokenize.TokenError, SyntaxError):
        return  # the tokenizer is stricter in a few places than the parser; what came before counts


def silence(
    findings: list[Finding], comments: dict[int, Comment], last_lines: dict[tuple[int, int], int]
) -> tuple[list[Finding], list[Silenced]]:
    """Parts what comments answer from the rest. `last_lines` gives the last line of the code at (line, column)."""
    left, silenced = [], []
    for finding in findings:
        above = comments.get(finding.line - 1)
        last = last_lines.get((finding.line, finding.column), finding.line)
        answers = [comments[line] for line in range(finding.line, last + 1) if line in comments]
        answers += [above] if above is not None and above.alone else []
        reason = next((answer.reason for answer in answers if answer.reason), "")
        if reason:
            silenced.append(Silenced(finding.line, finding.rule, reason))
        else:
            left.append(finding)
    return left, silenced


def bare_comments(comments: dict[int, Comment]) -> Iterator[Finding]:
    """Comments that give no reason."""
    for comment in comments.values():
        if not comment.reason:
            yield Finding(
                comment.line,
                comment.column,
                BARE.name,
                BARE.severity,
                "`ckptdeck: ok` without a reason",
                BARE.can_happen,
                "`# ckptdeck: ok (why this place is right)`",
            )
