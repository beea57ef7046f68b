"""What is being written, by whom, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from ckptdeck.core.sighting import InFlight
from ckptdeck.core.states import Role
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.view import View, flights
from ckptdeck.tui.view_model.work import flight_detail, flight_head, flight_line
from ckptdeck.tui.widgets.keyed_list import KeyedList
from ckptdeck.tui.widgets.line_view import LineView


class FlightList(KeyedList):
    """One row per part, known by side and name."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, tuple[Role, InFlight]] = {}

    def show(self, found: Sequence[tuple[Role, InFlight]]) -> None:
        self._found = {f"{role}/{flight.name}": (role, flight) for role, flight in found}
        self.set_keys(list(self._found))

    @property
    def under_cursor(self) -> tuple[Role, InFlight] | None:
        return None if self.cursor_key is None else self._found.get(self.cursor_key)

    def head(self, width: int) -> Line:
        return flight_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        role, flight = self._found[key]
        return flight_line(role, flight, width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   Nothing is in flight."))


class InFlightScreen(LiveScreen):
    PLACE = Place.IN_FLIGHT
    BINDINGS = bindings_for(Place.IN_FLIGHT)

    def __init__(self) -> None:
        super().__init__()
        self._list = FlightList()

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield self._list
        yield LineView(id="story")
        yield LineView(id="footer")

    def paint(self, view: View) -> None:
        self._list.show(() if view.survey is None else flights(view.survey))
        self._paint_story()

    def _paint_story(self) -> None:
        view = self._view
        if view is not None:
            found = self._list.under_cursor
            self.query_one("#story", LineView).show(lambda width: flight_detail(found, view, width))

    def on_keyed_list_moved(self, _event: KeyedList.Moved) -> None:
        self._paint_story()
