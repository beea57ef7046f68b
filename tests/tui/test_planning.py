"""A plan that takes long: the screen lives on, and what nobody waits for any more never opens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ckptdeck.core.errors import VolumeSuspect
from tests.tui import scenes
from tests.tui.console import Console, open_console


@asynccontextmanager
async def planning(key: str) -> AsyncIterator[Console]:
    """The console in the moment after `key`, while its plan is thought over."""
    async with open_console(start_locked=False) as console:
        console.engine.thinking = True
        await console.press("j", key)
        yield console


async def answer(console: Console) -> None:
    console.engine.answer()
    await console.settle()
    await console.update()


async def test_the_screen_lives_on_and_says_what_is_planned() -> None:
    async with planning("P") as console:
        await console.update()
        assert "planning Prune …" in console.text.splitlines()[-1]
        before = console.text
        await console.press("j")
        assert console.text != before
        assert console.at == "Overview"
        await answer(console)
        assert console.at == "PlanReview"
        await console.press("n")
        assert "planning" not in console.text


async def test_escape_gives_up_and_takes_nothing_else_with_it() -> None:
    async with planning("P") as console:
        await console.press("space", "escape")
        assert "planning" not in console.text
        assert console.app._overview.targets == (scenes.name_of(2500),)
        await answer(console)
        assert console.at == "Overview"


async def test_of_two_wishes_the_later_one_is_reviewed() -> None:
    async with planning("P") as console:
        await console.press("m")
        await answer(console)
        assert console.at == "PlanReview"
        await console.press("y")
        assert [plan.action for plan in console.engine.submitted] == ["mirror"]
        assert console.at == "Overview"


async def test_the_same_key_twice_asks_once() -> None:
    async with planning("P") as console:
        await console.press("P", "P")
        await answer(console)
        assert console.engine.asked == [("prune", ())]
        assert len(console.app.screen_stack) == 2


@pytest.mark.parametrize(("key", "at"), [("s", "SpaceScreen"), ("slash", "Overview"), ("question_mark", "HelpScreen")])
async def test_who_went_on_to_something_else_is_not_pulled_back(key: str, at: str) -> None:
    async with planning("P") as console:
        await console.press(key)
        await answer(console)
        assert console.at == at


async def test_a_refusal_that_comes_late_is_told() -> None:
    async with planning("P") as console:
        console.engine.refusal = VolumeSuspect("The mirror cannot be read", next_step="Mount it")
        await answer(console)
        assert "Mount it." in console.said
        assert console.at == "Overview"


async def test_quitting_does_not_wait_for_a_plan() -> None:
    async with planning("P") as console:
        await console.press("q")
        assert console.engine.stopped


async def test_the_space_screen_opens_at_once_and_follows_the_knobs_as_it_can() -> None:
    async with open_console(size=(120, 40)) as console:
        console.engine.thinking = True
        await console.press("s")
        assert console.at == "SpaceScreen"
        assert "working it out" in console.text
        await answer(console)
        assert "working it out" not in console.text
        figures = console.text
        await console.press("l")
        assert "working it out" in console.text
        await answer(console)
        assert "WHAT IF" in console.text
        await console.press("0")
        await answer(console)
        assert console.text == figures


async def test_why_a_copy_stays_comes_when_it_is_known() -> None:
    async with open_console(size=(160, 40)) as console:
        console.engine.thinking = True
        await console.update(survey=scenes.survey())
        await console.press("j")
        console.engine.thinking = False
        await answer(console)
        assert "stays: " in console.text
