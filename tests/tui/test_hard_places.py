"""Names that want to do harm, a disk that is gone, a side that hangs, hardly any room, no glyphs: as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ckptdeck.core.states import Condition, Role, Verdict
from ckptdeck.monitor.snapshot import SideActivity, Snapshot
from tests.tui import scenes
from tests.tui.console import open_console
from tests.tui.run_in_trouble import in_trouble
from tests.tui.test_screenshots import TEXTS, UPDATE


def primary_gone() -> Snapshot:
    """Nothing of the primary can be seen; the mirror lists what it has."""
    seen = scenes.survey()
    why = "/data is an empty directory, and /etc/fstab mounts a disk there. Mount it; it is looked at again by itself."
    away = scenes.judged_side(Role.PRIMARY, (), None, condition=Condition.NOT_MOUNTED, why=why)
    survey = replace(seen, primary=away, mirror=None, steps=(), resume=None, space={})
    return scenes.snapshot(survey=survey, trouble=("primary /data/ckpt is not mounted",), log=())


def mirror_hangs() -> Snapshot:
    """After it was seen: what it said then is shown, and nothing follows from it."""
    seen = scenes.survey()
    assert seen.mirror is not None
    why = "The mirror's file system does not answer; what is shown is what it last said"
    inventory = replace(seen.mirror.inventory, condition=Condition.UNREADABLE, why=why)
    survey = replace(
        seen,
        mirror=replace(seen.mirror, inventory=inventory),
        steps=tuple(replace(row, verdict=Verdict.UNKNOWN, reason=f"mirror: {why}") for row in seen.steps),
        space={Role.PRIMARY: seen.space[Role.PRIMARY]},
    )
    activity = {Role.PRIMARY: SideActivity(), Role.MIRROR: SideActivity(scanning=True, silent_since=scenes.NOW - 40)}
    return scenes.snapshot(survey=survey, activity=activity)


PLACES: dict[str, tuple[Callable[[], Snapshot], tuple[int, int], tuple[str, ...], dict[str, Any]]] = {
    "hostile-names": (scenes.hostile, (80, 24), ("j", "j"), {}),
    "hostile-detail": (scenes.hostile, (80, 24), ("j", "j", "j", "j", "z"), {}),
    "hostile-ascii": (scenes.hostile, (80, 24), ("j", "j"), {"ascii": True}),
    "mirror-gone": (scenes.mirror_gone, (80, 24), (), {}),
    "mirror-hangs": (mirror_hangs, (80, 24), (), {}),
    "primary-gone": (primary_gone, (80, 24), (), {}),
    "tiny": (in_trouble, (30, 8), (), {}),
    "tiny-recovery": (in_trouble, (30, 8), ("R",), {}),
    "tiny-detail": (in_trouble, (30, 8), ("z",), {}),
    "read-only": (in_trouble, (80, 24), (), {"read_only": True}),
}


@pytest.mark.parametrize("name", PLACES)
async def test_it_reads_well_in_hard_places(name: str) -> None:
    scene, size, keys, options = PLACES[name]
    async with open_console(scene(), size, **options) as console:
        await console.press(*keys)
        shown = console.text + "\n"
    assert all(character.isprintable() or character == "\n" for character in shown)
    text = TEXTS / f"{name}.txt"
    if UPDATE:
        text.write_text(shown, encoding="utf-8")
    assert shown == text.read_text(encoding="utf-8")
