"""The one gate in front of every change: what, why, what stays, and the same as a line for a shell.

Cancel has the focus and Enter presses it; only the confirm key confirms, and no key that opens a review is that one.
Where much or everything goes for good, it works only once a number was typed that this review shows.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from string import digits

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.drafting import Draft
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.messages import CopyWanted
from ckptdeck.tui.screens.modal import Deafness, ScrollingModal
from ckptdeck.tui.view_model.demand import demand_line, demand_of
from ckptdeck.tui.view_model.line import Ink, Line, Piece, line, wrap
from ckptdeck.tui.view_model.review import choices_line, plan_lines, summary_line, title_line
from ckptdeck.tui.widgets.line_view import LineScroll, LineView


class Decision(StrEnum):
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"


class PlanReview(ScrollingModal[Decision]):
    AUTO_FOCUS = "#cancel"
    BINDINGS = [  # noqa: RUF012
        *bindings_for(Place.REVIEW),
        *(Binding(digit, f"type({digit})", show=False) for digit in digits),
        Binding("backspace,delete", "untype", show=False),
    ]

    def __init__(self, draft: Draft, monotonic: Callable[[], float], keys: KeyMap) -> None:
        super().__init__()
        plan = draft.plan
        self._plan = plan
        self._digest = draft.digest
        self._command = draft.command
        self._survey = draft.survey
        self._monotonic = monotonic
        self._deafness = Deafness(monotonic)
        self._keys = keys
        self._demand = demand_of(plan)
        self._typed = ""
        self._missed = False

    @property
    def _can_run(self) -> bool:
        return self._plan.refused is None and bool(self._plan.acting)

    @property
    def _armed(self) -> bool:
        """Whether what has to be typed was typed."""
        return self._demand is None or self._typed == self._demand.number

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield LineView(id="title")
            yield LineView(id="summary")
            yield LineScroll(id="text")
            yield LineView(id="command")
            yield LineView(id="demand")
            with Horizontal(id="choices"):
                yield Button("Cancel" if self._can_run else "Close", id="cancel", compact=True)
                yield LineView(id="keys")

    def on_mount(self) -> None:
        self._deafness = Deafness(self._monotonic)
        self.set_class(self._demand is not None, "-typed")
        plan = self._plan
        self.query_one("#title", LineView).show(lambda width: (title_line(plan, self._digest, width),))
        self.query_one("#summary", LineView).show(lambda width: wrap(summary_line(plan, self._survey), width))
        self.query_one("#command", LineView).show(
            lambda width: wrap(line(Piece(self._command, Ink.STRONG)), width, indent="  ", limit=3)
        )
        self.query_one("#demand", LineView).show(self._demand_lines)
        self.text.show(lambda width: plan_lines(plan, self._survey, width))
        self._show_choices()

    def on_line_scroll_moved(self) -> None:
        self._show_choices()

    def _show_choices(self) -> None:
        """Says how much waits below, so that nothing is confirmed unread without knowing."""
        below = self.text.hidden_below
        armed = self._armed
        self.query_one("#keys", LineView).show(
            lambda width: (choices_line(self._can_run, below, width, self._keys, armed=armed),)
        )

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_decline()

    def _demand_lines(self, width: int) -> tuple[Line, ...]:
        if self._demand is None:
            return ()
        return (demand_line(self._demand, self._typed, width, missed=self._missed, keys=self._keys),)

    def action_type(self, digit: int) -> None:
        if self._demand is not None and self._deafness.over:
            self._take(f"{self._typed}{digit}"[: len(self._demand.number) + 1])

    def action_untype(self) -> None:
        if self._demand is not None and self._deafness.over:
            self._take(self._typed[:-1])

    def _take(self, typed: str, *, missed: bool = False) -> None:
        self._typed, self._missed = typed, missed
        self.query_one("#demand", LineView).rebuild()
        self._show_choices()

    def action_confirm(self) -> None:
        if not self._can_run or not self._deafness.over:
            return
        if self._armed:
            self.dismiss(Decision.CONFIRMED)
        else:
            self._take(self._typed, missed=True)

    def action_decline(self) -> None:
        if self._deafness.over:
            self.dismiss(Decision.CANCELLED)

    def action_copy(self) -> None:
        if self._deafness.over:
            self.post_message(CopyWanted(self._command))
