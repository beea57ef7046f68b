"""Our own themes. Style sheets name variables only, so a theme is the one place where colours are chosen.

Good, warning and bad differ in lightness as well as in hue; the colour-safe theme has no red against green at all.
"""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="dark",
    primary="#7aa2d6",
    secondary="#5f7f9f",
    accent="#d7b46a",
    foreground="#d5d8da",
    background="#14171a",
    surface="#1b1f23",
    panel="#23292e",
    success="#86bf8a",
    warning="#e0a458",
    error="#ef7d72",
    variables={"quiet": "#8a939b", "faint": "#5d666e", "cursor": "#2d3942"},
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
    variables={"quiet": "#5f666d", "faint": "#8d9399", "cursor": "#dbe4ea"},
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
    variables={"quiet": "#8f979f", "faint": "#626a72", "cursor": "#2c3844"},
)

THEMES: tuple[Theme, ...] = (DARK, LIGHT, COLOUR_SAFE)
NAMES = tuple(theme.name for theme in THEMES)


def after(name: str) -> str:
    """The theme that follows `name` when one cycles through."""
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)] if name in NAMES else NAMES[0]
