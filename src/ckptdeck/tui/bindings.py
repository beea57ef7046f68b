"""Textual bindings made from the registry."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from ckptdeck.tui.actions import REGISTRY, Place


def bindings_for(place: Place) -> list[BindingType]:
    """One binding per action of `place`; ids are stable, so that keys can be mapped anew."""
    return [
        Binding(",".join(action.keys), action.id, action.label, show=False, id=f"{place.name.lower()}.{action.id}")
        for action in REGISTRY
        if place in action.places
    ]
