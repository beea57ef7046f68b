"""What must be typed before the confirm key works, and that nothing else gets past it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.states import Role
from ckptdeck.tui.key_map import AS_BUILT
from ckptdeck.tui.view_model.demand import demand_line, demand_of
from ckptdeck.tui.view_model.line import text_of, width_of
from tests.tui import aftermath
from tests.tui.console import HandClock, open_console


async def test_a_large_prune_wants_its_count_and_hands_it_over() -> None:
    async with open_console(aftermath.kept_everything(), start_locked=False) as console:
        plan = console.engine.plans["prune"] = aftermath.prune_plan()
        await console.press("P")
        assert "Type 68 (68 copies deleted for good), then y:  _" in console.text
        await console.press("y", "Y", "P", "enter")
        assert console.at == "Overview", "Enter pressed Cancel"
        await console.press("P", "y", "6", "y", "9", "y")
        assert console.at == "PlanReview"
        assert "69_" in console.text
        await console.press("backspace", "8")
        assert "✓ 68  68 copies deleted for good: y confirms" in console.text
        assert console.engine.submitted == []
        await console.press("y")
        assert console.engine.submitted == [plan]
        assert console.engine.confirmed == [68]


async def test_a_number_that_goes_on_is_another_number() -> None:
    async with open_console(aftermath.kept_everything(), start_locked=False) as console:
        console.engine.plans["prune"] = aftermath.prune_plan()
        await console.press("P", "6", "8", "8", "8", "y")
        assert console.engine.submitted == []
        await console.press("delete", "y")
        assert console.engine.confirmed == [68]


async def test_what_is_typed_in_the_first_moment_is_not_for_the_review() -> None:
    clock = HandClock()
    async with open_console(aftermath.kept_everything(), start_locked=False, monotonic=clock) as console:
        console.engine.plans["prune"] = aftermath.prune_plan()
        clock.step = 0.0
        await console.press("P", "6", "8", "y")
        clock.seconds += 0.31
        await console.press("y")
        assert console.engine.submitted == []
        await console.press("6", "8", "y")
        assert console.engine.confirmed == [68]


async def test_the_other_keys_keep_their_meaning_while_a_number_is_wanted() -> None:
    async with open_console(aftermath.kept_everything(), start_locked=False) as console:
        console.engine.plans["prune"] = aftermath.prune_plan()
        await console.press("P", "6", "c", "G")
        assert console.app.clipboard == "ckptdeck prune /data/ckpt /mnt/d/ckpt"
        assert "more below" not in console.text
        assert "6_" in console.text
        await console.press("n")
        assert console.at == "Overview"


async def test_the_choices_and_the_number_are_seen_on_small_terminals() -> None:
    for size in ((40, 12), (30, 8)):
        async with open_console(aftermath.kept_everything(), size, start_locked=False) as console:
            console.engine.plans["prune"] = aftermath.prune_plan()
            await console.press("P", "6")
            for words in ("Type 68, then y:  6_", "Cancel", "y Do it"):
                assert words in console.text
            await console.press("8", "y")
            assert console.engine.confirmed == [68]


async def test_going_back_to_a_step_wants_the_step() -> None:
    items = (PlanItem("step_2500.pt", Role.PRIMARY, Act.RETIRE, "newer", 1, 2500),)
    async with open_console(start_locked=False) as console:
        console.engine.plans["rollback"] = Plan("rollback", items, options={"step": "2450"})
        await console.press("j", "j", "Z")
        assert console.engine.asked == [("rollback", (), {"step": "2450"})]
        assert "Roll back to step 2450" in console.text
        await console.press("y")
        assert console.engine.submitted == []
        await console.press(*"2450", "y")
        assert console.engine.confirmed == [None]


async def test_a_name_without_a_step_is_nothing_to_go_back_to() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("G", "Z")
        assert console.engine.asked == []
        assert "a name without a step is none" in console.said


def test_only_what_cannot_be_taken_back_wants_a_number() -> None:
    item = PlanItem("a.pt", Role.MIRROR, Act.DELETE, "")
    assert demand_of(Plan("prune", (item,))) is None
    assert demand_of(Plan("mark-bad", (item,))) is None
    assert demand_of(Plan("purge", ())) is None
    purge = demand_of(Plan("purge", (item, item)))
    assert purge is not None
    assert (purge.number, purge.what) == ("2", "2 artifacts purged for good")


@pytest.mark.parametrize("typed", ["", "6", "68", "7"])
def test_the_prompt_fits_and_names_the_key(typed: str) -> None:
    demand = demand_of(aftermath.prune_plan())
    assert demand is not None
    for width in (26, 40, 80):
        prompt = demand_line(demand, typed, width, missed=False, keys=AS_BUILT)
        assert width_of(prompt) <= width
        assert "y" in text_of(prompt)
        assert typed in text_of(prompt)


async def test_where_blocks_may_be_shared_the_review_says_up_to() -> None:
    plan = replace(aftermath.prune_plan(), at_most=True)
    for shown, words in ((plan, "frees up to 168G"), (replace(plan, at_most=False), "frees 168G")):
        async with open_console(aftermath.kept_everything(), (100, 28), start_locked=False) as console:
            console.engine.plans["prune"] = shown
            await console.press("P")
            assert words in console.text
