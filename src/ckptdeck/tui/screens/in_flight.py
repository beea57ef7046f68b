"""What is being written, by whom, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.core.sighting import InFlight
from ckptdeck.core.states import Role
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import PlanWanted, Say
from ckptdeck.tui.screens.listing import ItemList, ListScreen
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.view import View, flights
from ckptdeck.tui.view_model.work import flight_detail, flight_head, flight_line

Found = tuple[Role, InFlight]


class FlightList(ItemList[Found]):
    """One row per part, known by side and name."""

    def key_of(self, item: Found) -> str:
        role, flight = item
        return f"{role}/{flight.name}"

    def head(self, width: int) -> Line:
        return flight_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        role, flight = self._items[key]
        return flight_line(role, flight, width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   Nothing is in flight."))


class InFlightScreen(ListScreen[Found]):
    PLACE = Place.IN_FLIGHT
    BINDINGS = bindings_for(Place.IN_FLIGHT)

    def __init__(self) -> None:
        super().__init__(FlightList())

    def items_of(self, view: View) -> Sequence[Found]:
        return () if view.survey is None else flights(view.survey)

    def story(self, item: Found | None, view: View, width: int) -> tuple[Line, ...]:
        return flight_detail(item, view, width)

    def action_copy_command(self) -> None:
        self.copy_line("status")

    def action_quarantine(self) -> None:
        found = self._list.under_cursor
        if found is None:
            self.post_message(Say("Nothing is in flight."))
        else:
            self.post_message(PlanWanted("quarantine", (found[1].name,)))
