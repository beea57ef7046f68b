"""How each state, verdict and job looks: a glyph, a word and an ink. Never a colour alone."""

from __future__ import annotations

from rich.cells import cell_len

from ckptdeck.core.states import FlightState, State, Verdict
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.snapshot import JobState
from ckptdeck.tui.view_model.line import Ink, Piece
from ckptdeck.tui.view_model.measures import cells_full


@dataclass(frozen=True, slots=True)
class Mark:
    """One state as shown. Bad words are in capitals, so that they stand out without colour."""

    glyph: str
    word: str
    ink: Ink
    meaning: str = ""
    """With the ids of actions, in braces, where the help page names their keys."""


STATES: dict[State, Mark] = {
    State.VERIFIED: Mark("✓", "verified", Ink.GOOD, "content hash matches the record"),
    State.SIZE_ONLY: Mark("=", "size-only", Ink.PLAIN, "size matches the record, content not proven"),
    State.STRUCTURE_OK: Mark("≈", "structure-ok", Ink.PLAIN, "no record; its own format says it is complete"),
    State.UNRECORDED: Mark("?", "unrecorded", Ink.PLAIN, "no record, and no format that could tell"),
    State.CHANGED: Mark("≠", "CHANGED", Ink.WARN, "the trainer wrote it again since it was recorded"),
    State.TRUNCATED: Mark("✗", "TRUNCATED", Ink.BAD, "shorter than recorded, or cut by its own structure"),
    State.CORRUPT: Mark("✗", "CORRUPT", Ink.BAD, "right size, wrong content; or structure broken"),
    State.INCOMPLETE: Mark("✗", "INCOMPLETE", Ink.BAD, "members are missing"),
    State.SUSPECT: Mark("!", "suspect", Ink.WARN, "not proven bad, but does not look right"),
    State.UNSAFE_WRITE: Mark("!", "unsafe-write", Ink.WARN, "being written under its final name"),
    State.MISSING: Mark("✗", "MISSING", Ink.BAD, "recorded, newer than the newest whole one, not there"),
    State.REMOVED: Mark("-", "removed", Ink.MUTED, "recorded and gone: somebody's retention"),
    State.ABSENT: Mark("·", "absent", Ink.MUTED, "never was here"),
    State.RETIRED: Mark("-", "retired", Ink.MUTED, "set aside by a rollback"),
    State.UNREADABLE: Mark("!", "UNREADABLE", Ink.BAD, "the file system refuses; never taken as gone"),
    State.FOREIGN: Mark(" ", "foreign", Ink.MUTED, "no checkpoint we know; never touched"),
}

VERDICTS: dict[Verdict, Mark] = {
    Verdict.SAFE: Mark("", "safe", Ink.GOOD, "verified on both sides, same content"),
    Verdict.ADOPT: Mark(
        "", "adopt", Ink.ACCENT, "there and not proven: {adopt} records it, {verify} proves what is recorded"
    ),
    Verdict.MIRROR_ME: Mark(
        "", "mirror-me", Ink.ACCENT, "verified on the primary, not on the mirror: {mirror} copies it"
    ),
    Verdict.MIRROR_ONLY: Mark(
        "", "mirror-only", Ink.PLAIN, "verified on the mirror, not on the primary: {restore} brings it"
    ),
    Verdict.AT_RISK: Mark("", "at-risk", Ink.WARN, "only one copy counts, or a doubt that nobody has decided"),
    Verdict.REPAIR: Mark("", "repair", Ink.BAD, "harmed on one side, verified on the other: {repair} replaces it"),
    Verdict.LOST: Mark("", "lost", Ink.BAD, "no copy can be trusted or proven"),
    Verdict.DIVERGED: Mark("", "diverged", Ink.BAD, "each side fits its own record, and the records differ"),
    Verdict.RETIRED: Mark("", "retired", Ink.MUTED, "set aside by a rollback"),
    Verdict.IN_FLIGHT: Mark("", "in-flight", Ink.BUSY, "being written, or a part that may still be"),
    Verdict.UNKNOWN: Mark("", "unknown", Ink.WARN, "a side cannot be read, so nothing is concluded"),
}
"""What a step is over both sides; `Verdict` has the order in which they are judged."""

FLIGHTS: dict[FlightState, Mark] = {
    FlightState.LIVE: Mark("~", "part", Ink.BUSY, "being written now"),
    FlightState.READY: Mark(
        "~", "part READY", Ink.ACCENT, "complete, only its name is missing; {recovery|recover} finishes it"
    ),
    FlightState.STALE: Mark("~", "part STALE", Ink.WARN, "quiet, and nobody writes it; {recovery|recover} clears it"),
    FlightState.UNKNOWN: Mark("~", "part ?", Ink.WARN, "cannot tell whether somebody still writes it"),
}

JOBS: dict[JobState, Mark] = {
    JobState.QUEUED: Mark("·", "queued", Ink.MUTED),
    JobState.RUNNING: Mark("▸", "running", Ink.BUSY),
    JobState.PAUSED: Mark("=", "paused", Ink.WARN),
    JobState.CANCELLING: Mark("!", "cancelling", Ink.WARN),
    JobState.CANCELLED: Mark("-", "cancelled", Ink.MUTED),
    JobState.DONE: Mark("✓", "done", Ink.GOOD),
    JobState.FAILED: Mark("✗", "FAILED", Ink.BAD),
}

BAR_FULL = "━"
BAR_EMPTY = "─"
CURSOR = "▸"
CHOSEN = "●"
THUMB = "┃"
DOWN = "▾"


def _dots_in_ascii(bits: int) -> str:
    """A Braille pattern by the height of its dots."""
    rows = [bool(bits & row) for row in (0x09, 0x12, 0x24, 0xC0)]
    if sum(rows) > 2:
        return "|"
    return "_" if rows[3] else "." if rows[2] else "-" if rows[1] else "'" if rows[0] else " "


_ASCII = str.maketrans(
    {
        "✓": "+", "✗": "x", "≈": "o", "≠": "%", "·": ".", "▸": ">", "●": "*", "━": "#", "─": ".", "┃": "|",
        "▾": "v", "→": ">", "←": "<", "…": "~", "–": "-", "—": "-", "×": "x", "≤": "<", "│": "|", "└": "+", "┴": "+",
        **{chr(0x2800 | bits): _dots_in_ascii(bits) for bits in range(256)},
    }
)  # fmt: skip


def bar(fraction: float, width: int, ink: Ink) -> tuple[Piece, ...]:
    """A bar of `width` cells, filled as far as `fraction` says."""
    full = cells_full(fraction, width)
    return (Piece(BAR_FULL * full, ink), Piece(BAR_EMPTY * (width - full), Ink.MUTED))


def in_ascii(text: str) -> str:
    """`text` for a terminal that shows nothing but ASCII: our glyphs have a twin each, the rest becomes `?`."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else "?" * cell_len(char) for char in text.translate(_ASCII))
