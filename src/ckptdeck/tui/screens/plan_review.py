"""The one gate in front of every change: what, why, what stays, and the same as a line for a shell.

Cancel has the focus and Enter presses it; only `y` confirms, and no key that opens a review is `y`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from ckptdeck.core.plans.plan import Plan
from ckptdeck.core.survey import Survey
from ckptdeck.tui.messages import CopyWanted
from ckptdeck.tui.screens.modal import Deafness, ScrollingModal
from ckptdeck.tui.view_model.line import Ink, Piece, line, wrap
from ckptdeck.tui.view_model.review import choices_line, plan_lines, summary_line, title_line
from ckptdeck.tui.widgets.line_view import LineScroll, LineView


class Decision(StrEnum):
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"


class PlanReview(ScrollingModal[Decision]):
    AUTO_FOCUS = "#cancel"
    BINDINGS = [  # noqa: RUF012
        Binding("y", "confirm", show=False, id="review.confirm"),
        Binding("escape,q,n", "cancel", show=False, id="review.cancel"),
        Binding("c", "copy", show=False, id="review.copy"),
    ]

    def __init__(self, plan: Plan, command: str, survey: Survey | None, monotonic: Callable[[], float]) -> None:
        super().__init__()
        self._plan = plan
        self._command = command
        self._survey = survey
        self._monotonic = monotonic
        self._deafness = Deafness(monotonic)

    @property
    def _can_run(self) -> bool:
        return self._plan.refused is None and bool(self._plan.acting)

    def compose(self) -> ComposeResult:
        with Vertical(id="frame"):
            yield LineView(id="title")
            yield LineView(id="summary")
            yield LineScroll(id="text")
            yield LineView(id="command")
            with Horizontal(id="choices"):
                yield Button("Cancel" if self._can_run else "Close", id="cancel", compact=True)
                yield LineView(id="keys")

    def on_mount(self) -> None:
        self._deafness = Deafness(self._monotonic)
        plan = self._plan
        self.query_one("#title", LineView).show(lambda width: (title_line(plan, width),))
        self.query_one("#summary", LineView).show(lambda width: wrap(summary_line(plan, self._survey), width))
        self.query_one("#command", LineView).show(
            lambda width: wrap(line(Piece(self._command, Ink.STRONG)), width, indent="  ", limit=3)
        )
        self.text.show(lambda width: plan_lines(plan, width))
        self.scrolled()

    def on_resize(self) -> None:
        self.call_after_refresh(self.scrolled)

    def scrolled(self) -> None:
        """Says how much waits below, so that nothing is confirmed unread without knowing."""
        below = self.text.hidden_below
        self.query_one("#keys", LineView).show(lambda width: (choices_line(self._can_run, below, width),))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_cancel()

    def action_confirm(self) -> None:
        if self._can_run and self._deafness.over:
            self.dismiss(Decision.CONFIRMED)

    def action_cancel(self) -> None:
        if self._deafness.over:
            self.dismiss(Decision.CANCELLED)

    def action_copy(self) -> None:
        if self._deafness.over:
            self.post_message(CopyWanted(self._command))
