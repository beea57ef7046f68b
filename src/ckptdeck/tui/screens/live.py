"""What every full screen has: a header, a footer from the registry, and a View to paint."""

from __future__ import annotations

from textual.screen import Screen

from ckptdeck.tui.actions import BY_ID, Place, hidden
from ckptdeck.tui.messages import GoTo
from ckptdeck.tui.thought import Ask, answer_at_once
from ckptdeck.tui.view_model.heading import header_line
from ckptdeck.tui.view_model.keys import footer_line, planning_line
from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.view_model.view import Lock, View
from ckptdeck.tui.widgets.line_view import LineView


class LiveScreen(Screen[None]):
    """Subclasses set `PLACE`, compose a `#header` and a `#footer`, and paint the rest in `paint`."""

    PLACE: Place
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-normal"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (11, "-short"), (18, "-medium"), (32, "-tall")]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self._view: View | None = None
        self.ask: Ask = answer_at_once
        """Where what takes long is thought over."""

    def show(self, view: View) -> None:
        """Takes the newest view; paints when the screen is mounted."""
        self._view = view
        if self.is_mounted:
            self._paint_all(view)

    def on_mount(self) -> None:
        if self._view is not None:
            self._paint_all(self._view)

    def _paint_all(self, view: View) -> None:
        name = "" if self.PLACE is Place.OVERVIEW else self.PLACE.value.lower()
        self.query_one("#header", LineView).show(lambda width: (header_line(view, width, name),))
        self.query_one("#footer", LineView).show(lambda width: (self._footer(view, width),))
        self.paint(view)

    def _footer(self, view: View, width: int) -> Line:
        if view.planning:
            return planning_line(view.planning, width)
        return footer_line(self.PLACE, view.lock, width)

    def paint(self, view: View) -> None:
        """Says everything between header and footer anew."""
        raise NotImplementedError

    def action_jobs(self) -> None:
        self.post_message(GoTo(Place.JOBS))

    def action_in_flight(self) -> None:
        self.post_message(GoTo(Place.IN_FLIGHT))

    def action_recovery(self) -> None:
        self.post_message(GoTo(Place.RECOVERY))

    def action_quarantined(self) -> None:
        self.post_message(GoTo(Place.QUARANTINE))

    def action_space(self) -> None:
        self.post_message(GoTo(Place.SPACE))

    def action_back(self) -> None:
        self.post_message(GoTo(Place.OVERVIEW))

    async def action_leave(self) -> None:
        await self.app.action_quit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Actions that are not offered at all are not bound either."""
        known = BY_ID.get(action)
        return known is None or not hidden(known, self.standing)

    @property
    def standing(self) -> Lock:
        return Lock.LOCKED if self._view is None else self._view.lock
