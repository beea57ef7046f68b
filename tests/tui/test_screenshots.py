"""The pictures of the documentation: made here from the real console, and kept true.

`CKPTDECK_UPDATE=1` writes them anew. Otherwise what the console shows must be what `snapshots/*.txt` holds, and each
SVG must hold the same text; how an SVG is drawn may differ between versions of the drawing library.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckptdeck.core.plans.mend import plan_mend
from ckptdeck.core.sides import Survey
from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.monitor.view_state import ViewState
from tests.tui import aftermath, scenes
from tests.tui.console import Console, open_console
from tests.tui.run_in_trouble import in_trouble

TEXTS = Path(__file__).parent / "snapshots"
PICTURES = Path(__file__).parents[2] / "screenshots"
UPDATE = bool(os.environ.get("CKPTDECK_UPDATE"))

TO_THE_BAD_ROW = ("g", *"j" * 14)
SCREENS = {
    "overview": TO_THE_BAD_ROW,
    "detail": ("z",),
    "activity": ("q", "a", "j", "j"),
    "in-flight": ("q", "i"),
    "jobs": ("q", "J", "j", "j"),
    "quarantine": ("q", "Q"),
    "space": ("q", "s", "l", "l", "l"),
    "recovery": ("q", "R", "j", "j"),
    "recovery-review": ("R",),
    "help": ("escape", "q", "question_mark"),
}
"""Each by the keys that lead there from the one before."""
SIZES = {"": (80, 24), "-wide": (150, 42)}


@dataclass(frozen=True)
class Picture:
    """One of its own."""

    scene: Callable[[], Snapshot]
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    locked: bool = True
    theme: str = "dark"
    no_colour: bool = False


OTHERS = {
    "overview-light": Picture(in_trouble, (80, 24), TO_THE_BAD_ROW, theme="light"),
    "overview-colour-safe": Picture(in_trouble, (80, 24), TO_THE_BAD_ROW, theme="colour-safe"),
    "overview-no-colour": Picture(in_trouble, (80, 24), TO_THE_BAD_ROW, no_colour=True),
    "overview-small": Picture(in_trouble, (40, 12), TO_THE_BAD_ROW),
    "day-one": Picture(scenes.day_one, (80, 24)),
    "prune-review": Picture(aftermath.kept_everything, (80, 24), ("P", "6"), locked=False),
}


def survey_of(snapshot: Snapshot) -> Survey:
    assert snapshot.survey is not None
    return snapshot.survey


@pytest.mark.parametrize("ending", SIZES)
async def test_every_screen_of_one_run_looks_like_its_picture(ending: str) -> None:
    snapshot = in_trouble()
    async with open_console(snapshot, SIZES[ending], start_locked=False) as console:
        console.engine.plans["mend"] = plan_mend(survey_of(snapshot))
        for name, keys in SCREENS.items():
            await console.press(*keys)
            compare(console, name + ending)


@pytest.mark.parametrize("name", OTHERS)
async def test_the_console_looks_like_its_pictures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = OTHERS[name]
    if picture.no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    state = ViewState(theme=picture.theme)
    options = {"start_locked": picture.locked, "no_colour": picture.no_colour}
    async with open_console(picture.scene(), picture.size, view_state=state, **options) as console:
        console.engine.plans["prune"] = aftermath.prune_plan()
        await console.press(*picture.keys)
        compare(console, name)


def test_no_picture_is_left_of_what_is_not_shown_any_more() -> None:
    names = {name + ending for name in SCREENS for ending in SIZES} | set(OTHERS)
    assert {path.stem for path in PICTURES.glob("*.svg")} == names
    assert names <= {path.stem for path in TEXTS.glob("*.txt")}


def compare(console: Console, name: str) -> None:
    """With the text and the picture of that name, or makes them."""
    shown, drawn = console.text + "\n", console.app.export_screenshot()
    text, svg = TEXTS / f"{name}.txt", PICTURES / f"{name}.svg"
    if UPDATE:
        for path, content in ((text, shown), (svg, drawn)):
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    assert shown == text.read_text(encoding="utf-8"), name
    assert squeezed(shown) in squeezed(words_of(svg.read_text(encoding="utf-8"))), name


def words_of(svg: str) -> str:
    """The text of a picture in the order it is drawn."""
    return "".join(html.unescape(words) for words in re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)
