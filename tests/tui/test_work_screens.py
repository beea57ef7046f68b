from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.states import Verdict
from ckptdeck.monitor.snapshot import JobState
from ckptdeck.tui.actions import BY_ID, Place
from ckptdeck.tui.key_map import AS_BUILT
from ckptdeck.tui.key_words import with_keys
from ckptdeck.tui.view_model.glyphs import FLIGHTS, STATES, VERDICTS
from ckptdeck.tui.view_model.keys import help_lines
from ckptdeck.tui.view_model.line import text_of
from ckptdeck.tui.view_model.view import Lock, flights
from ckptdeck.tui.view_model.work import flight_head, flight_line, job_line
from tests.tui import scenes
from tests.tui.console import HandClock, open_console


async def test_the_strip_shows_the_job_and_the_row_what_is_done_to_it() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        assert "▸ copying 60%" in console.text
        strip = console.text.splitlines()[-2]
        assert "mirror step_2450.pt" in strip
        assert "60% 240M/s 4s  +1 more" in strip
        await console.update(jobs=())
        assert "14:31:58 mirror step_2450.pt  started" in console.text.splitlines()[-2]


async def test_jobs_tell_how_they_stand_and_what_to_do() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("J")
        for words in ("▸ running", "· queued", "✗ FAILED", "1 done, 1 failed in 41s", "on quit"):
            assert words in console.text
        await console.press("j", "j")
        assert "Its disk may be dying. Look at" in console.text
        await console.press("c")
        assert console.app.clipboard == "ckptdeck mirror /data/ckpt /mnt/d/ckpt"
        await console.press("q")
        assert console.at == "Overview"


async def test_jobs_pause_go_on_and_cancel() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("J", "p", "x")
        await console.update(jobs=(scenes.mirror_job(state=JobState.PAUSED),))
        await console.press("p")
        assert console.engine.asked == [("pause", 7), ("cancel", 7), ("resume", 7)]
        await console.update(jobs=(scenes.mirror_job(state=JobState.CANCELLING),))
        assert "! cancelling" in console.text
        assert "stops at the next safe point" in console.text
        await console.update(jobs=(scenes.mirror_job(state=JobState.CANCELLED),))
        await console.press("x")
        assert "This job is over" in console.said


async def test_no_job_and_nothing_in_flight_say_so() -> None:
    async with open_console(scenes.first_look()) as console:
        await console.press("J")
        assert "No job has run yet." in console.text
        await console.press("x", "p", "c", "escape", "i")
        assert "Nothing is in flight." in console.text


async def test_in_flight_shows_how_far_how_fast_and_who() -> None:
    async with open_console() as console:
        await console.press("i")
        for words in ("live", "step_2550.pt", "1.75/2.47G", "410M/s", "writer python3 (pid 48213)"):
            assert words in console.text
        await console.press("J")
        assert console.at == "JobsScreen"
        assert len(console.app.screen_stack) == 2


def test_the_longest_state_stands_apart_from_what_follows() -> None:
    (role, flight), *_ = flights(scenes.survey())
    for width in (80, 150):
        row = text_of(flight_line(role, replace(flight, final_name=True), width, cursor=False))
        assert row.startswith(f"   unsafe-write  {role}")
        assert text_of(flight_head(width)).index("side") == row.index(role)
    job = text_of(job_line(scenes.mirror_job(state=JobState.CANCELLING), 80, cursor=False))
    assert "! cancelling  mirror" in job


async def test_help_is_made_for_the_screen_one_is_on() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("J", "question_mark")
        assert "Pause the job under the cursor" in console.text
        await console.press("G")
        assert "OSC 52" in console.text
        await console.press("question_mark")
        assert console.at == "JobsScreen"


def test_help_explains_every_state_and_every_verdict_with_the_keys_that_there_are() -> None:
    said = [text_of(row).strip() for row in help_lines(Place.OVERVIEW, Lock.UNLOCKED, 120, AS_BUILT)]
    for mark in (*STATES.values(), *FLIGHTS.values(), *VERDICTS.values()):
        meaning = with_keys(mark.meaning, AS_BUILT, Place.OVERVIEW)
        assert any(mark.word in row and row.endswith(meaning) for row in said), mark
    by_verdict = {
        Verdict.MIRROR_ME: "mirror", Verdict.MIRROR_ONLY: "restore", Verdict.REPAIR: "repair", Verdict.ADOPT: "adopt",
    }  # fmt: skip
    for verdict, action in by_verdict.items():
        assert f": {BY_ID[action].shown} " in with_keys(VERDICTS[verdict].meaning, AS_BUILT, Place.OVERVIEW)


async def test_quitting_without_jobs_ends_at_once_and_stops_the_engine() -> None:
    async with open_console() as console:
        await console.press("q")
        assert console.engine.stopped == [1.0]
        assert console.app.return_code == 0


async def test_quitting_with_jobs_says_which_and_what_becomes_of_them() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("q")
        assert console.at == "QuitGuard"
        assert "2 jobs not finished" in console.text
        assert "continues at the next start" in console.text
        await console.press("enter")
        assert console.at == "Overview"
        assert console.engine.stopped == []
        await console.press("q", "y")
        assert console.engine.stopped == [1.0]


async def test_the_question_goes_when_the_jobs_have_ended() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("q")
        await console.update(jobs=())
        assert console.engine.stopped == [1.0]


async def test_the_quit_question_is_deaf_at_first() -> None:
    clock = HandClock()
    async with open_console(scenes.busy_snapshot(), monotonic=clock) as console:
        clock.step = 0.0
        await console.press("q", "y")
        assert console.engine.stopped == []


async def test_a_signal_ends_in_order_with_its_code_whatever_is_open() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("q")
        console.app.end(143)
        console.app.end(129)
        await console.settle()
        assert console.engine.stopped == [1.0]
        assert console.app.return_code == 143


async def test_a_dead_terminal_ends_the_console() -> None:
    async with open_console(terminal_alive=lambda: False) as console:
        console.app._check_terminal()
        await console.settle()
        assert console.app.return_code == 129
