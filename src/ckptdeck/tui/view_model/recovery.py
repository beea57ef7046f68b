"""After a crash: where to resume, then what the recover plan does step by step and what is left to other keys."""

from __future__ import annotations

import re

from ckptdeck.core.amounts import counted
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import InFlight
from ckptdeck.core.states import FlightState, Role, State
from ckptdeck.core.survey import Survey
from ckptdeck.tui.actions import REGISTRY, Action, Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word, shown_keys
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import CURSOR
from ckptdeck.tui.view_model.heading import resume_answer
from ckptdeck.tui.view_model.item_lines import ACT_INKS, ACT_WORDS
from ckptdeck.tui.view_model.line import Ink, Line, Piece, brief, line, pad, spread, width_of, wrap
from ckptdeck.tui.view_model.overview import resume_text
from ckptdeck.tui.view_model.view import View

_WITH_REASON = 72
"""Terminals with fewer columns tell the reason under the list only."""
_COMMAND = re.compile(r"`ckptdeck ([a-z-]+)")


def key_of(item: PlanItem) -> str:
    """What tells an item of a recover plan from all others."""
    return "/".join((item.side, item.act, item.name, item.details.get("mode", ""), item.details.get("part", "")))


def recovery_lead(plan: Plan | None, view: View, width: int, limit: int) -> tuple[Line, ...]:
    """The answer, the line that resumes, what becomes of the rest, and the key that does it; `limit` lines at most."""
    if plan is None:
        return (line(Piece(" planning …" if view.survey is not None else " scanning …", Ink.BUSY)),)
    way = _way_out(plan, width, view.keys)
    room = limit - len(way)
    lines = list(wrap(resume_answer(view, Place.RECOVERY), width - 1, indent="   ", limit=1 if room < 3 else 2))
    lines += _command(view, width, room - len(lines))
    rest = _rest_of_answer(plan, view)
    if rest and room > len(lines):
        lines += wrap(line(f" {rest}"), width - 1, indent=" ", limit=room - len(lines))
    return (*lines, *way)


def _command(view: View, width: int, limit: int) -> tuple[Line, ...]:
    """What the copy key copies."""
    survey = view.survey
    text = None if survey is None else resume_text(survey)
    if text is None or limit <= 0:
        return ()
    copy = Piece(key_word(view.keys, Place.RECOVERY, "copy_resume"), Ink.KEY, "screen.copy_resume")
    return wrap(line(" ", copy, "  ", Piece(text, Ink.STRONG)), width - 1, indent="    ", limit=min(2, limit))


def _rest_of_answer(plan: Plan, view: View) -> str:
    """The answer of the plan without where to resume, which was said before."""
    known = view.survey is not None and view.survey.resume is not None
    words = plan.consequence if known else plan.answer
    return visible(words[:1].upper() + words[1:])


def _way_out(plan: Plan, width: int, keys: KeyMap) -> tuple[Line, ...]:
    if plan.refused is not None:
        return wrap(line(Piece(" REFUSED  ", Ink.BAD), plan.refused.text), width - 1, indent="   ", limit=2)
    if plan.acting:
        words = f" {counted(len(plan.acting), 'step')} to take: "
        key = Piece(key_word(keys, Place.RECOVERY, "recover"), Ink.KEY, "screen.recover")
        short = line(Piece(words, Ink.STRONG), key, " reviews")
        long = line(*short, " them, ", Piece(key_word(keys, Place.REVIEW, "confirm"), Ink.KEY), " takes them")
        return (long if width_of(long) < width else short,)
    if plan.items:
        return wrap(line(Piece(" Nothing to finish or to repair; the rest is up to you.", Ink.MUTED)), width - 1)
    return ()


def recovery_head(width: int, names: int) -> Line:
    left = line("   ", Piece(f"{pad('step', 5)}{pad('what', 11)}{pad('name', _name_cells(width, names))}", Ink.MUTED))
    if width >= _WITH_REASON:
        left = (*left, Piece("  side     why", Ink.MUTED))
    return spread(left, (), width)


def recovery_line(number: int | None, item: PlanItem, width: int, names: int, *, cursor: bool) -> Line:
    """`number` counts what the plan does; what it leaves alone has none. `names`: cells of the longest name."""
    ink = ACT_INKS.get(item.act, Ink.ACCENT) if item.acts else Ink.MUTED
    left = line(
        Piece(CURSOR if cursor else " ", Ink.ACCENT),
        "  ",
        pad("" if number is None else f"{number:>3}.", 5),
        Piece(pad("stays" if item.act is Act.KEEP else ACT_WORDS[item.act], 11), ink),
        Piece(pad(visible(item.name), _name_cells(width, names)), Ink.STRONG if item.acts else Ink.PLAIN),
    )
    if width >= _WITH_REASON:
        left = (*left, Piece(f"  {pad(str(item.side), 9)}", Ink.MUTED))
        left = (*left, Piece(brief(item.reason, max(0, width - width_of(left) - 1))))
    return spread(left, (), width)


def _name_cells(width: int, names: int) -> int:
    return max(6, width - 19) if width < _WITH_REASON else max(8, min(names, width // 3))


def recovery_detail(item: PlanItem | None, view: View, width: int) -> tuple[Line, ...]:
    """The item in full, and the key that sees to it."""
    if item is None:
        return ()
    size = f"  {measures.size(item.size)}" if item.size else ""
    reason = f"{item.reason} ({item.guard})" if item.guard else item.reason
    lines = [line(Piece(f" {visible(item.name)}", Ink.STRONG), f" on {item.side}{size}"), line(f" {reason}")]
    action = remedy_of(item, view.survey)
    if action is not None:
        key = Piece(shown_keys(view.keys, action, Place.RECOVERY), Ink.KEY)
        lines.append(line(" ", key, f"  {action.label}: shown for review first"))
    return tuple(part for whole in lines for part in wrap(whole, width - 1, indent="   "))


def remedy_of(item: PlanItem, survey: Survey | None) -> Action | None:
    """The action of the recovery screen that sees to what the plan leaves alone; None where only waiting helps."""
    if item.acts:
        wanted = "mend"
    elif survey is not None and leftover_of(item, survey) is not None:
        wanted = "quarantine"
    elif (named := _COMMAND.search(item.reason)) is not None:
        wanted = named[1]
    elif survey is not None and item.side is Role.PRIMARY and _missing(item, survey):
        wanted = "restore"
    else:
        return None
    here = (action for action in REGISTRY if Place.RECOVERY in action.places)
    return next((action for action in here if wanted in (action.plan, action.id)), None)


def leftover_of(item: PlanItem, survey: Survey) -> InFlight | None:
    """The part of another program that the item is about and nobody writes any more: it may be set aside."""
    side = survey.side(item.side)
    for flight in side.inventory.in_flight if side is not None and not item.acts else ():
        abandoned = flight.state is FlightState.STALE and not flight.ours and not flight.final_name
        if abandoned and item.name == (flight.target or flight.name):
            return flight
    return None


def _missing(item: PlanItem, survey: Survey) -> bool:
    """Gone here, and whole on the other side."""
    side, other = survey.side(item.side), survey.side(item.side.other)
    here = None if side is None else side.find(item.name)
    there = None if other is None else other.find(item.name)
    return here is not None and here.state is State.MISSING and there is not None and there.state is State.VERIFIED
