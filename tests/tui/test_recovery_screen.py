"""After a crash: the answer first, when the screen opens by itself, and the key for each thing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.plans.mend import plan_mend
from ckptdeck.core.plans.plan import ItemResult, Outcome
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.progress import Progress
from ckptdeck.core.sighting import Removing
from ckptdeck.core.states import FlightState, Role, State
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.snapshot import JobState, Snapshot
from ckptdeck.tui.view_model.glyphs import CURSOR
from ckptdeck.tui.view_model.interruption import SURE_AFTER, InterruptionWatch
from ckptdeck.tui.view_model.recovery import recovery_lead, remedy_of
from ckptdeck.tui.view_model.view import Lock, View, look
from tests.tui import aftermath, scenes
from tests.tui.aftermath import changed
from tests.tui.console import open_console

STEP = scenes.name_of


def survey_of(snapshot: Snapshot) -> Survey:
    assert snapshot.survey is not None
    return snapshot.survey


async def test_what_stays_undone_is_said_where_it_was_asked_for() -> None:
    snapshot = aftermath.after_reboot()
    locked = "/data/ckpt is locked by process 4711 on node07. Try again in a moment; the lock goes with its process"
    async with open_console(snapshot, start_locked=False) as console:
        plan = console.engine.plans["mend"] = plan_mend(survey_of(snapshot))
        await console.press("R", "R", "y")
        assert console.engine.submitted == [plan]
        results = tuple(ItemResult(item, Outcome.SKIPPED, locked, 5, "lock-held") for item in plan.acting)
        job = scenes.mirror_job(id=1, title="mend 5 items", state=JobState.DONE, results=results)
        await console.update(jobs=(job, scenes.mirror_job(id=7, state=JobState.FAILED, error="not ours")))
        assert console.said == f"mend 5 items: not done. {locked}"
        assert console.at == "RecoveryScreen"
        await console.update(jobs=(job,))
        assert console.said.count("locked") == 1


@pytest.mark.parametrize("row", ["home", "end"])
async def test_what_is_said_covers_neither_the_resume_point_nor_the_row_under_the_cursor(row: str) -> None:
    async with open_console() as console:
        await console.press(row)
        console.app.say("A word about something that takes some time to read. " * 6)
        await console.settle()
        lines = console.text.splitlines()
        assert lines[1].startswith(" RESUME 2500")
        assert sum(" word" in line or "time to" in line for line in lines) >= 3
        assert any(line.startswith(CURSOR) for line in lines)


async def test_what_was_said_about_the_lock_goes_with_it() -> None:
    async with open_console() as console:
        await console.press("m")
        assert "LOCKED" in console.said
        await console.press("U")
        assert console.said == ""


async def test_the_answer_comes_first_then_the_steps_then_what_stays() -> None:
    async with open_console(aftermath.after_reboot()) as console:
        await console.press("R")
        text = console.text
        places = [
            text.index(words)
            for words in (
                "RESUME 2500  whole on both sides, verified 3m ago",
                "c  python train.py --resume /data/ckpt/step_2500.pt",
                "finishes step 2550",
                "then repairs 1, copies 2 checkpoints to the mirror",
                "5 steps to take: R reviews them, y takes them",
                "1. finish     step_2550.pt",
                "2. finish     step_1200.pt",
                "3. repair     step_1750.pt",
                "4. copy       step_2450.pt",
                "5. copy       step_1700.pt",
            )
        ]
        assert places == sorted(places)
        assert "complete, and only its name is missing" in text
        assert "no step is" in text


def test_where_to_resume_is_said_once() -> None:
    plan = plan_recover(survey_of(aftermath.after_reboot()))
    assert plan.answer.endswith(f"; {plan.consequence}")
    plan = replace(plan, consequence="no step is lost")
    lines = recovery_lead(plan, look(aftermath.after_reboot(), scenes.NOW, None, Lock.LOCKED), 80, 8)
    words = ["".join(piece.text for piece in one).strip() for one in lines]
    assert "No step is lost" in words
    assert not any("proves it first" in one for one in words)


async def test_every_thing_has_its_key() -> None:
    async with open_console(aftermath.after_reboot(), start_locked=False) as console:
        await console.press("R")
        for name, key, label, asked in (
            (STEP(2550), "R", "Recover", ("mend", ())),
            (STEP(1200), "R", "Recover", ("mend", ())),
            (STEP(1750), "R", "Recover", ("mend", ())),
        ):
            assert f" {name} on " in console.text
            assert f" {key}  {label}: shown for review first" in console.text
            await console.press(key)
            assert console.engine.asked[-1] == asked
            assert console.at == "PlanReview"
            await console.press("escape", "j")
        await console.press("G")
        for key, action in (("m", "mirror"), ("r", "repair"), ("A", "adopt")):
            await console.press(key)
            assert console.engine.asked[-1] == (action, (STEP(1700),))
            await console.press("escape")
        await console.press("V", "c")
        assert console.engine.asked[-1] == ("verify", (STEP(1700),))
        assert console.app.clipboard == "python train.py --resume /data/ckpt/step_2500.pt"


async def test_what_another_program_left_can_be_set_aside() -> None:
    strange = scenes.part(2550, 10, state=FlightState.STALE, ours=False, writer=None)
    survey = changed(scenes.survey(), Role.PRIMARY, in_flight=(strange,))
    async with open_console(scenes.snapshot(survey=survey), start_locked=False) as console:
        await console.press("R", "G")
        assert "was left by another program" in console.text
        assert " X  Quarantine: shown for review first" in console.text
        await console.press("X")
        assert console.engine.asked == [("quarantine", (strange.name,))]


async def test_r_reviews_the_plan_and_y_does_it() -> None:
    snapshot = aftermath.after_reboot()
    plan = plan_mend(survey_of(snapshot))
    async with open_console(snapshot, start_locked=False) as console:
        console.engine.plans["mend"] = plan
        await console.press("R", "R")
        assert "resume from step 2500" in console.text
        await console.press("y")
        assert console.engine.submitted == [plan]
        await console.update(survey=scenes.survey())
        assert "step_1200.pt" not in console.text
        await console.press("R")
        assert console.at == "PlanReview", "the rest is still to be copied"


async def test_locked_only_the_reviewed_whole_can_be_done() -> None:
    snapshot = aftermath.after_reboot()
    async with open_console(snapshot) as console:
        console.engine.plans["mend"] = plan_mend(survey_of(snapshot))
        await console.press("R", *"mreX")
        assert console.engine.asked == []
        assert "LOCKED, look only: Mirror would change files" in console.said
        await console.press("R", "y")
        assert [plan.action for plan in console.engine.submitted] == ["mend"]
        assert "UNLOCKED" in console.text


async def test_the_plan_is_thought_over_beside_the_loop() -> None:
    async with open_console(aftermath.after_reboot()) as console:
        console.engine.thinking = True
        await console.press("R")
        assert " planning …" in console.text
        console.engine.answer()
        await console.settle()
        assert "5 steps to take" in console.text


async def test_it_opens_by_itself_once() -> None:
    async with open_console(scenes.first_look()) as console:
        await console.update(survey=survey_of(aftermath.after_reboot()))
        assert console.at == "RecoveryScreen"
        await console.press("escape")
        await console.update(survey=survey_of(aftermath.after_reboot()))
        assert console.at == "Overview"


async def test_it_does_not_open_again_for_somebody_who_has_seen_it() -> None:
    async with open_console(scenes.first_look()) as console:
        await console.press("R")
        assert "scanning" in console.text
        await console.press("q")
        await console.update(survey=survey_of(aftermath.after_reboot()))
        assert console.at == "Overview"


@pytest.mark.parametrize(("keys", "at"), [(("question_mark",), "HelpScreen"), (("J",), "JobsScreen"), (("slash",), "")])
async def test_it_waits_until_nobody_is_in_the_middle_of_something(keys: tuple[str, ...], at: str) -> None:
    async with open_console(scenes.first_look()) as console:
        await console.press(*keys)
        await console.update(survey=survey_of(aftermath.after_reboot()))
        assert console.at == (at or "Overview")
        await console.press("escape")
        await console.update()
        assert console.at == "RecoveryScreen"


async def test_it_stays_away_when_read_only_and_when_all_is_well() -> None:
    async with open_console(scenes.first_look(), read_only=True) as console:
        await console.update(survey=survey_of(aftermath.after_reboot()))
        assert console.at == "Overview"
    async with open_console(scenes.first_look()) as console:
        await console.update(survey=scenes.survey())
        assert console.at == "Overview"
        await console.press("R")
        assert "3 steps to take" in console.text


async def test_every_size_keeps_the_answer_the_steps_and_the_way_out() -> None:
    async with open_console(aftermath.after_reboot()) as console:
        await console.press("R")
        for width, height in ((160, 45), (80, 24), (40, 12), (30, 8)):
            await console.resize(width, height)
            assert len(console.text.splitlines()) == height
            for words in ("RESUME 2500", "finish     step_2", "q Back", "? Help"):
                assert words in console.text, (width, words)


def view_of(survey: Survey, *, after: float = 0.0, **changes: object) -> View:
    return look(scenes.snapshot(survey=survey, **changes), scenes.NOW + after, None, Lock.LOCKED)


def test_a_live_writer_and_a_strangers_leftover_open_nothing() -> None:
    assert not InterruptionWatch().due(view_of(scenes.survey()))
    strange = scenes.part(2550, 10, state=FlightState.STALE, ours=False, writer=None)
    assert not InterruptionWatch().due(view_of(changed(scenes.survey(), Role.PRIMARY, in_flight=(strange,))))
    assert InterruptionWatch().due(view_of(survey_of(aftermath.after_reboot())))


def test_what_the_operator_stopped_opens_nothing() -> None:
    left = changed(scenes.survey(), Role.MIRROR, in_flight=(aftermath.stale_part(),))
    assert InterruptionWatch().due(view_of(left))
    stopped = scenes.mirror_job(state=JobState.CANCELLED)
    assert stopped.progress is not None
    assert not InterruptionWatch().due(view_of(left, jobs=(stopped,)))
    another = replace(stopped, progress=Progress("copy", STEP(2000), "mirror", 1, 2))
    assert InterruptionWatch().due(view_of(left, jobs=(another,)))
    assert not InterruptionWatch().due(view_of(left, jobs=(replace(another, state=JobState.RUNNING),)))


def test_bookkeeping_must_look_unfinished_twice_and_for_a_while() -> None:
    """Another process that prunes passes through the same state."""
    gone = Removing("20260302T140000000000Z-1200aaaa", STEP(1200))
    pruning = changed(scenes.survey(), Role.MIRROR, removing=(gone,))
    watch = InterruptionWatch()
    assert not watch.due(view_of(pruning))
    assert not watch.due(view_of(pruning, after=SURE_AFTER + 1)), "it was not looked at again"
    assert watch.due(view_of(replace(pruning), after=SURE_AFTER + 1))
    calmed = InterruptionWatch()
    assert not calmed.due(view_of(pruning))
    assert not calmed.due(view_of(scenes.survey(), after=2))
    assert not calmed.due(view_of(pruning, after=SURE_AFTER + 1))
    announced = changed(scenes.survey(), Role.PRIMARY, orphan_next=(STEP(2600),))
    assert not InterruptionWatch().due(view_of(announced))


def test_what_is_missing_and_whole_on_the_mirror_can_be_restored() -> None:
    rows = [
        scenes.step_row(
            scenes.checkpoint(STEP(2500), State.MISSING, step=2500, size=None, reason="gone"),
            scenes.verified(2500, 60, 60),
            row.verdict,
            "",
        )
        for row in scenes.survey().steps[:1]
    ]
    survey = scenes.survey(rows)
    (item,) = [item for item in plan_recover(survey).items if item.name == STEP(2500)]
    action = remedy_of(item, survey)
    assert action is not None
    assert (action.id, action.shown) == ("restore", "e")
    assert remedy_of(replace(item, side=Role.MIRROR, reason="it is quiet"), survey) is None
