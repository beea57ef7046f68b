"""What was set aside, as the console shows it and acts on it."""

from __future__ import annotations

from dataclasses import replace

from ckptdeck.core.plans.set_aside import plan_purge, plan_put_back
from ckptdeck.core.states import FlightState, Role
from tests.tui import aftermath, scenes
from tests.tui.aftermath import ENTRY, OLD_ENTRY
from tests.tui.console import open_console

STEP = scenes.name_of


async def test_it_says_what_why_since_when_and_that_nothing_is_freed() -> None:
    async with open_console(aftermath.with_quarantine()) as console:
        await console.press("Q")
        for words in (
            "2 artifacts: 2.48G on the primary, 1.82G on the mirror", "nothing is freed until it is purged.",
            "mirror   step_1750.pt", "primary  checkpoint-900/", "since 2026-03-02 13:32, 1.82G",
            "truncated: ends 650 MB early: 1.82 of 2.47 GB", "now  primary ✓ verified 2d; mirror ✗ TRUNCATED", ENTRY,
        ):  # fmt: skip
            assert words in console.text
        await console.press("j")
        assert "primary has none of its name; mirror has none of its name" in console.text
        await console.press("q")
        assert console.at == "Overview"


async def test_every_size_shows_names_sizes_and_the_way_out() -> None:
    async with open_console(aftermath.with_quarantine()) as console:
        await console.press("Q")
        for width, height in ((160, 45), (80, 24), (40, 12), (30, 8)):
            await console.resize(width, height)
            assert len(console.text.splitlines()) == height
            for words in ("step_1", "1.82G", "2.48G", "q Back", "? Help"):
                assert words in console.text, (width, words)


async def test_put_back_and_purge_are_for_the_one_under_the_cursor() -> None:
    snapshot = aftermath.with_quarantine()
    assert snapshot.survey is not None
    async with open_console(snapshot, start_locked=False) as console:
        console.engine.plans["purge"] = plan_purge(snapshot.survey, [OLD_ENTRY])
        console.engine.plans["restore"] = plan_put_back(snapshot.survey, [OLD_ENTRY])
        await console.press("Q", "j", "b")
        assert console.engine.asked == [("restore", (), {"from-quarantine": OLD_ENTRY})]
        assert "Put back from quarantine" in console.text
        assert "put back  checkpoint-900" in console.text
        await console.press("y")
        assert len(console.engine.submitted) == 1
        assert console.at == "QuarantineScreen"
        await console.press("P")
        assert console.engine.asked[-1] == ("purge", (OLD_ENTRY,))
        assert "purge     checkpoint-900   2.48G  set aside: incomplete" in console.text
        await console.press("y")
        assert len(console.engine.submitted) == 1
        await console.press("1", "y")
        assert console.engine.submitted[1:] == [plan_purge(snapshot.survey, [OLD_ENTRY])]


async def test_purging_all_wants_their_number() -> None:
    snapshot = aftermath.with_quarantine()
    assert snapshot.survey is not None
    async with open_console(snapshot, start_locked=False) as console:
        console.engine.plans["purge"] = plan_purge(snapshot.survey)
        await console.press("Q", "E", "1", "y")
        assert console.engine.submitted == []
        await console.press("backspace", "2", "y")
        assert console.engine.asked == [("purge", ())]
        assert len(console.engine.submitted) == 1


async def test_locked_refuses_and_an_empty_one_says_so() -> None:
    async with open_console(aftermath.with_quarantine()) as console:
        await console.press("Q", "b", "P", "E")
        assert console.engine.asked == []
        for label in ("Put back", "Purge", "Purge all"):
            assert f"LOCKED, look only: {label} would change" in console.said
        await console.update(survey=scenes.survey())
        assert "Nothing is in quarantine." in console.text
        await console.press("U", "b", "P", "E")
        assert console.engine.asked == []


async def test_a_note_that_is_lost_is_said() -> None:
    lost = replace(aftermath.set_aside()[0], name=ENTRY, reason="no reason was kept", named=False)
    survey = aftermath.changed(scenes.survey(), Role.MIRROR, quarantine=(lost,))
    async with open_console(scenes.snapshot(survey=survey)) as console:
        await console.press("Q")
        assert "its note is lost, so nobody knows its name" in console.text


async def test_hostile_names_in_quarantine_are_shown_escaped() -> None:
    entries = tuple(
        replace(aftermath.set_aside()[0], id=f"{ENTRY}{place}", name=name, reason=name)
        for place, name in enumerate(scenes.HOSTILE)
    )
    survey = aftermath.changed(scenes.survey(), Role.MIRROR, quarantine=entries)
    async with open_console(scenes.snapshot(survey=survey), (160, 45), start_locked=False) as console:
        console.engine.plans["purge"] = plan_purge(survey)
        await console.press("Q")
        for _ in entries:
            assert all(char.isprintable() for line in console.text.splitlines() for char in line)
            await console.press("j")
        assert "\\e]0;owned" in console.text
        await console.press("E")
        assert "\\e]0;owned" in console.text
        assert all(char.isprintable() for line in console.text.splitlines() for char in line)


async def test_a_part_is_set_aside_by_its_own_name() -> None:
    stale = scenes.part(2550, 1_000_000, state=FlightState.STALE, writer=None)
    survey = aftermath.changed(scenes.survey(), Role.PRIMARY, in_flight=(stale,))
    async with open_console(scenes.snapshot(survey=survey), start_locked=False) as console:
        await console.press("X", "escape")
        assert console.engine.asked == [("quarantine", (f"{STEP(2550)}.part",))]
        await console.press("i", "X", "escape")
        assert console.engine.asked[1:] == [("quarantine", (f"{STEP(2550)}.part",))]
