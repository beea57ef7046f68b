"""What has to be typed before a plan may be confirmed: a number that only its review shows.

It differs from plan to plan, so no habit of the hands can confirm one. Digits alone, so that every key of the review
keeps its meaning.
"""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.plans.plan import Plan
from ckptdeck.core.values import dataclass
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model.line import Ink, Line, Piece, line, width_of


@dataclass(frozen=True, slots=True)
class Demand:
    number: str
    """In digits, as it has to be typed."""
    what: str
    """What the number counts or names: "copies are deleted"."""


def demand_of(plan: Plan) -> Demand | None:
    """None where a plain yes is enough."""
    if plan.refused is not None or not plan.acting:
        return None
    if plan.count is not None:
        return Demand(str(plan.count), f"{counted(plan.count, 'copy', 'copies')} deleted for good")
    if plan.action == "purge":
        count = len(plan.acting)
        return Demand(str(count), f"{counted(count, 'artifact')} purged for good")
    if plan.action == "rollback":
        return Demand(plan.options["step"], "the step to go back to")
    return None


def demand_line(demand: Demand, typed: str, width: int, *, missed: bool, keys: KeyMap) -> Line:
    """The prompt with what was typed so far. `missed`: the confirm key was pressed without the number."""
    key = Piece(key_word(keys, Place.REVIEW, "confirm"), Ink.KEY)
    if typed == demand.number:
        head = line(Piece(" ✓ ", Ink.GOOD), Piece(typed, Ink.STRONG))
        return _first_that_fits(width, line(*head, f"  {demand.what}: ", key, " confirms"), line(*head, "  ", key))
    ink = Ink.BAD if missed or not demand.number.startswith(typed) else Ink.PLAIN
    head = line(Piece(" Type ", ink), Piece(demand.number, Ink.KEY))
    tail = line(Piece(", then ", ink), key, ":  ", Piece(f"{typed}_", Ink.STRONG))
    return _first_that_fits(width, line(*head, Piece(f" ({demand.what})", ink), *tail), line(*head, *tail))


def _first_that_fits(width: int, wide: Line, narrow: Line) -> Line:
    return wide if width_of(wide) <= width else narrow
