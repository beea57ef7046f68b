"""How the rows are looked at, where that is not as always: held still, chosen from, sorted, left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckptdeck.core.amounts import counted
from ckptdeck.core.survey import Survey
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.choice import choice_line
from ckptdeck.tui.view_model.line import Ink, Line, Piece, fit, line
from ckptdeck.tui.view_model.rows import Entry, Order, changed_since, entries_of
from ckptdeck.tui.view_model.view import View


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
        before = () if self.held.survey is None else entries_of(self.held.survey)
        now = () if view.survey is None else entries_of(view.survey)
        return Pause(self.held, view.survey, changed_since(before, now))


def viewing_lines(
    chosen: Sequence[Entry], pause: Pause | None, order: Order, width: int, *, problems_only: bool
) -> tuple[Line, ...]:
    """One line for each; none as long as all rows are shown as they come."""
    lines = []
    if pause is not None:
        since = measures.clock(pause.held.now, pause.held.zone)
        changes = f"{counted(pause.changes, 'row')} changed" if pause.changes else "nothing changed"
        way_out = line(f"  {changes} since {since}  ", Piece("space", Ink.KEY, "screen.pause_view"), " goes on")
        lines.append(line(Piece(" PAUSED", Ink.WARN), *way_out))
    if chosen:
        lines.append(choice_line(chosen, width))
    ways = [f"{order} first"] if order is Order.LARGEST else []
    ways += ["problems only"] if problems_only else []
    if ways:
        lines.append(line(Piece(f" {', '.join(ways)}", Ink.MUTED)))
    return tuple(fit(each, width) for each in lines)
