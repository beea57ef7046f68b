"""The picture an operator lives with: can I resume, how the disks stand, every checkpoint on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal

from ckptdeck.core.safe_text import shell_word
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.fates import Fates
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.messages import PlanWanted, Say, ViewChanged
from ckptdeck.tui.screens.acting import ActingScreen
from ckptdeck.tui.screens.detail import DetailScreen
from ckptdeck.tui.view_model.choice import Choice, actions_for, choice_of
from ckptdeck.tui.view_model.details import detail_lines, pane_lines
from ckptdeck.tui.view_model.heading import notice_lines, resume_line
from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.view_model.overview import path_of
from ckptdeck.tui.view_model.rows import Order
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.view_model.viewing import Pause, viewing_lines
from ckptdeck.tui.view_model.volumes import folded_volume_line, volume_lines
from ckptdeck.tui.view_model.work import strip_line
from ckptdeck.tui.widgets.filter_line import FilterLine
from ckptdeck.tui.widgets.keyed_list import KeyedList
from ckptdeck.tui.widgets.line_view import LineView
from ckptdeck.tui.widgets.pair_table import PairTable

LOW = 18
"""Terminals with fewer lines get both volumes in one line and one line of detail."""


class Overview(ActingScreen):
    PLACE = Place.OVERVIEW
    BINDINGS = bindings_for(Place.OVERVIEW)
    AUTO_FOCUS = "PairTable"

    def __init__(self, order: Order = Order.NEWEST, filters: Sequence[str] = ()) -> None:
        super().__init__()
        self._table = PairTable()
        self._table.order = order
        self._filter = FilterLine(filters)
        self._fates = Fates(self._paint_detail)
        self._pause: Pause | None = None
        self._choice: Choice | None = None
        self._chosen_of: tuple[object, object] = (None, None)
        """Of very many rows the chosen ones are not counted at every look."""

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield LineView(id="resume")
        yield LineView(id="volumes")
        yield LineView(id="notices")
        with Horizontal(id="body"):
            yield self._table
            yield LineView(id="pane")
        yield LineView(id="viewing")
        yield self._filter
        yield LineView(id="detail")
        yield LineView(id="strip")
        yield LineView(id="footer")

    def paint(self, view: View) -> None:
        self._pause = None if self._pause is None else self._pause.over(view)
        self._table.show(view if self._pause is None else self._pause.held)
        self._line("resume").show(lambda width: (resume_line(view, width),))
        self._line("volumes").show(self._volumes)
        self._line("notices").show(self._notices)
        self._line("strip").show(lambda width: (strip_line(view, width),))
        self._paint_viewing()
        self._paint_detail()

    def on_resize(self) -> None:
        if self._view is not None:
            self.call_after_refresh(self._paint_all, self._view)

    def _line(self, name: str) -> LineView:
        return self.query_one(f"#{name}", LineView)

    def _volumes(self, width: int) -> tuple[Line, ...]:
        if self._view is None:
            return ()
        low = self.app.size.height < LOW
        return (folded_volume_line(self._view, width),) if low else volume_lines(self._view, width)

    def _notices(self, width: int) -> tuple[Line, ...]:
        height = self.app.size.height
        if self._view is None or height < 14:
            return ()
        limit = 2 if height < LOW else 6 if height < 32 else 10
        return notice_lines(self._view, width, all_trouble=self._table.problems_only, limit=limit)

    def _paint_viewing(self) -> None:
        table, pause = self._table, self._pause
        survey = None if self._view is None else self._view.survey
        if self._chosen_of[0] is not survey or self._chosen_of[1] != table.chosen:
            self._chosen_of = survey, table.chosen
            self._choice = choice_of(table.targets if table.chosen else ())
        choice, keys = self._choice, self.key_map
        self._line("viewing").show(
            lambda width: viewing_lines(choice, pause, table.order, width, problems_only=table.problems_only, keys=keys)
        )

    @property
    def wanted(self) -> Sequence[str]:
        entry = self._table.under_cursor
        return () if entry is None else [action for action in actions_for(entry) if action != "verify"]

    def _paint_detail(self) -> None:
        if self._view is None:
            return
        view, entry = self._view, self._table.under_cursor
        limit = 1 if self.app.size.height < LOW else 2
        self._line("detail").show(lambda width: detail_lines(entry, view, width, limit))
        self._line("pane").show(lambda width: pane_lines(entry, view, width, self._fates.of(entry, view, self.ask)))

    def on_keyed_list_moved(self, _event: KeyedList.Moved) -> None:
        self._paint_detail()
        self.paint_footer()

    # What the keys do beyond what every acting screen does.

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(entry.key for entry in self._table.targets)

    @property
    def quarantine_targets(self) -> tuple[str, ...]:
        return tuple(name for entry in self._table.targets for name in entry.names)

    def action_adopt(self) -> None:
        self.post_message(PlanWanted("adopt", tuple(sorted(self._table.chosen))))

    def action_mirror_kept(self) -> None:
        self.post_message(PlanWanted("mirror_kept"))

    def action_prune(self) -> None:
        self.post_message(PlanWanted("prune"))

    def action_mark_bad(self) -> None:
        self._plan("mark_bad", self.targets)

    def action_unmark_bad(self) -> None:
        self._plan("unmark_bad", self.targets)

    def action_rollback(self) -> None:
        entry = self._table.under_cursor
        if entry is None or entry.step is None:
            self.post_message(Say("Put the cursor on the step to go back to; a name without a step is none."))
        else:
            self.post_message(PlanWanted("rollback", options={"step": str(entry.step)}))

    def action_choose(self) -> None:
        self._table.choose()
        self._paint_viewing()

    def action_choose_down(self) -> None:
        self._table.choose_on(1)
        self._paint_viewing()

    def action_choose_up(self) -> None:
        self._table.choose_on(-1)
        self._paint_viewing()

    def action_choose_all(self) -> None:
        self._table.choose_all()
        self._paint_viewing()

    def let_go(self) -> None:
        """Forgets which rows were chosen: they have been acted on."""
        self._table.let_go()
        self._paint_viewing()

    def action_pause_view(self) -> None:
        view = self._view
        if view is not None:
            self._pause = Pause(view, view.survey) if self._pause is None else None
            self.paint(view)

    def action_zoom(self) -> None:
        entry = self._table.under_cursor
        if entry is not None:
            self.read_on(DetailScreen(entry.key, self._fates))

    def action_order(self) -> None:
        self._table.order = self._table.order.next
        self._table.rearrange()
        self._paint_viewing()
        self._tell_way_of_looking()

    def _tell_way_of_looking(self) -> None:
        self.post_message(ViewChanged(self._table.order, self._filter.used))

    def action_filter(self) -> None:
        self._filter.open(key_word(self.key_map, self.PLACE, "filter"))
        self._recount()

    def action_problems(self) -> None:
        self._table.problems_only = not self._table.problems_only
        self._rearrange()

    def action_clear(self) -> None:
        self._table.problems_only = False
        self._table.let_go()
        self._filter.clear()
        if self._pause is not None:
            self.action_pause_view()
        self._rearrange()

    def on_filter_line_typed(self, event: FilterLine.Typed) -> None:
        self._table.query_text = event.text
        self._rearrange()

    def on_filter_line_left(self, _event: FilterLine.Left) -> None:
        self._table.focus()
        self._tell_way_of_looking()

    def _rearrange(self) -> None:
        self._table.rearrange()
        self._line("notices").show(self._notices)
        self._paint_viewing()
        self._recount()

    def _recount(self) -> None:
        self._filter.count(len(self._table.keys), self._table.total)

    def action_copy_path(self) -> None:
        survey = None if self._view is None else self._view.survey
        entry = self._table.under_cursor
        path = None if survey is None or entry is None else path_of(entry, survey)
        self._copy(None if path is None else shell_word(path), "Nothing lies under this name.")
