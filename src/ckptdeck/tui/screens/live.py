"""What every full screen has: a header, a footer from the registry, and a View to paint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from textual.screen import Screen

from ckptdeck.monitor.command_line import action_line
from ckptdeck.tui.actions import BY_ID, Place, hidden
from ckptdeck.tui.key_map import AS_BUILT, KeyMap
from ckptdeck.tui.messages import CopyWanted, GoTo
from ckptdeck.tui.thought import Ask, answer_at_once
from ckptdeck.tui.view_model.heading import header_line
from ckptdeck.tui.view_model.keys import footer_line, planning_line
from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.view_model.view import Lock, View
from ckptdeck.tui.widgets.keyed_list import KeyedList
from ckptdeck.tui.widgets.line_view import LineView


class LiveScreen(Screen[None]):
    """Subclasses set `PLACE`, compose a `#header` and a `#footer`, and paint the rest in `paint`."""

    PLACE: Place
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-normal"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (11, "-short"), (18, "-medium"), (32, "-tall")]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self._view: View | None = None
        self._footer_said: tuple[tuple[object, ...], Line] | None = None
        """What was asked for last, and the line: the same keys are not measured again every second."""
        self.ask: Ask = answer_at_once
        """Where what takes long is thought over."""

    def show(self, view: View) -> None:
        """Takes the newest view; paints when the screen is mounted, and not taken down already."""
        self._view = view
        if self.is_mounted and self.children:
            self._paint_all(view)

    def on_mount(self) -> None:
        if self._view is not None:
            self._paint_all(self._view)

    def _paint_all(self, view: View) -> None:
        name = "" if self.PLACE is Place.OVERVIEW else self.PLACE.value.lower()
        self.query_one("#header", LineView).show(lambda width: (header_line(view, width, name),))
        self.paint(view)
        self.paint_footer()
        self.call_after_refresh(self._make_way)

    def _footer(self, view: View, width: int) -> Line:
        if view.planning:
            return planning_line(view.planning, width, view.keys)
        asked = view.lock, width, view.keys, tuple(self.wanted)
        if self._footer_said is None or self._footer_said[0] != asked:
            self._footer_said = asked, footer_line(self.PLACE, *asked)
        return self._footer_said[1]

    @property
    def wanted(self) -> Sequence[str]:
        """Ids of the actions that what is under the cursor asks for, the most urgent first."""
        return ()

    def paint_footer(self) -> None:
        """Says the keys anew: another row may ask for others."""
        view = self._view
        if view is not None:
            self.query_one("#footer", LineView).show(lambda width: (self._footer(view, width),))

    def on_keyed_list_moved(self, _event: KeyedList.Moved) -> None:
        self._make_way()

    def _make_way(self) -> None:
        """What is said for a moment lies over the half of the screen where the cursor is not."""
        lists = self.query(KeyedList)
        self.set_class(any(each.cursor_line > self.size.height // 2 for each in lists), "-cursor-low")

    def read_on(self, screen: LiveScreen) -> None:
        """Shows `screen` over this one."""
        screen.ask = self.ask
        if self._view is not None:
            screen.show(self._view)
        self.app.push_screen(screen)

    def paint(self, view: View) -> None:
        """Says everything between header and footer anew."""
        raise NotImplementedError

    def copy_line(self, command: str, options: Mapping[str, str] = MappingProxyType({})) -> None:
        """Hands out the command of the shell that shows the same."""
        if self._view is not None:
            snapshot = self._view.snapshot
            self.post_message(CopyWanted(action_line(command, snapshot.primary, snapshot.mirror, options=options)))

    def action_jobs(self) -> None:
        self.post_message(GoTo(Place.JOBS))

    def action_in_flight(self) -> None:
        self.post_message(GoTo(Place.IN_FLIGHT))

    def action_recovery(self) -> None:
        self.post_message(GoTo(Place.RECOVERY))

    def action_quarantined(self) -> None:
        self.post_message(GoTo(Place.QUARANTINE))

    def action_activity(self) -> None:
        self.post_message(GoTo(Place.ACTIVITY))

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
    def key_map(self) -> KeyMap:
        return AS_BUILT if self._view is None else self._view.keys

    @property
    def standing(self) -> Lock:
        return Lock.LOCKED if self._view is None else self._view.lock
