"""The command palette, fed from the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider

from ckptdeck.tui.actions import Action, Place, offered, refused
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.view_model.view import Lock


class RegistryCommands(Provider):
    """Every action of the screen below, and those that are everywhere."""

    async def discover(self) -> Hits:
        for action, lock in self._actions():
            yield DiscoveryHit(_title(action), self._call(action), text=action.label, help=_help(action, lock))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, lock in self._actions():
            score = max(matcher.match(action.label), 0.6 * matcher.match(action.help))
            if score > 0:
                yield Hit(score, _title(action), self._call(action), text=action.label, help=_help(action, lock))

    def _actions(self) -> list[tuple[Action, Lock]]:
        screen = self.screen
        if not isinstance(screen, LiveScreen):
            return []
        return [
            (action, screen.standing) for action in offered(screen.PLACE, screen.standing) if action.id != "palette"
        ]

    def _call(self, action: Action) -> Callable[[], Awaitable[object]]:
        everywhere = Place.EVERYWHERE in action.places
        return partial(self.app.run_action if everywhere else self.screen.run_action, action.id)


def _title(action: Action) -> Text:
    return Text(f"{action.label}  ({action.shown})")


def _help(action: Action, lock: Lock) -> str:
    told = f"{action.help} (locked: U unlocks)" if refused(action, lock) else action.help
    return f"{told}  ckptdeck {action.command}" if action.command else told
