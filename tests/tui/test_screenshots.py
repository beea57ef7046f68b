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

from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.monitor.view_state import ViewState
from tests.tui import aftermath, disks, scenes
from tests.tui.console import open_console

TEXTS = Path(__file__).parent / "snapshots"
PICTURES = Path(__file__).parents[2] / "screenshots"


@dataclass(frozen=True)
class Picture:
    scene: Callable[[], Snapshot]
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    locked: bool = True
    theme: str = "dark"


ALL = {
    "overview": Picture(scenes.busy_snapshot, (80, 24), ("j", "j", "j")),
    "overview-wide": Picture(scenes.busy_snapshot, (160, 38), ("G", "k", "k", "k", "k")),
    "day-one": Picture(scenes.day_one, (80, 24), theme="light"),
    "plan-review": Picture(scenes.snapshot, (100, 28), ("M",), locked=False),
    "jobs": Picture(scenes.busy_snapshot, (100, 24), ("J", "j", "j"), theme="colour-safe"),
    "in-flight": Picture(scenes.snapshot, (80, 20), ("i",)),
    "prune-review": Picture(aftermath.kept_everything, (100, 28), ("P", "6"), locked=False),
    "quarantine": Picture(aftermath.with_quarantine, (80, 20), ("Q",), locked=False),
    "recovery": Picture(aftermath.after_reboot, (100, 24), ("R",), locked=False),
    "space": Picture(disks.filling, (80, 24), ("s",)),
    "space-wide": Picture(disks.filling, (160, 45), ("s", "l", "l", "l", "j", "j", "l", "l"), theme="colour-safe"),
    "small": Picture(scenes.busy_snapshot, (40, 12)),
}


@pytest.mark.parametrize("name", ALL)
async def test_the_console_looks_like_its_pictures(name: str) -> None:
    picture = ALL[name]
    view_state = ViewState(theme=picture.theme)
    async with open_console(
        picture.scene(), picture.size, view_state=view_state, start_locked=picture.locked
    ) as console:
        console.engine.plans["mirror"] = scenes.mirror_plan()
        console.engine.plans["prune"] = aftermath.prune_plan()
        await console.press(*picture.keys)
        shown, drawn = console.text + "\n", console.app.export_screenshot()
    text, svg = TEXTS / f"{name}.txt", PICTURES / f"{name}.svg"
    if os.environ.get("CKPTDECK_UPDATE"):
        for path, content in ((text, shown), (svg, drawn)):
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    assert shown == text.read_text(encoding="utf-8")
    assert squeezed(shown) in squeezed(words_of(svg.read_text(encoding="utf-8")))


def words_of(svg: str) -> str:
    """The text of a picture in the order it is drawn."""
    return "".join(html.unescape(words) for words in re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)
