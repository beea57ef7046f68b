"""Our own themes. Style sheets name variables only, so a theme is the one place where colours are chosen.

What is to be read stands out from every ground by 4.5 to 1 at least, what cannot be used now by 3 to 1. The colour-safe
theme has no red against green at all: blue is well, yellow and orange are not.
"""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="dark",
    primary="#84abdf",
    secondary="#5f7f9f",
    accent="#d7b46a",
    foreground="#d5d8da",
    background="#14171a",
    surface="#1b1f23",
    panel="#23292e",
    success="#86bf8a",
    warning="#e0a458",
    error="#f2857a",
    variables={"quiet": "#959ea6", "faint": "#747d85", "cursor": "#27323b"},
)

LIGHT = Theme(
    name="light",
    primary="#1f5fa8",
    secondary="#3f6a94",
    accent="#7a5400",
    foreground="#22262a",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#e7e4dc",
    success="#1e6b34",
    warning="#9a4d00",
    error="#b3261e",
    dark=False,
    variables={"quiet": "#5c636a", "faint": "#7b8187", "cursor": "#dbe4ea"},
)

COLOUR_SAFE = Theme(
    name="colour-safe",
    primary="#6cb6ff",
    secondary="#5f7f9f",
    accent="#c9c2a5",
    foreground="#d8dadd",
    background="#121518",
    surface="#191d21",
    panel="#22282d",
    success="#6cb6ff",
    warning="#f2c14e",
    error="#ff8a3d",
    variables={"quiet": "#989fa6", "faint": "#747b83", "cursor": "#283440"},
)

THEMES: tuple[Theme, ...] = (DARK, LIGHT, COLOUR_SAFE)
NAMES = tuple(theme.name for theme in THEMES)


def after(name: str) -> str:
    """The theme that follows `name` when one cycles through."""
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)] if name in NAMES else NAMES[0]
