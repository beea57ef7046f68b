"""The console: polls the engine, hands each screen its view, and carries out what screens ask for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import ClassVar, Literal

from textual import work
from textual.actions import ActionParseResult
from textual.app import App, SuspendNotSupported
from textual.dom import DOMNode
from textual.events import Event, Key, MouseEvent
from textual.screen import Screen
from textual.widgets import Input

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.monitor.snapshot import Engine
from ckptdeck.monitor.view_state import ViewState
from ckptdeck.tui import lifecycle, messages, themes
from ckptdeck.tui.actions import BY_ID, Action, Place, hidden
from ckptdeck.tui.bindings import bindings_for, textual_keymap
from ckptdeck.tui.collecting import Collecting
from ckptdeck.tui.drafting import Draft, Drafting, Wish
from ckptdeck.tui.key_words import key_word, refusal
from ckptdeck.tui.lasting_output import give_it_a_size
from ckptdeck.tui.palette import RegistryCommands
from ckptdeck.tui.screens.help import HelpScreen
from ckptdeck.tui.screens.homes import SCREENS
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.screens.overview import Overview
from ckptdeck.tui.screens.plan_review import Decision, PlanReview
from ckptdeck.tui.screens.quit_guard import QuitGuard
from ckptdeck.tui.settings import ConsoleSettings
from ckptdeck.tui.view_model.alarm import JobWatch, TroubleWatch, notification
from ckptdeck.tui.view_model.interruption import InterruptionWatch
from ckptdeck.tui.view_model.line import harmless
from ckptdeck.tui.view_model.rows import Order
from ckptdeck.tui.view_model.view import Lock, View, bare, look

_SOON = 0.15
"""Seconds after which a plan that is still being made is worth a word."""
_COLLECTING = 5.0
"""Seconds between two questions whether it is time to look for garbage."""


class ConsoleApp(App[None]):
    """Everything that touches files happens in the engine; this only shows and asks."""

    TITLE = "ckptdeck"
    CSS_PATH: ClassVar = ["styles/ink.tcss", "styles/screens.tcss", "styles/modals.tcss"]
    BINDINGS: ClassVar = [*bindings_for(Place.EVERYWHERE), *bindings_for(Place.PLANNING, priority=True)]
    COMMANDS: ClassVar = {RegistryCommands}
    ENABLE_COMMAND_PALETTE: ClassVar = False
    """Textual shall add no key for it: those it has are of the registry."""

    def __init__(self, engine: Engine, settings: ConsoleSettings, view_state: ViewState) -> None:
        super().__init__(settings.driver, ansi_color=True if settings.no_colour else None)
        self.use_command_palette = True
        self.set_keymap(textual_keymap(settings.keys))
        self._engine = engine
        self._settings = settings
        self._order = Order(view_state.order) if view_state.order in set(Order) else Order.NEWEST
        self._used_filters = view_state.filters
        self._snapshot = engine.snapshot()
        self._second = 0
        self._trouble = TroubleWatch()
        self._jobs = JobWatch()
        self._interruption = InterruptionWatch()
        self._drafting = Drafting(engine)
        self._collecting = Collecting(settings.monotonic)
        self._ending = False
        self.lock = Lock.READ_ONLY if settings.read_only else Lock.LOCKED if settings.start_locked else Lock.UNLOCKED
        for theme in themes.THEMES:
            self.register_theme(theme)
        self.theme = view_state.theme if view_state.theme in themes.NAMES else themes.NAMES[0]

    @property
    def view_state(self) -> ViewState:
        """What is worth remembering for the next start."""
        return ViewState(order=self._order.value, theme=self.theme, filters=self._used_filters)

    @property
    def view(self) -> View:
        wish = self._drafting.wish
        planning = "" if wish is None else wish.label
        settings = self._settings
        return look(self._snapshot, settings.clock(), settings.zone, self.lock, planning, settings.keys)

    def get_default_screen(self) -> Screen[None]:
        return self._furnished(Overview(self._order, self._used_filters))

    def _furnished(self, screen: LiveScreen) -> LiveScreen:
        screen.ask = self._engine.ask
        screen.show(self.view)
        return screen

    def on_mount(self) -> None:
        self.set_class(self._settings.ascii, "-ascii")
        if self._settings.follow_signals:
            lifecycle.follow_signals(self.end, self.come_back, self.step_back)
        self.set_interval(self._settings.poll, self.poll)
        self.set_interval(lifecycle.TERMINAL_CHECK, self._check_terminal)
        self.set_interval(_COLLECTING, self._collecting.look)
        self.call_after_refresh(self._engine.start)

    # Looking

    def poll(self) -> None:
        """Paints when the engine has something new, or a second has passed."""
        snapshot = self._engine.snapshot()
        second = int(self._settings.clock())
        if snapshot.version == self._snapshot.version and second == self._second:
            return
        self._snapshot, self._second = snapshot, second
        self._paint()
        for sentence in self._trouble.fresh(snapshot)[:1]:
            if self._settings.bell:
                self.bell()
                self.write_to_terminal(notification(sentence))
            self.say(sentence, warning=True)
        for sentence in self._jobs.undone(snapshot):
            self.say(sentence, warning=True)
        self._offer_recovery()

    def _offer_recovery(self) -> None:
        """Once per session, over the overview alone, and not into what somebody types."""
        at_rest = len(self.screen_stack) == 1 and not isinstance(self.focused, Input)
        if at_rest and self.lock is not Lock.READ_ONLY and self._interruption.due(self.view):
            self._show_at(Place.RECOVERY)

    def _paint(self) -> None:
        view = self.view
        for screen in self.screen_stack:
            if isinstance(screen, LiveScreen | QuitGuard):
                screen.show(view)

    def say(self, text: str, *, warning: bool = False) -> None:
        severity: Literal["warning", "information"] = "warning" if warning else "information"
        self.notify(harmless(text), severity=severity, timeout=max(5.0, len(text) / 15), markup=False)

    def write_to_terminal(self, sequence: str) -> None:
        """For what is no picture; Textual itself writes the bell like this."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key | MouseEvent):
            self._collecting.key()
        await super().on_event(event)

    def on_say(self, event: messages.Say) -> None:
        self.say(event.text, warning=event.warning)

    # Acting

    def on_plan_wanted(self, event: messages.PlanWanted) -> None:
        action = BY_ID[event.action]
        reason = refusal(action, self.lock, self._settings.keys)
        if reason:
            self.say(reason, warning=True)
            return
        survey = self._snapshot.survey
        planner = "start" if action.id == "adopt" and survey is not None and bare(survey) else action.plan
        wish = Wish(planner, action.label, event.names, event.options)
        if wish != self._drafting.wish and not isinstance(self.screen, PlanReview):
            self._review(action, wish)

    @work(group="review", exit_on_error=True)
    async def _review(self, action: Action, wish: Wish) -> None:
        """Plan, review, confirm, submit. The plan is dropped when the operator went on to something else meanwhile."""
        self.set_timer(_SOON, self._paint)
        try:
            draft = await self._drafting.draft(wish)
            if draft is not None and self._reviewable and await self._confirmed(draft):
                self._jobs.begun(self._engine.submit(draft.plan, draft.plan.count))  # the count was typed
                if action.opens_lock:
                    self.lock = Lock.UNLOCKED
                self._overview.let_go()
        except CkptdeckError as error:
            self.say(str(error), warning=True)
        self.refresh_view()

    @property
    def _reviewable(self) -> bool:
        """Nobody types, and no question is open, that a review would lie over."""
        return isinstance(self.screen, LiveScreen) and not isinstance(self.focused, Input)

    async def _confirmed(self, draft: Draft) -> bool:
        self.clear_notifications()  # said about the screen below; they would lie over the choices
        review = PlanReview(draft, self._settings.monotonic, self._settings.keys)
        return await self.push_screen_wait(review) is Decision.CONFIRMED

    def action_give_up(self) -> None:
        self._drafting.give_up()
        self._paint()

    def on_verify_wanted(self, event: messages.VerifyWanted) -> None:
        try:
            self._engine.verify(event.names)
        except CkptdeckError as error:
            self.say(str(error), warning=True)
        self._overview.let_go()
        self.refresh_view()

    def on_job_asked(self, event: messages.JobAsked) -> None:
        verbs = {
            messages.JobVerb.PAUSE: self._engine.pause,
            messages.JobVerb.RESUME: self._engine.resume,
            messages.JobVerb.CANCEL: self._engine.cancel,
        }
        verbs[event.verb](event.job)
        self.refresh_view()

    def on_copy_wanted(self, event: messages.CopyWanted) -> None:
        self.copy_to_clipboard(event.text)
        self.say(f"Sent to the terminal's clipboard: {event.text}")

    def refresh_view(self) -> None:
        """Takes the newest snapshot and paints it, whatever its version."""
        self._snapshot = self._engine.snapshot()
        self._paint()

    # Moving about

    @property
    def _overview(self) -> Overview:
        overview = self.screen_stack[0]
        assert isinstance(overview, Overview)
        return overview

    def on_go_to(self, event: messages.GoTo) -> None:
        self._drafting.give_up()
        self._show_at(event.place)

    def _show_at(self, place: Place) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if place is Place.RECOVERY:
            self._interruption.told()
        if place in SCREENS:
            self.push_screen(self._furnished(SCREENS[place]()))
        else:
            self._paint()

    def on_view_changed(self, event: messages.ViewChanged) -> None:
        self._order, self._used_filters = Order(event.order), event.filters

    def action_unlock(self) -> None:
        self.lock = Lock.LOCKED if self.lock is Lock.UNLOCKED else Lock.UNLOCKED
        self.clear_notifications()  # they spoke of the other state
        self._paint()

    def action_help(self) -> None:
        place = self.screen.PLACE if isinstance(self.screen, LiveScreen) else Place.OVERVIEW
        self.push_screen(HelpScreen(place, self.lock, self._settings.keys))

    def action_palette(self) -> None:
        self.action_command_palette()

    def action_rescan(self) -> None:
        self._engine.rescan()

    def action_theme(self) -> None:
        if self._settings.no_colour:
            self.say("NO_COLOR is set, so there is no theme to change.")
        else:
            self.theme = themes.after(self.theme)

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Says why nothing happens at the key of an action that is not there when read-only."""
        done = await super().run_action(action, default_namespace, namespaces)
        known = BY_ID.get(action) if isinstance(action, str) else None
        if done or known is None or not hidden(known, self.lock):
            return done
        self.say(refusal(known, self.lock, self._settings.keys), warning=True)
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "give_up":
            return self._drafting.wish is not None
        known = BY_ID.get(action)
        return known is None or not hidden(known, self.lock)

    # Ending

    async def action_quit(self) -> None:
        if not self._asking_to_quit:
            self._leave()

    def action_help_quit(self) -> None:
        self.say(f"{key_word(self._settings.keys, Place.OVERVIEW, 'leave')} quits.")

    @property
    def _asking_to_quit(self) -> bool:
        return any(isinstance(screen, QuitGuard) for screen in self.screen_stack)

    @work(group="leave", exit_on_error=True)
    async def _leave(self) -> None:
        view = self.view
        self.clear_notifications()
        if not view.working or await self.push_screen_wait(QuitGuard(view, self._settings.monotonic)):
            await self._stop_and_exit(0)

    def end(self, code: int) -> None:
        """Ends in order with this exit code; no question is asked."""
        self.run_worker(self._stop_and_exit(code), group="end")

    def step_back(self) -> None:
        if not self._ending:
            lifecycle.stop_and_go_on(self.suspend, self._settings.terminal_alive)

    def come_back(self) -> None:
        """Takes the terminal anew: the process was stopped and goes on, and a shell may have used it meanwhile.

        A terminal that goes away wakes its processes too, and is not taken any more.
        """
        if not self._ending and self._settings.terminal_alive() and lifecycle.in_foreground():
            with contextlib.suppress(SuspendNotSupported), self.suspend():
                pass

    def on_taken_up(self, _event: messages.TakenUp) -> None:
        self.refresh(layout=True)

    async def _stop_and_exit(self, code: int) -> None:
        if not self._ending:
            self._ending = True
            await asyncio.to_thread(self._engine.stop, lifecycle.STOP_WITHIN)
            self.exit(return_code=code)

    def _check_terminal(self) -> None:
        if not self._settings.terminal_alive():
            self.end(lifecycle.HANGUP_CODE)
        elif self._settings.follow_signals:
            give_it_a_size()
