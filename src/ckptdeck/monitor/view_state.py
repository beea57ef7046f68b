"""How somebody likes to look at things, remembered between two consoles (XDG state directory)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict

from ckptdeck.core.values import dataclass

FILTERS_KEPT = 20


@dataclass(frozen=True, slots=True)
class ViewState:
    """Names as the console writes them; whoever reads them must expect others."""

    order: str = "newest"
    theme: str = "dark"
    filters: tuple[str, ...] = ()
    """Those used before, newest first, to be brought back by a key; no console starts with a filter."""


def view_state_path(environment: Mapping[str, str]) -> str:
    """`$XDG_STATE_HOME/ckptdeck/view.json`, by default under `~/.local/state`."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "ckptdeck", "view.json")


def load_view_state(path: str) -> ViewState:
    """What was saved; the defaults when there is nothing, or nothing that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError):
        return ViewState()
    if not isinstance(document, dict):
        return ViewState()
    known = {key: value for key, value in document.items() if key in ("order", "theme") and isinstance(value, str)}
    filters = document.get("filters")
    used = [text for text in filters if isinstance(text, str)] if isinstance(filters, list) else []
    return ViewState(**known, filters=tuple(used[:FILTERS_KEPT]))


def save_view_state(path: str, state: ViewState) -> bool:
    """Replaces the file whole. False when the place cannot be written: then the settings end with the session."""
    unfinished = f"{path}.part"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(unfinished, "w", encoding="utf-8") as file:
            json.dump(asdict(state), file)
        os.replace(unfinished, path)
    except OSError:
        return False
    return True
