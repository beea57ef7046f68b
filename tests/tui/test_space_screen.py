"""The Space screen under a person's hands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.plans.prune import Wish, plan_prune
from ckptdeck.core.states import Role
from tests.tui import disks, scenes
from tests.tui.console import Console, open_console


def knob(console: Console, name: str) -> str:
    return next(line for line in console.text.splitlines() if name in line and line[2:].startswith(name))


async def test_s_opens_it_and_q_goes_back() -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s")
        assert console.at == "SpaceScreen"
        for words in ("5 more saves fit on the mirror", "A as things are", "/data/ckpt", "/mnt/d/ckpt", "keep last"):
            assert words in console.text
        await console.press("q")
        assert console.at == "Overview"


async def test_knobs_are_chosen_turned_and_reset() -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s", "l", "right", "plus")
        assert "  15 " in knob(console, "keep last")
        assert "keep 15" in console.text
        assert " WHAT IF " in console.text
        await console.press("j", "h", "left", "minus")
        assert knob(console, "save every").startswith("▸ save every 2m00s")
        await console.press("down", "l")
        assert "2.50G" in knob(console, "one save")
        await console.press("k", "up", "h")
        assert "  14 " in knob(console, "keep last")
        await console.press("0")
        assert "WHAT IF" not in console.text
        assert "  12 " in knob(console, "keep last")


async def test_assumptions_stand_while_the_picture_goes_on_and_the_figures_follow() -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s", "l")
        fuller = replace(disks.filling_survey(), taken_at=scenes.NOW + 60)
        mirror = fuller.mirror
        assert mirror is not None
        assert mirror.inventory.volume is not None
        tight = replace(mirror.inventory, volume=replace(mirror.inventory.volume, free=4_000_000_000))
        await console.update(survey=replace(fuller, mirror=replace(mirror, inventory=tight)))
        assert "keep 13" in console.text
        assert "The next save does not fit on the mirror" in console.text


async def test_prune_is_planned_for_the_retention_that_is_shown() -> None:
    snapshot = disks.filling()
    assert snapshot.survey is not None
    async with open_console(snapshot, start_locked=False) as console:
        console.engine.plans["prune"] = plan_prune(snapshot.survey, Wish(keep_last=10))
        await console.press("s", "P", "escape")
        assert console.engine.asked == [("prune", ())]
        await console.press("h", "h", "P")
        assert console.engine.asked[1:] == [("prune", (), {"keep-last": "10"})]
        assert "frees" in console.text
        await console.press("escape")
        assert console.at == "SpaceScreen"


async def test_locked_only_looks() -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s", "P")
        assert console.engine.asked == []
        assert "LOCKED, look only" in console.said
    async with open_console(disks.filling(), read_only=True) as console:
        await console.press("s", "P", "l")
        assert console.engine.asked == []
        assert "Prune" not in console.text.splitlines()[-1]
        assert "keep 13" in console.text


async def test_the_basis_takes_the_room_of_the_pictures() -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s")
        assert "nothing else grows there" not in console.text
        await console.press("b")
        assert "nothing else grows there" in console.text
        assert "│" not in console.text.rpartition("\n")[0]
        await console.press("b")
        assert "│" in console.text


async def test_long_notes_scroll() -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s", "pagedown", "pagedown")
        assert "`ckptdeck prune`" not in console.text
        assert "largest of the last 5" in console.text
        await console.press("pageup", "pageup")
        assert "`ckptdeck prune`" in console.text


@pytest.mark.parametrize(
    ("size", "pictures"),
    [
        ((160, 45), 2),
        ((100, 30), 2),
        ((80, 24), 2),
        ((72, 20), 2),
        ((60, 24), 1),
        ((40, 24), 1),
        ((40, 12), 0),
        ((30, 8), 0),
    ],
)
async def test_every_size_answers(size: tuple[int, int], pictures: int) -> None:
    async with open_console(disks.filling()) as console:
        await console.press("s")
        await console.resize(*size)
        await console.settle()
        lines = console.text.splitlines()
        assert len(lines) == size[1]
        assert "5 more saves fit on the" in console.text
        assert any(line.startswith(" mirror  5") for line in lines)
        assert "q Back" in lines[-1]
        axes = [line for line in lines if "└" in line]
        assert sum(line.count("└") for line in axes) == pictures
        assert ("keep last" in console.text) is (size[1] > 10)


async def test_one_picture_is_that_of_the_volume_that_is_full_first() -> None:
    async with open_console(disks.filling(), (60, 24)) as console:
        await console.press("s")
        assert "mirror /mnt/d/ckpt" in console.text
        assert "primary /data/ckpt" not in console.text


async def test_without_colour_and_without_unicode_the_lines_still_differ() -> None:
    async with open_console(disks.filling(), ascii=True, no_colour=True) as console:
        await console.press("s")
        assert console.text.isascii()
        lines = console.text.splitlines()
        assert any("A as things are   P prune now   K keep 12" in line for line in lines)
        for letter in "APK":
            assert any(letter in line[7:] for line in lines[6:14])
        assert "?" not in "".join(lines[6:16]), "every glyph has its twin"


async def test_a_first_look_a_lost_mirror_and_one_device() -> None:
    async with open_console(scenes.first_look()) as console:
        await console.press("s", "l", "j", "0", "b", "pagedown")
        assert "scanning …" in console.text
        await console.update(survey=disks.filling_survey(), samples=disks.filling_samples())
        await console.press("b")
        assert "│" in console.text
        gone = scenes.mirror_gone().survey
        await console.update(survey=gone)
        assert "mirror  NOT MOUNTED" in console.text
        assert console.text.count("└") == 1
        await console.update(survey=replace(disks.filling_survey(), shared_device=True))
        assert "on both sides together" in console.text
        assert console.text.count("└") == 1


async def test_hostile_paths_are_shown_escaped() -> None:
    survey = disks.filling_survey()
    hostile = replace(survey.primary.inventory, root="/data/\x1b]0;owned\x07[red]x")
    async with open_console(
        scenes.snapshot(survey=replace(survey, primary=replace(survey.primary, inventory=hostile)))
    ) as console:
        await console.press("s")
        assert "\\e]0;owned" in console.text
        assert all(char.isprintable() for line in console.text.splitlines() for char in line)


async def test_the_overview_s_full_in_is_the_projection_that_knows_of_others() -> None:
    """The engine hands over a survey whose projections were foreseen (core/outlook.py); the header shows those."""
    from ckptdeck.core.outlook import foresee
    from ckptdeck.core.survey import Projection

    survey = disks.filling_survey()
    blind = {role: Projection(scenes.WHOLE, 660.0, 99, scenes.NOW + 99 * 660, "") for role in Role}
    survey = foresee(replace(survey, space=blind), disks.filling_samples())
    async with open_console(scenes.snapshot(survey=survey)) as console:
        lines = console.text.splitlines()
        assert any("primary" in line and "full in 9h 6m" in line for line in lines)
        assert any("mirror" in line and "full in 18h 9m" in line for line in lines), "nobody else grows there"
