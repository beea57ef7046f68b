"""What the pane tells of a row: what a prune would do with it, what it is made of, what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.plans.prune import Retention
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.tui.fates import Fates
from ckptdeck.tui.thought import answer_at_once
from ckptdeck.tui.view_model.details import detail_lines, pane_lines
from ckptdeck.tui.view_model.foresight import KEPT_AT_REST, KEPT_FOR, MANY
from ckptdeck.tui.view_model.line import text_of
from ckptdeck.tui.view_model.overview import path_of
from ckptdeck.tui.view_model.rows import Entry, entries_of
from ckptdeck.tui.view_model.view import Lock, View, look
from tests.tui import aftermath, scenes
from tests.tui.console import open_console


def view_of(snapshot: object) -> View:
    return look(snapshot, scenes.NOW, None, Lock.LOCKED)  # type: ignore[arg-type]


def entry(view: View, key: str) -> Entry:
    assert view.survey is not None
    return next(one for one in entries_of(view.survey) if one.key == key)


def pane(view: View, key: str) -> str:
    one = entry(view, key)
    return "\n".join(
        text_of(part).rstrip() for part in pane_lines(one, view, 200, Fates().of(one, view, answer_at_once))
    )


def test_why_a_copy_stays_or_would_go() -> None:
    view = view_of(aftermath.kept_everything())
    assert "prune      stays: number 1 of the last 12 whole steps" in pane(view, scenes.name_of(2300))
    gone = pane(view, scenes.name_of(50))
    assert "prune      would go: beyond the last 12: step_1750.pt and newer are whole on both sides" in gone
    pinned = view_of(aftermath.kept_everything())
    row = entry(pinned, scenes.name_of(50)).pair
    assert row is not None
    assert row.primary is not None
    held = replace(row.primary, sighting=replace(row.primary.sighting, pointed_at_by="latest"))
    pointed = replace(entry(pinned, scenes.name_of(50)), pair=replace(row, primary=held))
    said = Fates().of(pointed, pinned, answer_at_once)
    assert said[Role.PRIMARY].startswith("held back: latest points to it")
    assert said[Role.PRIMARY].endswith("(pointer-target)")


def test_a_side_that_is_not_there_prunes_nothing_and_day_one_has_no_retention() -> None:
    gone = view_of(scenes.mirror_gone())
    said = Fates().of(entry(gone, scenes.name_of(2400)), gone, answer_at_once)
    assert said[Role.PRIMARY].startswith("nothing is pruned: ")
    bare = view_of(scenes.day_one())
    assert Fates().of(entry(bare, scenes.name_of(2300)), bare, answer_at_once) == {}
    assert Fates().of(None, bare, answer_at_once) == {}


def test_what_the_retention_says_follows_the_survey() -> None:
    fates = Fates()
    first = view_of(aftermath.kept_everything())
    assert "would go" in fates.of(entry(first, scenes.name_of(1700)), first, answer_at_once)[Role.MIRROR]
    second = view_of(scenes.snapshot(survey=aftermath.everything_kept(34)))
    assert "stays" in fates.of(entry(second, scenes.name_of(1700)), second, answer_at_once)[Role.MIRROR]


def test_ten_thousand_rows_are_not_worked_out_at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Survey] = []

    class Counting(Retention):
        def __init__(self, survey: Survey) -> None:
            made.append(survey)
            super().__init__(survey)

    monkeypatch.setattr("ckptdeck.tui.fates.Retention", Counting)
    survey = scenes.many(MANY).survey
    assert survey is not None
    fates, row = Fates(), entries_of(survey)[5]
    others = tuple(replace(step) for step in survey.steps)
    for seconds, steps in (
        *((0.0, survey.steps), (KEPT_FOR, survey.steps), (KEPT_AT_REST - 1, survey.steps)),
        *((KEPT_AT_REST, survey.steps), (KEPT_AT_REST + KEPT_FOR - 1, others), (KEPT_AT_REST + KEPT_FOR, others)),
    ):
        later = replace(survey, taken_at=survey.taken_at + seconds, steps=steps)
        assert fates.of(row, view_of(scenes.snapshot(survey=later)), answer_at_once)
    assert [one.taken_at - survey.taken_at for one in made] == [0.0, KEPT_AT_REST, KEPT_AT_REST + KEPT_FOR]


def test_a_directory_shows_what_it_is_made_of_and_what_differs() -> None:
    view = view_of(aftermath.of_directories())
    told = pane(view, "checkpoint-500")
    whole, _, broken = told.partition("INCOMPLETE")
    assert "members    a directory of 3 files" in whole
    assert "largest    optimizer.pt 9.88G" in whole
    assert "newest     optimizer.pt 2026-03-02" in whole
    assert "differs" not in whole
    assert "members    a directory of 2 files" in broken
    assert "differs    optimizer.pt (9.88 GB) is not there" in broken
    assert "members" not in pane(view_of(scenes.snapshot()), scenes.name_of(2500))


def test_the_short_form_counts_members_too() -> None:
    view = view_of(aftermath.of_directories())
    lines = [text_of(part) for part in detail_lines(entry(view, "checkpoint-500"), view, 100, 2)]
    assert "a directory of 2 files" in lines[1]


def test_what_is_wrong_anywhere_is_said_without_a_key() -> None:
    trouble = (*scenes.TROUBLE, "The mirror cannot be read.")
    view = view_of(replace(scenes.busy_snapshot(), trouble=trouble))

    def told(step: int, width: int, limit: int = 2) -> list[str]:
        return [text_of(part) for part in detail_lines(entry(view, scenes.name_of(step)), view, width, limit)]

    assert told(2500, 80)[1].startswith(" ! step_1750.pt on mirror is truncated: ends 650 MB early …")
    assert told(2500, 80)[1].endswith(" ! 1 more ")
    assert told(2500, 80, 1) == told(2500, 80)[1:]
    assert told(1750, 80)[0].startswith(" step_1750.pt on mirror: ends 650 MB early")
    assert not any("!" in one for one in told(1750, 80)), "the row itself is what is wrong"
    assert told(1750, 160)[0].startswith(" ! step_1750.pt"), "there the pane tells of the row"
    well = view_of(scenes.snapshot(trouble=()))
    assert "record" in text_of(detail_lines(entry(well, scenes.name_of(2500)), well, 80, 2)[1])


def test_the_path_of_what_is_staged_is_in_the_control_directory() -> None:
    view = view_of(aftermath.of_directories())
    assert view.survey is not None
    assert path_of(entry(view, "checkpoint-600"), view.survey) == "/data/ckpt/.ckptdeck/staging/checkpoint-600"


async def test_a_staged_directory_is_in_flight_with_its_bytes() -> None:
    async with open_console(aftermath.of_directories()) as console:
        assert "~ part 35%" in console.text
        await console.press("i")
        for words in ("checkpoint-600/", "5.20/14.8G", "staging/checkpoint-600 on primary"):
            assert words in console.text
        await console.resize(160, 45)
        assert "a directory, staged in the control directory; 5,200,000,000 of 14,820,001,200 bytes" in console.text
