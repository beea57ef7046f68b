"""Disk planning: both volumes over time, and three knobs for what if."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal

from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import PlanWanted
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.thought import Thought
from ckptdeck.tui.view_model.foresight import Foresight
from ckptdeck.tui.view_model.line import Line
from ckptdeck.tui.view_model.space import Scene, answer_lines, figure_lines, note_lines, plot_title, scene_of
from ckptdeck.tui.view_model.space_plot import legend_line, plot_lines
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.view_model.what_if import Knobs, knob_lines, shell_options
from ckptdeck.tui.widgets.line_view import LineScroll, LineView
from ckptdeck.tui.widgets.plot_view import PlotView

_ONE_PICTURE = 72
"""Terminals with fewer columns show the picture of the volume that is full first."""


class SpaceScreen(LiveScreen):
    PLACE = Place.SPACE
    BINDINGS = bindings_for(Place.SPACE)

    def __init__(self) -> None:
        super().__init__()
        self._knobs = Knobs()
        self._foresight = Foresight()
        self._thought: Thought[Scene | None] = Thought("space", self._repaint)
        self._scene: Scene | None = None

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield LineView(id="answer")
        yield LineView(id="figures")
        yield LineView(id="legend")
        with Horizontal(id="plots"):
            yield PlotView(id="plot-first")
            yield PlotView(id="plot-second")
        yield LineView(id="knobs")
        yield LineScroll(id="notes")
        yield LineView(id="footer")

    def paint(self, view: View) -> None:
        knobs = self._knobs
        question = partial(scene_of, view, knobs, self._foresight)
        scene = self._scene = self._thought.of(self.ask, (view.survey, knobs.what_if), question)
        self._line("answer").show(lambda width: answer_lines(scene, knobs, view, width))
        self._line("figures").show(lambda width: figure_lines(scene, view, width))
        self._line("knobs").show(lambda width: () if scene is None else knob_lines(knobs, scene.found, width))
        self.query_one("#notes", LineScroll).show(lambda width: note_lines(scene, width))
        self._paint_plots()

    def _repaint(self) -> None:
        if self._view is not None:
            self.paint(self._view)

    def on_resize(self) -> None:
        self.call_after_refresh(self._paint_plots)

    def _paint_plots(self) -> None:
        scene = self._scene
        shown = [] if scene is None else list(scene.courses)
        if scene is not None and self.size.width < _ONE_PICTURE:
            shown = sorted(shown, key=partial(_full_at, scene))[:1]
        keep = 0 if scene is None else next((one.keep_last for one in scene.outlooks.values()), 0)
        self._line("legend").show(lambda width: (legend_line(keep, width),) if shown else ())
        for place, name in enumerate(("#plot-first", "#plot-second")):
            plot = self.query_one(name, PlotView)
            plot.display = place < len(shown) or (place == 0 and not shown)
            plot.show(partial(_picture, scene, shown[place] if place < len(shown) else None))

    def _line(self, name: str) -> LineView:
        return self.query_one(f"#{name}", LineView)

    # What the keys do

    def action_down(self) -> None:
        self._turn_to(self._knobs.choose(1))

    def action_up(self) -> None:
        self._turn_to(self._knobs.choose(-1))

    def action_more(self) -> None:
        self._turn(1)

    def action_less(self) -> None:
        self._turn(-1)

    def action_reset(self) -> None:
        self._turn_to(self._knobs.reset())

    def action_basis(self) -> None:
        self.toggle_class("-basis")

    def action_page_down(self) -> None:
        notes = self.query_one("#notes", LineScroll)
        notes.scroll_by(notes.page)

    def action_page_up(self) -> None:
        notes = self.query_one("#notes", LineScroll)
        notes.scroll_by(-notes.page)

    def action_copy_command(self) -> None:
        self.copy_line("space", shell_options(self._knobs))

    def action_prune(self) -> None:
        keep = self._knobs.keep_last
        self.post_message(PlanWanted("prune", options={} if keep is None else {"keep-last": str(keep)}))

    def _turn(self, by: int) -> None:
        if self._scene is not None:
            self._turn_to(self._knobs.turn(by, self._scene.found))

    def _turn_to(self, knobs: Knobs) -> None:
        self._knobs = knobs
        self._repaint()


def _picture(scene: Scene | None, who: str | None, width: int, height: int) -> Sequence[Line]:
    if scene is None or who is None:
        return ()
    drawn = plot_lines(scene.courses[who], width, height - 1)
    return (plot_title(scene, who, width), *drawn) if drawn else ()


def _full_at(scene: Scene, who: str) -> float:
    at = scene.volumes[who].full_at
    return float("inf") if at is None else at
