"""Colours are held to figures: contrast on every ground, and a theme that eyes without red or green can tell apart."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from textual.theme import Theme

from ckptdeck import tui
from ckptdeck.tui.themes import COLOUR_SAFE, THEMES, after
from ckptdeck.tui.view_model.glyphs import FLIGHTS, JOBS, STATES

READABLE = 4.5
"""WCAG 2: text of ordinary size."""
DISCERNIBLE = 3.0
"""The same for what is there but cannot be used."""
DEUTERANOPIA = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881))
PROTANOPIA = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998))
"""Machado, Oliveira and Fernandes 2009, over linear RGB."""


def linear(colour: str) -> tuple[float, ...]:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return tuple(one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def inks(theme: Theme) -> dict[str, str]:
    found = {
        "plain": theme.foreground, "busy": theme.primary, "accent": theme.accent, "good": theme.success,
        "warn": theme.warning, "bad": theme.error, "muted": theme.variables["quiet"],
    }  # fmt: skip
    return {name: colour for name, colour in found.items() if colour is not None}


def grounds(theme: Theme) -> dict[str, str]:
    found = {
        "background": theme.background, "surface": theme.surface, "panel": theme.panel,
        "cursor": theme.variables["cursor"],
    }  # fmt: skip
    return {name: colour for name, colour in found.items() if colour is not None}


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_everything_can_be_read_on_every_ground(theme: Theme) -> None:
    assert len(inks(theme)) == 7
    assert len(grounds(theme)) == 4
    figures = {
        (ink, ground): round(contrast(colour, under), 2)
        for ink, colour in inks(theme).items()
        for ground, under in grounds(theme).items()
    }
    assert {pair: figure for pair, figure in figures.items() if figure < READABLE} == {}
    off = {ground: contrast(theme.variables["faint"], under) for ground, under in grounds(theme).items()}
    assert all(off[ground] >= DISCERNIBLE for ground in ("background", "surface", "panel"))


def seen_by(eyes: tuple[tuple[float, ...], ...], colour: str) -> tuple[float, ...]:
    return tuple(sum(weight * share for weight, share in zip(row, linear(colour), strict=True)) for row in eyes)


@pytest.mark.parametrize("eyes", [DEUTERANOPIA, PROTANOPIA], ids=["deuteranopia", "protanopia"])
def test_well_and_not_well_differ_for_every_eye_in_the_colour_safe_theme(
    eyes: tuple[tuple[float, ...], ...],
) -> None:
    good, warn, bad = (str(one) for one in (COLOUR_SAFE.success, COLOUR_SAFE.warning, COLOUR_SAFE.error))
    for other in (warn, bad):
        pairs = zip(seen_by(eyes, good), seen_by(eyes, other), strict=True)
        assert max(abs(one - two) for one, two in pairs) > 0.4, other


def test_no_style_sheet_names_a_colour_of_its_own() -> None:
    for sheet in Path(tui.__file__).parent.joinpath("styles").glob("*.tcss"):
        rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        values = [rule.partition(":")[2] for rule in re.findall(r"[^{};]+;", rules) if "nocolor" not in rule]
        assert not [value for value in values if re.search(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(", value)], sheet.name


def test_one_cycles_through_all_themes() -> None:
    names = [theme.name for theme in THEMES]
    assert [after(name) for name in names] == [*names[1:], names[0]]
    assert after("mauve") == names[0]


def test_no_state_is_told_by_colour_alone() -> None:
    """Without colour the glyph and the word are left: no two states may have both in common."""
    for marks in (STATES, JOBS, FLIGHTS):
        told = [(mark.glyph, mark.word) for mark in marks.values()]
        assert all(one != other for one, other in combinations(told, 2))
        assert all(word for _, word in told)
