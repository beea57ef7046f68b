"""From a key to a submitted plan, and all that stands between."""

from __future__ import annotations

from typing import Any

from textual.events import MouseScrollDown

from ckptdeck.core.errors import VolumeSuspect
from ckptdeck.core.plans.plan import Plan, Refusal
from ckptdeck.tui.widgets.line_view import LineScroll
from tests.tui import scenes
from tests.tui.console import HandClock, open_console

STEP = scenes.name_of


async def test_locked_refuses_with_a_reason() -> None:
    async with open_console() as console:
        for key, label in {
            "m": "Mirror", "M": "Mirror all", "r": "Repair", "e": "Restore", "P": "Prune", "X": "Quarantine",
            "Z": "Roll back", "B": "Mark bad", "N": "Not bad",
        }.items():  # fmt: skip
            await console.press("j", key)
            assert f"LOCKED, look only: {label} would change files. Press U to unlock" in console.said
        assert console.engine.asked == []


async def test_unlocking_shows_and_locks_again() -> None:
    async with open_console() as console:
        await console.press("U")
        assert "UNLOCKED" in console.text
        await console.press("U", "m")
        assert "UNLOCKED" not in console.text
        assert console.engine.asked == []


async def test_every_action_is_reviewed_and_y_confirms() -> None:
    chosen = (STEP(2500),)
    cases: dict[str, tuple[Any, ...]] = {
        "m": ("mirror", chosen), "M": ("mirror", ()), "r": ("repair", chosen), "e": ("restore", chosen),
        "P": ("prune", ()), "X": ("quarantine", chosen), "B": ("mark-bad", chosen), "N": ("unmark-bad", chosen),
        "Z": ("rollback", (), {"step": "2500"}),
    }  # fmt: skip
    async with open_console(start_locked=False) as console:
        await console.press("j")
        for done, (key, asked) in enumerate(cases.items()):
            console.engine.plans[asked[0]] = scenes.mirror_plan()
            await console.press(key)
            assert console.engine.asked[-1] == asked
            assert console.at == "PlanReview"
            assert len(console.engine.submitted) == done
            await console.press("y")
            assert console.engine.submitted[done:] == [scenes.mirror_plan()]
            assert console.at == "Overview"


async def test_what_was_said_before_does_not_lie_over_the_choices() -> None:
    async with open_console() as console:
        await console.press("j", "m")
        assert "LOCKED, look only" in console.text
        await console.press("U", "m")
        assert console.at == "PlanReview"
        assert "Cancel    y Do it" in console.text
        assert console.said == ""


async def test_what_is_said_over_a_review_leaves_the_choices_seen() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("j", "m", "c")
        assert "Sent to the terminal's clipboard" in console.text
        assert "Cancel    y Do it" in console.text


async def test_the_choices_are_seen_on_the_smallest_terminal() -> None:
    async with open_console(size=(30, 8), start_locked=False) as console:
        await console.press("j", "m")
        assert console.at == "PlanReview"
        assert "Cancel" in console.text
        assert "y Do it" in console.text
        assert "copy" in console.text


async def test_nothing_but_y_confirms() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("j")
        await console.press("m", "m", "tab", "U", "Y")
        assert console.at == "PlanReview"
        for key in ("enter", "escape", "q", "n"):
            await console.press(key)
            assert console.at == "Overview", key
            await console.press("m")
        assert console.engine.submitted == []


async def test_the_review_shows_what_why_and_what_stays() -> None:
    async with open_console(start_locked=False) as console:
        console.engine.plans["mirror"] = scenes.mirror_plan()
        await console.press("M")
        for words in (
            "2 to do, 1 stopped, 3 stay", "needs 4.94G of 17.0G free on mirror", "verified on primary, absent on",
            "(live-writer)", "stays as it is", "ckptdeck mirror /data/ckpt /mnt/d/ckpt", "Cancel", "y Do it",
        ):  # fmt: skip
            assert words in console.text
        assert console.app.focused is not None
        assert console.app.focused.id == "cancel"
        await console.press("c")
        assert console.app.clipboard == "ckptdeck mirror /data/ckpt /mnt/d/ckpt"


