"""The command palette, fed from the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider

from ckptdeck.tui.actions import Action, Place, offered, refused
from ckptdeck.tui.key_words import key_word, shown_keys
from ckptdeck.tui.screens.live import LiveScreen


class RegistryCommands(Provider):
    """Every action of the screen below, and those that are everywhere."""

    async def discover(self) -> Hits:
        for action, screen in self._actions():
            title, told = _title(action, screen), _help(action, screen)
            yield DiscoveryHit(title, self._call(action), text=action.label, help=told)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, screen in self._actions():
            score = max(matcher.match(action.label), 0.6 * matcher.match(action.help))
            if score > 0:
                title, told = _title(action, screen), _help(action, screen)
                yield Hit(score, title, self._call(action), text=action.label, help=told)

    def _actions(self) -> list[tuple[Action, LiveScreen]]:
        screen = self.screen
        if not isinstance(screen, LiveScreen):
            return []
        return [(action, screen) for action in offered(screen.PLACE, screen.standing) if action.id != "palette"]

    def _call(self, action: Action) -> Callable[[], Awaitable[object]]:
        everywhere = Place.EVERYWHERE in action.places
        return partial(self.app.run_action if everywhere else self.screen.run_action, action.id)


def _title(action: Action, screen: LiveScreen) -> Text:
    return Text(f"{action.label}  ({shown_keys(screen.key_map, action, screen.PLACE)})")


def _help(action: Action, screen: LiveScreen) -> str:
    locked = f" (locked: {key_word(screen.key_map, Place.EVERYWHERE, 'unlock')} unlocks)"
    told = action.help + (locked if refused(action, screen.standing) else "")
    return f"{told}  ckptdeck {action.command}" if action.command else told
