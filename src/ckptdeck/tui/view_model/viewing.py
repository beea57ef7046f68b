"""How the rows are looked at, where that is not as always: held still, chosen from, sorted, left out."""

from __future__ import annotations

from ckptdeck.core.amounts import counted
from ckptdeck.core.survey import Survey
from ckptdeck.core.values import dataclass
from ckptdeck.tui.actions import Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.choice import Choice, choice_line
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line
from ckptdeck.tui.view_model.rows import Order
from ckptdeck.tui.view_model.view import View, flights


@dataclass(frozen=True, slots=True)
class Pause:
    """The rows as they were; everything else goes on."""

    held: View
    newest: Survey | None
    changes: int = 0
    """Rows that say something else in the newest survey."""

    def over(self, view: View) -> Pause:
        """The same pause after another look; rows are only compared when the survey is another one."""
        if view.survey is self.newest:
            return self
        return Pause(self.held, view.survey, changed_since(self.held.survey, view.survey))


def changed_since(before: Survey | None, now: Survey | None) -> int:
    """How many rows came, went, or say something else in their states."""
    known, told = _states(before), _states(now)
    return len(known.keys() ^ told.keys()) + sum(known[key] != told[key] for key in known.keys() & told.keys())


def _states(survey: Survey | None) -> dict[str, tuple[object, ...]]:
    """By row: verdict, the states on both sides, and those of its parts. Made for very many rows."""
    if survey is None:
        return {}
    states: dict[str, tuple[object, ...]] = {
        step.name: (step.verdict, step.primary and step.primary.state, step.mirror and step.mirror.state)
        for step in survey.steps
    }
    for role, flight in flights(survey):
        key = flight.target or flight.name
        states[key] = (*states.get(key, ()), role, flight.state)
    return states


def viewing_lines(
    choice: Choice | None,
    pause: Pause | None,
    order: Order,
    width: int,
    *,
    problems_only: bool,
    keys: KeyMap,
) -> tuple[Line, ...]:
    """One line for each; none as long as all rows are shown as they come."""
    lines = []
    if pause is not None:
        since = measures.clock(pause.held.now, pause.held.zone)
        changes = f"{counted(pause.changes, 'row')} changed" if pause.changes else "nothing changed"
        key = Piece(key_word(keys, Place.OVERVIEW, "pause_view"), Ink.KEY, "screen.pause_view")
        way_out = line(f"  {changes} since {since}  ", key, " goes on")
        lines.append(line(Piece(" PAUSED", Ink.WARN), *way_out))
    if choice is not None:
        lines.append(choice_line(choice, width, keys))
    ways = [f"{order} first"] if order is Order.LARGEST else []
    ways += ["problems only"] if problems_only else []
    if ways:
        lines.append(line(Piece(f" {', '.join(ways)}", Ink.MUTED)))
    return tuple(fit(each, width) for each in lines)