async def test_keys_right_after_the_opening_are_not_for_the_review() -> None:
    clock = HandClock()
    async with open_console(start_locked=False, monotonic=clock) as console:
        clock.step = 0.0
        await console.press("j", "m", "y", "enter", "escape")
        assert console.at == "PlanReview"
        assert console.engine.submitted == []
        clock.seconds += 0.31
        await console.press("y")
        assert len(console.engine.submitted) == 1


async def test_a_long_plan_says_how_much_waits_below_and_scrolls() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("asterisk", "m")
        assert "more below" in console.text
        await console.press("G")
        assert "more below" not in console.text


async def test_the_wheel_too_tells_how_much_waits_below() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("asterisk", "m")
        assert "more below" in console.text
        text = console.app.screen.query_one("#text", LineScroll)
        while text.hidden_below:
            text.post_message(MouseScrollDown(text, 1, 1, 0, 0, 0, shift=False, meta=False, ctrl=False))
            await console.press()
        assert "more below" not in console.text


async def test_a_refused_plan_can_only_be_closed() -> None:
    refused = Plan("prune", scenes.mirror_plan().items, refused=Refusal("other-side", "The mirror cannot be read."))
    async with open_console(start_locked=False) as console:
        console.engine.plans["prune"] = refused
        await console.press("P")
        assert "REFUSED  The mirror cannot be read." in console.text
        assert "Do it" not in console.text
        await console.press("y")
        assert console.engine.submitted == []


async def test_an_error_of_the_engine_is_told_not_thrown() -> None:
    async with open_console(start_locked=False) as console:
        console.engine.refusal = VolumeSuspect("[/]x.pt cannot be read", next_step="Mount the mirror")
        await console.press("j", "m")
        assert "Mount the mirror." in console.said
        assert console.at == "Overview"


async def test_one_key_held_down_opens_one_review() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("m", "m", "m")
        assert len(console.app.screen_stack) == 2


async def test_day_one_is_one_key_that_works_while_locked_and_unlocks() -> None:
    async with open_console(scenes.day_one()) as console:
        assert "LOCKED" in console.text
        assert "A plans to record and mirror 46 checkpoints, 114G" in console.text
        assert "RESUME 2300?" in console.text
        await console.press("A")
        assert console.engine.asked == [("start", ())]
        await console.press("escape")
        assert "UNLOCKED" not in console.text
        console.engine.plans["start"] = scenes.mirror_plan()
        await console.press("A", "y")
        assert len(console.engine.submitted) == 1
        assert "UNLOCKED" in console.text


async def test_the_action_is_meant_for_the_row_under_the_cursor_when_the_key_was_pressed() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("j", "j", "m")
        await console.update(survey=scenes.survey(row for row in scenes.survey().steps if row.step != 2450))
        await console.press("y")
        assert console.engine.submitted[0].names == (STEP(2450),)


async def test_read_only_has_no_actions_at_all() -> None:
    async with open_console(scenes.day_one(), read_only=True) as console:
        assert "READ-ONLY" in console.text
        for label in ("Mirror", "Adopt", "Prune", "Quarantine", "Unlock"):
            assert label not in console.text.splitlines()[-1]
        await console.press(*"mMAreUPXZBN", "R", *"RmXe", "escape", "Q", *"bPE", "escape", "question_mark")
        assert console.engine.asked == []
        assert "Copy the chosen" not in console.text
        for label in ("Mirror", "Adopt", "Prune", "Unlock", "Recover", "Purge all"):
            assert f"READ-ONLY: there is no {label} here." in console.said
        assert "Verify here" not in console.said
        await console.press("escape", "V")
        assert console.engine.asked[0][0] == "verify"


async def test_the_palette_finds_actions_of_the_registry() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("j", "colon", *"all")
        await console.app.workers.wait_for_complete()
        await console.settle()
        assert "Mirror all  (M)" in console.text
        await console.press("enter", "enter")
        assert console.engine.asked == [("mirror", ())]


async def test_looking_again_is_a_key() -> None:
    async with open_console() as console:
        await console.press("f5")
        assert console.engine.asked == [("rescan",)]
