"""What the overview says in place of rows, and what its copy keys hand out."""

from __future__ import annotations

import os.path

from ckptdeck.core.safe_text import shell_word, visible
from ckptdeck.core.survey import Survey
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model.line import BLANK, Ink, Line, Piece, line, wrap
from ckptdeck.tui.view_model.rows import Entry
from ckptdeck.tui.view_model.view import View


def empty_lines(view: View, width: int, *, filtered: bool) -> tuple[Line, ...]:
    """Why there is no row, and what to do about it."""
    if filtered:
        clear = key_word(view.keys, Place.OVERVIEW, "clear")
        return _paragraphs(width, line(Piece("No row matches.", Ink.STRONG), f"  {clear} shows all again."))
    survey = view.survey
    if survey is None and view.snapshot.error:
        return _paragraphs(width, line(Piece("Nothing could be looked at.", Ink.BAD)), line(view.snapshot.error))
    if survey is None:
        places = [visible(place) for place in (view.snapshot.primary, view.snapshot.mirror) if place]
        return _paragraphs(width, line(Piece("Looking at ", Ink.BUSY), " and ".join(places), " …"))
    unseen = [side for side in survey.sides if not side.inventory.condition.readable]
    if unseen:
        told = []
        for side in unseen:
            what = Piece(f"The {side.role} is {side.inventory.condition.words}: ", Ink.BAD)
            told.append(line(what, visible(side.inventory.root)))
            told.append(line(side.inventory.why))
        return _paragraphs(width, *told)
    return _paragraphs(
        width,
        line(Piece("No checkpoint yet.", Ink.STRONG), f"  Watching {visible(survey.primary.inventory.root)}"),
        line(Piece("The first save shows up here by itself, whole or in flight.", Ink.MUTED)),
    )


def _paragraphs(width: int, *texts: Line) -> tuple[Line, ...]:
    wrapped = [part for text in texts for part in wrap((Piece("   "), *text), width - 2, indent="   ")]
    return (BLANK, *wrapped)


def filter_status(shown: int, total: int) -> Line:
    """How many rows the filter lets through."""
    return line(Piece(f" {shown:,} of {total:,}", Ink.MUTED))


def resume_text(survey: Survey) -> str | None:
    """What the copy key hands out: the run's resume command with the path in it, or the path alone."""
    if survey.resume is None:
        return None
    path = shell_word(survey.resume.path)
    command = survey.policy.resume_command
    return path if command is None else command.replace("{path}", path)


def path_of(entry: Entry, survey: Survey) -> str | None:
    """Where the checkpoint of a row lies, the primary first; None when no side has anything under that name."""
    for side in survey.sides:
        checkpoint = entry.on(side.role)
        there = checkpoint is not None and checkpoint.sighting.identity is not None
        if there or side.role in entry.foreign:
            return os.path.join(side.inventory.root, entry.key)
    for side in survey.sides:
        flight = entry.flight(side.role)
        if flight is not None:
            control = side.inventory.control
            place = control if flight.staged and control is not None else side.inventory.root
            return os.path.join(place, flight.name)
    return None
