"""How the disks stand: one aligned line per side."""

from __future__ import annotations

from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Volume
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Side, Survey
from ckptdeck.core.values import dataclass
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import bar
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line, pad, spread, width_of
from ckptdeck.tui.view_model.view import View

SOON = 6 * 3600.0
"""A disk that fills within so many seconds is worth a warning."""
FEW = 6
"""So many further checkpoints or fewer are worth a warning."""


@dataclass(frozen=True, slots=True)
class _Figures:
    """What one volume line says, before the columns of both are aligned."""

    role: str
    fs: str
    count: str
    held: str
    used: float
    free: str
    full: Piece
    fits: Piece
    path: str


def volume_lines(view: View, width: int) -> tuple[Line, ...]:
    """One line per side, columns aligned. A side that cannot be read says so instead."""
    survey = view.survey
    if survey is None:
        sides = [("primary", view.snapshot.primary), ("mirror", view.snapshot.mirror)]
        return tuple(fit(line(" ", Piece(pad(role, 8)), visible(path or "none")), width) for role, path in sides)
    readable = {
        side.role: _figures(side, side.inventory.volume, survey, view.now)
        for side in survey.sides
        if side.inventory.condition.readable and side.inventory.volume is not None
    }
    lines = [_side_line(survey.primary, readable, view, width)]
    if survey.mirror is not None:
        lines.append(_side_line(survey.mirror, readable, view, width))
    else:
        words = "none: one disk is all there is. ckptdeck PRIMARY MIRROR adds one"
        lines.append(fit(line(" ", pad("mirror", 8), Piece(words, Ink.WARN)), width))
    return tuple(lines)


def _side_line(side: Side, readable: dict[Role, _Figures], view: View, width: int) -> Line:
    silent = view.silent_since(side.role)
    figures = readable.get(side.role)
    if silent is not None:
        kept = "? marks what it said last" if side.checkpoints else "nothing of it was seen yet"
        words = f"does not answer for {measures.span(view.now - silent)}; {kept}"
        return fit(line(" ", pad(str(side.role), 8), Piece(words, Ink.BAD)), width)
    if figures is None:
        word = side.inventory.condition.words.upper()
        if side.inventory.condition.readable:
            word = "NO VOLUME FIGURES"
        return fit(line(" ", pad(str(side.role), 8), Piece(word, Ink.BAD), f"  {visible(side.inventory.root)}"), width)
    return _figures_line(figures, list(readable.values()), width)


def _figures(side: Side, volume: Volume, survey: Survey, now: float) -> _Figures:
    space = survey.space.get(side.role)
    full = fits = Piece("")
    if space is not None and space.full_at is not None:
        left = space.full_at - now
        full = Piece(f"full in {measures.span(left)}" if left > 0 else "FULL", Ink.WARN if left < SOON else Ink.PLAIN)
    if space is not None and space.fits is not None and space.fits <= FEW:
        fits = Piece(f"! {space.fits} fit", Ink.WARN)
    if volume.read_only:
        fits = Piece("! read-only", Ink.BAD)
    return _Figures(
        role=str(side.role),
        fs=volume.fs_type,
        count=f"{len(side.present):,}",
        held=measures.size(side.held),
        used=1 - volume.free / volume.total if volume.total else 0.0,
        free=f"free {'~' if volume.optimistic else ''}{measures.size(volume.free)}",
        full=full,
        fits=fits,
        path=visible(side.inventory.root),
    )


def _figures_line(shown: _Figures, rows: list[_Figures], width: int) -> Line:
    def widest(name: str) -> int:
        return max(len(getattr(row, name)) for row in rows)

    ink = shown.full.ink if shown.full.ink is Ink.WARN or not shown.fits.text else shown.fits.ink
    head = line(" ", pad(shown.role, 8), Piece(pad(shown.fs, min(8, widest("fs"))), Ink.MUTED), "  ")
    if width < 60:
        head = line(" ", pad(shown.role, 8))
    figures = line(
        pad(shown.count, widest("count"), right=True), "  ", pad(shown.held, widest("held"), right=True), "  "
    )
    full_width = max(row.full.width for row in rows)
    tail = [Piece("  "), Piece(pad(shown.free, widest("free")))]
    if full_width:
        tail += [Piece("  "), shown.full._replace(text=pad(shown.full.text, full_width))]
    if any(row.fits.text for row in rows):
        tail += [Piece("  "), shown.fits._replace(text=pad(shown.fits.text, max(row.fits.width for row in rows)))]
    room = width - width_of(head) - width_of(figures) - width_of(tail)
    cells = max(0, min(24, room - 1))
    used = bar(shown.used, cells, ink if ink is Ink.WARN else Ink.PLAIN) if cells >= 6 else ()
    if not used and room < 0:
        figures = ()
    left = (*head, *figures, *used, *tail)
    return spread(left, line(Piece(shown.path, Ink.MUTED), " "), width) if width >= 120 else fit(left, width)


def folded_volume_line(view: View, width: int) -> Line:
    """Both volumes in one line, for a terminal with few lines."""
    survey = view.survey
    if survey is None:
        return fit(line(" ", visible(view.snapshot.primary)), width)
    pieces: list[Piece] = []
    for side in survey.sides:
        pieces += [Piece(" "), Piece(side.role[0].upper(), Ink.STRONG), Piece(" ")]
        if not side.inventory.condition.readable or side.inventory.volume is None:
            pieces.append(Piece(side.inventory.condition.words.upper(), Ink.BAD))
            continue
        figures = _figures(side, side.inventory.volume, survey, view.now)
        pieces += [Piece(figures.free.removeprefix("free ")), Piece(" ")]
        pieces += [figures.full._replace(text=figures.full.text.removeprefix("full in ").replace(" ", "")), Piece(" ")]
    return fit(tuple(pieces), width)
