"""How long the disks will do: the answer, a row of figures per volume, the two pictures, and what it all rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ckptdeck.core.course import Course, course_of
from ckptdeck.core.outlook import Outlook, WhatIf, largest_keep
from ckptdeck.core.safe_text import visible
from ckptdeck.core.space import cadence_of
from ckptdeck.core.space_advice import advice, answer, separate, upto
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.core.values import dataclass
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.foresight import Foresight
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line, pad, wrap
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.view_model.volumes import FEW, SOON
from ckptdeck.tui.view_model.what_if import Found, Knobs

_WITH_PRUNE = 70
"""Terminals with fewer columns leave the figures of a prune to the text."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the screen shows, worked out once per survey and turn of a knob."""

    survey: Survey
    what_if: WhatIf
    answer: str
    advice: tuple[str, ...]
    outlooks: Mapping[Role, Outlook]
    found: Found
    courses: Mapping[str, Course]
    """By the name of the volume: "primary", "mirror", or "both" on one device."""

    @property
    def volumes(self) -> dict[str, Outlook]:
        return {_short(who): one for who, one in separate(self.survey, self.outlooks).items()}


def scene_of(view: View, knobs: Knobs, foresight: Foresight) -> Scene | None:
    """None before the first scan has ended."""
    survey = view.survey
    if survey is None:
        return None
    outlooks = foresight.of(view, knobs.what_if)
    courses = {}
    for who, one in separate(survey, outlooks).items():
        side = survey.side(one.role)
        assert side is not None  # it has an outlook
        assert side.inventory.volume is not None
        past = view.snapshot.samples.get(one.role, ())
        courses[_short(who)] = course_of(one, side.inventory.volume.free, past, survey.taken_at)
    told = answer(survey, outlooks), advice(survey, outlooks)
    return Scene(survey, knobs.what_if, *told, outlooks, _found(survey, outlooks), courses)


def _found(survey: Survey, outlooks: Mapping[Role, Outlook]) -> Found:
    """What is so when no knob is turned."""
    sizes = [one.checkpoint_size for role, one in survey.space.items() if role in outlooks and one.checkpoint_size]
    cadence = cadence_of(survey.primary, survey.taken_at)
    return Found(survey.policy.keep_last, cadence.interval, max(sizes, default=None), largest_keep(outlooks))


def answer_lines(scene: Scene | None, knobs: Knobs, view: View, width: int) -> tuple[Line, ...]:
    """The first thing to know, and that it is only assumed when it is."""
    if scene is None or scene.what_if != knobs.what_if:
        words = view.snapshot.error or ("scanning …" if view.survey is None else "working it out …")
        return wrap(line(Piece(f" {words}", Ink.BUSY)), width, indent=" ", limit=2)
    tight = any(one.fits is not None and one.fits <= FEW for one in scene.outlooks.values())
    assumed = line(Piece(" WHAT IF ", Ink.WARN)) if knobs.turned else line(" ")
    return wrap((*assumed, Piece(scene.answer, Ink.WARN if tight else Ink.STRONG)), width - 1, indent=" ", limit=2)


def figure_lines(scene: Scene | None, view: View, width: int) -> tuple[Line, ...]:
    """A head and a row per volume; columns a narrow terminal has no room for are left out."""
    if scene is None:
        return ()
    wide = width >= _WITH_PRUNE
    columns = [(one, one.width if wide else one.narrow) for one in _COLUMNS if wide or one.narrow]
    keep = next((one.keep_last for one in scene.outlooks.values()), scene.survey.policy.keep_last)
    heads = [pad("", _NAME), *(pad(one.head.replace("N", str(keep)), cells) for one, cells in columns)]
    lines = [fit(line(Piece(" " + " ".join(heads), Ink.MUTED)), width)]
    for who, outlook in scene.volumes.items():
        pieces = [Piece(f" {pad(who, _NAME)}", Ink.STRONG)]
        for column, cells in columns:
            said = column.say(outlook, view.now)
            text = said.text if said.width <= cells else "many"  # a figure that is cut would be another one
            pieces += [Piece(" "), said._replace(text=pad(text, cells))]
        lines.append(fit(tuple(pieces), width))
    return (*lines, *_unknown_sides(scene, width))


def _unknown_sides(scene: Scene, width: int) -> Iterator[Line]:
    for side in scene.survey.sides:
        if side.role not in scene.outlooks:
            condition = side.inventory.condition
            words = "NO VOLUME FIGURES" if condition.readable else condition.words.upper()
            yield fit(line(f" {pad(side.role, _NAME)} ", Piece(words, Ink.BAD)), width)


def note_lines(scene: Scene | None, width: int) -> tuple[Line, ...]:
    """What to do, then what the figures rest on."""
    if scene is None:
        return ()
    lines: list[Line] = []
    for sentence in scene.advice:
        lines += wrap(line(Piece(" · ", Ink.ACCENT), visible(sentence)), width - 1, indent="   ")
    for who, one in scene.volumes.items():
        words = "; ".join(visible(text) for text in one.basis)
        lines += wrap(line(Piece(f" {who}: {words}", Ink.MUTED)), width - 1, indent="   ")
    return tuple(lines)


def plot_title(scene: Scene, who: str, width: int) -> Line:
    """`primary /data/ckpt`, above its picture."""
    roots = [side.inventory.root for side in scene.survey.sides if side.role == who] or [""]
    return fit(line(Piece(f" {who} ", Ink.STRONG), Piece(visible(roots[0]), Ink.MUTED)), width)


@dataclass(frozen=True, slots=True)
class _Column:
    """Cells on a wide terminal and on a narrow one; 0 for none."""

    head: str
    width: int
    narrow: int
    say: Callable[[Outlook, float], Piece]


def _fits(one: Outlook, _now: float) -> Piece:
    if one.fits is None:
        return Piece("?")
    return Piece(f"{one.fits:,}", Ink.BAD if one.fits == 0 else Ink.WARN if one.fits <= FEW else Ink.PLAIN)


def _full(one: Outlook, now: float) -> Piece:
    return _when(one.full_at, now)


def _freed(one: Outlook, _now: float) -> Piece:
    return Piece(f"{'≤' if upto(one) else ''}{measures.size(one.frees)}" if one.frees else "nothing")


def _then(one: Outlook, now: float) -> Piece:
    return _when(one.full_at_pruned, now)


def _peak(one: Outlook, _now: float) -> Piece:
    if one.peak_need is None:
        return Piece("?")
    words = f"{measures.size(one.peak_need)} "
    return Piece(words + "fits", Ink.GOOD) if one.kept_fits else Piece(words + "NO", Ink.BAD)


def _most(one: Outlook, _now: float) -> Piece:
    return Piece("?" if one.largest_keep is None else f"{one.largest_keep:,}")


def _when(at: float | None, now: float) -> Piece:
    if at is None:
        return Piece("?")
    left = at - now
    return Piece(measures.span(left), Ink.WARN if left < SOON else Ink.PLAIN) if left > 0 else Piece("NOW", Ink.BAD)


_NAME = 7
_COLUMNS = (
    _Column("fit", 7, 4, _fits),
    _Column("full in", 9, 7, _full),
    _Column("prune frees", 11, 0, _freed),
    _Column("then full", 10, 0, _then),
    _Column("keep N", 11, 10, _peak),
    _Column("at most", 7, 7, _most),
)


def _short(who: str) -> str:
    return "both" if " " in who.removeprefix("the ") else who.removeprefix("the ")
