"""Textual bindings made from the registry."""

from __future__ import annotations

from textual.binding import Binding, BindingType, Keymap

from ckptdeck.tui.actions import REGISTRY, Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import binding_id


def bindings_for(place: Place, *, priority: bool = False) -> list[BindingType]:
    """One binding per action of `place`; by their ids the keys are mapped anew. With `priority` they come before those
    of whatever has the focus."""
    return [
        Binding(
            ",".join(action.keys),
            action.id,
            action.label,
            show=False,
            priority=priority,
            id=binding_id(action, place),
        )
        for action in REGISTRY
        if place in action.places
    ]


def textual_keymap(keys: KeyMap) -> Keymap:
    """The same for Textual, which looks into it at every key."""
    return {binding: ",".join(names) for binding, names in keys.rebound.items()}
