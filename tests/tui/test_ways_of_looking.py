"""Chosen rows and what each key would take of them, rows held still, filters brought back, the log, the whole story."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptdeck.core.states import Role, State, Verdict
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.monitor.view_state import ViewState
from ckptdeck.tui.key_map import AS_BUILT
from ckptdeck.tui.view_model.activity import activity_detail, activity_lead, filter_log
from ckptdeck.tui.view_model.choice import Share, actions_for, choice_line, choice_of, shares_of
from ckptdeck.tui.view_model.dossier import dossier_lines, member_lines
from ckptdeck.tui.view_model.line import Line, brief, text_of, width_of
from ckptdeck.tui.view_model.rows import Entry, Order, entries_of
from ckptdeck.tui.view_model.view import Lock, View, look
from ckptdeck.tui.view_model.viewing import Pause, changed_since, viewing_lines
from ckptdeck.tui.widgets.pair_table import PairTable
from tests.tui import aftermath, scenes
from tests.tui.console import Console, open_console

STEP = scenes.name_of


def view_of(snapshot: Snapshot) -> View:
    return look(snapshot, scenes.NOW, None, Lock.LOCKED)


def rows_of(survey: Survey | None = None) -> dict[str, Entry]:
    return {entry.key: entry for entry in entries_of(scenes.survey() if survey is None else survey)}


def shown(lines: tuple[Line, ...]) -> str:
    return "\n".join(text_of(each).rstrip() for each in lines)


def table_of(console: Console) -> PairTable:
    return console.app.screen_stack[0].query_one(PairTable)


# --- what a key would take


@pytest.mark.parametrize(
    ("step", "actions"),
    [
        (2500, ("verify",)),
        (2450, ("mirror", "verify")),
        (1750, ("repair", "verify", "quarantine")),
        (1700, ("adopt", "mirror")),
        (2550, ()),
    ],
)
def test_a_row_asks_for_what_puts_it_right_first(step: int, actions: tuple[str, ...]) -> None:
    assert actions_for(rows_of()[STEP(step)]) == actions


def test_what_is_missing_here_and_whole_there_is_restored() -> None:
    gone = scenes.checkpoint(STEP(2500), State.MISSING, step=2500, size=None)
    row = scenes.step_row(gone, scenes.verified(2500, 60, 60), Verdict.MIRROR_ONLY, "")
    assert actions_for(rows_of(scenes.survey([row]))[STEP(2500)])[0] == "restore"


def test_the_shares_of_several_rows_add_up_and_are_told_as_far_as_they_fit() -> None:
    chosen = [rows_of()[STEP(step)] for step in (2500, 2450, 1750)]
    shares = shares_of(chosen)
    assert shares["verify"] == Share(3, 3 * scenes.WHOLE)
    assert shares["repair"] == shares["quarantine"] == Share(1, scenes.WHOLE)
    assert shares["adopt"] == Share()
    choice = choice_of(chosen)
    assert choice is not None
    whole = text_of(choice_line(choice, 120, AS_BUILT))
    assert whole.startswith(" ● 3 chosen 7.41G   m Mirror 1 2.47G  r Repair 1 2.47G  V Verify 3 7.41G")
    for width in range(20, 120):
        assert width_of(choice_line(choice, width, AS_BUILT)) <= max(width, 20)


async def test_rows_are_chosen_with_shift_and_the_arrows() -> None:
    async with open_console() as console:
        await console.press("j", "shift+down", "shift+down", "shift+up")
        assert table_of(console).chosen == {STEP(2500), STEP(2450), STEP(2400)}
        assert "● 3 chosen 7.41G" in console.text
        await console.press("escape")
        assert "chosen" not in console.text


# --- held still


def test_changes_are_counted_by_row() -> None:
    before = scenes.survey()
    assert changed_since(before, scenes.survey()) == 0
    assert changed_since(None, before) == len(before.steps) + 1, "and one that is only a part"
    rows = list(scenes.survey().steps)
    newer = scenes.step_row(scenes.verified(2600, 1, 1), None, Verdict.MIRROR_ME, "")
    mended = replace(rows[1], mirror=scenes.verified(2450, 60, 60), verdict=Verdict.SAFE)
    after = scenes.survey([newer, rows[0], mended, *rows[3:]])
    assert changed_since(before, after) == 3, "one came, one went, one is safe now"


async def test_a_pause_holds_the_rows_while_everything_else_goes_on() -> None:
    async with open_console() as console:
        await console.press("space")
        assert "PAUSED  nothing changed since 14:32:07" in console.text
        newer = scenes.step_row(scenes.verified(2600, 1, 1), None, Verdict.MIRROR_ME, "")
        await console.update(survey=scenes.survey([newer, *scenes.survey().steps]), trouble=("The mirror is full.",))
        assert "PAUSED  1 row changed since 14:32:07" in console.text
        assert STEP(2600) not in table_of(console).keys
        assert "1 trouble" in console.text
        await console.press("space")
        assert STEP(2600) in table_of(console).keys
        assert "PAUSED" not in console.text


def test_a_line_for_each_way_of_looking_and_none_as_usual() -> None:
    assert viewing_lines(None, None, Order.WORST, 80, problems_only=False, keys=AS_BUILT) == ()
    pause = Pause(view_of(scenes.snapshot()), None, 2)
    told = shown(viewing_lines(None, pause, Order.LARGEST, 80, problems_only=True, keys=AS_BUILT))
    assert "2 rows changed since" in told
    assert "largest first, problems only" in told


# --- filters


async def test_a_filter_used_before_is_brought_back_and_remembered() -> None:
    async with open_console(view_state=ViewState(filters=("-safe",))) as console:
        await console.press("slash", *"1750", "enter", "escape", "slash", "up")
        assert "/ 1750" in console.text
        await console.press("up", "up")
        assert "/ -safe" in console.text
        await console.press("down", "down")
        assert len(table_of(console).keys) > 10, "what was typed was nothing"
        await console.press("down")
        assert console.app.focused is table_of(console)
        assert console.app.view_state.filters == ("1750", "-safe")


# --- who did what


def test_the_log_is_filtered_by_what_who_and_result() -> None:
    assert [entry.outcome for entry in filter_log(scenes.LOG, "failed")] == ["failed"]
    assert len(filter_log(scenes.LOG, "mirror -watch")) == 1
    view = view_of(scenes.snapshot())
    assert shown(activity_lead(filter_log(scenes.LOG, "watch"), view, "watch", 80)) == " 1 operation of 3, 1 failed"
    assert activity_lead((), view_of(scenes.first_look()), "", 80) == ()
    assert "by watch" in shown(activity_detail(scenes.LOG[2], view, 80))


async def test_activity_shows_results_filters_and_copies_the_line() -> None:
    async with open_console() as console:
        await console.press("a")
        assert "3 operations, 1 failed" in console.text
        await console.press("slash", *"verify", "enter", "c")
        assert "1 of 3" in console.text
        assert console.app.clipboard == "ckptdeck verify /data/ckpt /mnt/d/ckpt step_2500.pt"
        await console.press("q")
        assert console.at == "Overview"
    unknown = replace(scenes.LOG[0], command="")
    async with open_console(scenes.snapshot(log=(unknown,))) as console:
        await console.press("a")
        assert console.text.count("No command of a shell did this.") == 1
        await console.press("c")
        assert console.app.clipboard == ""
        assert "No command of a shell did this." in console.said
    async with open_console(scenes.first_look()) as console:
        await console.press("a", "c", "z")
        assert "Nothing was done here yet." in console.text


# --- the whole story


def test_a_dossier_has_path_both_sides_and_all_of_its_history() -> None:
    log = tuple(replace(scenes.LOG[2], at=scenes.NOW - 60 * n) for n in range(30))
    other = replace(scenes.LOG[2], text="mirror xstep_1750.pt")
    view = view_of(scenes.snapshot(log=(*log, other)))
    told = shown(dossier_lines(rows_of()[STEP(1750)], view, 100, {Role.MIRROR: "stays: it is bad"}))
    assert told.startswith(f" {STEP(1750)}\n /data/ckpt/{STEP(1750)}\n repair")
    for words in ("2,470,000,000 bytes", "1,820,000,000 bytes", "failed finding central", "stays: it is bad"):
        assert words in told
    assert told.count("mirror step_1750.pt failed") == 30
    assert "xstep" not in told
    assert "neither side" in shown(dossier_lines(None, view, 80, {}))


def test_every_file_of_a_directory_is_told_those_that_differ_first() -> None:
    survey = aftermath.of_directories().survey
    lines = member_lines(rows_of(survey)["checkpoint-500"], 80)
    told = [" ".join(text_of(each).split()) for each in lines]
    assert told[1:] == [
        "3 files, 14.8G",
        "file size primary mirror",
        "optimizer.pt 9.88G ✓ ✗ not there",
        "config.json 1.20K ✓ =",
        "model.safetensors 4.94G ✓ =",
    ]
    assert member_lines(rows_of()[STEP(2500)], 80) == ()
    assert all(width_of(each) <= 80 for each in lines)


async def test_detail_is_read_over_the_whole_screen_and_acted_on() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("G", "k", "k", "k", "k", "z")
        assert console.at == "DetailScreen"
        assert "6 more below" in console.text
        await console.press("G")
        assert "mirror step_1750.pt failed" in console.text
        await console.press("r")
        assert console.engine.asked == [("repair", (STEP(1750),))]
        await console.press("escape", "C", "h")
        assert console.app.clipboard == f"/data/ckpt/{STEP(1750)}"
        assert console.at == "Overview"


async def test_any_row_of_any_list_can_be_read_in_full() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        await console.press("J", "j", "j", "enter")
        assert console.at == "StoryReader"
        assert "The mirror answered with an I/O error" in console.text
        await console.press("q")
        assert console.at == "JobsScreen"


def test_a_reason_is_cut_between_clauses() -> None:
    whole = "truncated: ends 650 MB early: 1.82 of 2.47 GB; `ckptdeck repair` takes the primary's"
    assert brief(whole, 200) == whole
    assert brief(whole, 47) == "truncated: ends 650 MB early: 1.82 of 2.47 GB …"
    assert brief(whole, 46) == "truncated: ends 650 MB early …"
    assert brief("verified on the primary, not on the mirror", 25) == "verified on the primary …"
    assert brief("unbroken", 5) == "unbr…"
