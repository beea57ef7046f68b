from __future__ import annotations

import time
from dataclasses import replace

from ckptdeck.core.states import FlightState, Role, State, Verdict
from ckptdeck.monitor.snapshot import SideActivity
from ckptdeck.tui.view_model.cells import cell_of, columns_for, head_line, row_line
from ckptdeck.tui.view_model.heading import resume_line
from ckptdeck.tui.view_model.line import Ink, text_of, width_of
from ckptdeck.tui.view_model.rows import Entry, Order, entries_of, filter_entries, same_rows, sort_entries
from ckptdeck.tui.view_model.view import Lock, View, look
from ckptdeck.tui.view_model.volumes import volume_lines
from tests.tui import scenes


def view_of(**changes: object) -> View:
    return look(scenes.snapshot(**changes), scenes.NOW, None, Lock.LOCKED)


def resume(**changes: object) -> str:
    return text_of(resume_line(view_of(**changes), 100)).strip()


def entry(name: str) -> Entry:
    return next(entry for entry in entries_of(scenes.survey()) if entry.key == name)


def test_a_part_without_a_checkpoint_is_a_row_of_its_own_in_its_place() -> None:
    entries = entries_of(scenes.survey())
    assert entries[0].key == scenes.name_of(2550)
    assert entries[0].pair is None
    assert entries[0].verdict == "in-flight"
    assert entries[-1].foreign == (Role.PRIMARY,)
    assert entries[-2].key == "last.ckpt"


def test_names_of_one_step_are_told_apart() -> None:
    rows = [
        scenes.step_row(scenes.checkpoint(name, State.VERIFIED, step=810), None, Verdict.MIRROR_ME, "")
        for name in ("model_000810.pt", "optim_000810.pt")
    ]
    labels = [entry.label for entry in entries_of(scenes.survey(rows))]
    assert labels[1:3] == ["model_000810.pt", "optim_000810.pt"]


def test_rows_are_the_same_only_while_steps_copies_and_parts_are() -> None:
    survey = scenes.survey()
    later = replace(survey, taken_at=survey.taken_at + 1)
    assert same_rows(survey, later)
    assert not same_rows(None, survey)
    assert not same_rows(survey, replace(later, mirror=None))
    assert not same_rows(survey, replace(later, steps=survey.steps[:-1]))
    at_rest = replace(survey.primary, inventory=replace(survey.primary.inventory, in_flight=()))
    assert not same_rows(survey, replace(later, primary=at_rest))
    without_foreign = replace(survey.primary, checkpoints=survey.primary.checkpoints[:-1])
    assert not same_rows(survey, replace(later, primary=without_foreign))


def test_orders_keep_all_rows() -> None:
    entries = entries_of(scenes.survey())
    for order in Order:
        assert {one.key for one in sort_entries(entries, order)} == {one.key for one in entries}
    assert sort_entries(entries, Order.OLDEST)[0].step == 1650
    assert sort_entries(entries, Order.WORST)[0].key == scenes.name_of(1750)
    assert Order.LARGEST.next is Order.NEWEST


def test_filters_are_words_that_must_or_must_not_be_there() -> None:
    entries = entries_of(scenes.survey())
    assert [e.step for e in filter_entries(entries, "mirror-me", False)] == [2450]
    assert [e.step for e in filter_entries(entries, "VERIFIED truncated", False)] == [1750]
    assert all(e.verdict != "safe" for e in filter_entries(entries, "-safe", False))
    assert filter_entries(entries, "-", False) == entries
    assert [e.step for e in filter_entries(entries, "", True)] == [1750]


def test_a_leftover_part_is_a_problem() -> None:
    assert not entry(scenes.name_of(2550)).troubled
    stale = scenes.part(2550, 1, state=FlightState.STALE)
    left = replace(entry(scenes.name_of(2550)), primary_flight=stale)
    assert left.troubled
    assert left.verdict == "stale"


def test_work_in_progress_is_said_before_the_state() -> None:
    view = look(scenes.busy_snapshot(), scenes.NOW, None, Lock.LOCKED)
    assert cell_of(entry(scenes.name_of(2450)), Role.MIRROR, view).word == "copying 60%"
    assert cell_of(entry(scenes.name_of(2450)), Role.PRIMARY, view).word == "verified"
    unsafe = replace(entry(scenes.name_of(2550)), primary_flight=scenes.part(2550, 10**9, final_name=True))
    assert cell_of(unsafe, Role.PRIMARY, view).word == "unsafe-write 40%"


def test_every_row_fills_every_width_exactly() -> None:
    view = look(scenes.hostile(), scenes.NOW, None, Lock.LOCKED)
    assert view.survey is not None
    entries = entries_of(view.survey)
    for width in (20, 30, 40, 71, 72, 80, 100, 160, 240):
        columns = columns_for(width, entries, single=False)
        for one in entries:
            assert width_of(row_line(one, view, columns, width, cursor=True, chosen=True)) == width


def test_a_foreign_name_takes_the_room_of_the_figures_it_has_not() -> None:
    view = look(scenes.snapshot(), scenes.NOW, None, Lock.LOCKED)
    assert view.survey is not None
    steps = [entry for entry in entries_of(view.survey) if entry.label.isdigit()]
    foreign = Entry("n", "notes_of_the_night_shift.txt", None, None, foreign=(Role.PRIMARY,))
    for width, cells in ((100, 15), (240, len(foreign.label))):
        columns = columns_for(width, [*steps, foreign], single=False)
        said = text_of(row_line(foreign, view, columns, width, cursor=False, chosen=False)).split()[0]
        assert len(said) >= cells
        assert foreign.label.startswith(said.rstrip("…"))


def test_what_both_sides_share_has_one_head_and_the_rate_no_column_that_takes_a_side_s_room() -> None:
    view = look(scenes.snapshot(), scenes.NOW, None, Lock.LOCKED)
    assert view.survey is not None
    entries = [entry for entry in entries_of(view.survey) if entry.label.isdigit()]
    heads = {
        width: text_of(head_line(columns_for(width, entries, single=False), Order.NEWEST, width)).split()
        for width in (60, 100, 120)
    }
    assert heads[60] == ["step", "primary+mirror", "verdict"]
    assert "rate" not in heads[100]
    assert "rate" in heads[120]


def test_the_head_that_sorts_keeps_its_mark_beside_short_steps() -> None:
    view = look(scenes.snapshot(), scenes.NOW, None, Lock.LOCKED)
    assert view.survey is not None
    short = [entry for entry in entries_of(view.survey) if entry.label.isdigit()]
    for width in (40, 80, 120):
        for order, head in ((Order.OLDEST, "step▾"), (Order.WORST, "verdict▾"), (Order.LARGEST, "size▾")):
            said = text_of(head_line(columns_for(width, short, single=False), order, width))
            assert head in said or (order is Order.LARGEST and "size" not in said), said


def test_ten_thousand_rows_are_made_filtered_and_sorted_quickly() -> None:
    survey = scenes.many(10_000).survey
    assert survey is not None
    began = time.process_time()
    entries = entries_of(survey)
    sort_entries(filter_entries(entries, "99 -truncated", False), Order.WORST)
    columns_for(120, entries, single=False)
    assert time.process_time() - began < 1.0


def test_the_resume_line_never_claims_more_than_is_known() -> None:
    seen = scenes.survey()
    assert seen.resume is not None
    assert resume().startswith("RESUME 2500  whole on both sides, verified 3m ago")
    guess = replace(seen.resume, certain=False, state=State.SIZE_ONLY, verified_at=scenes.NOW - 86400)
    unproven = replace(seen, resume=guess)
    assert resume(survey=unproven).startswith("RESUME 2500?  right size, content not proven (verified 24h ago)")
    progress = replace(scenes.mirror_job().progress, name=scenes.name_of(2500), phase="hash")  # type: ignore[type-var]
    assert "RESUME 2500?  checking 60%, 4s" in resume(survey=unproven, jobs=(scenes.mirror_job(progress=progress),))
    candidate = resume(survey=replace(seen, resume=None))
    assert candidate.startswith("RESUME 1700?  unrecorded, nothing is proven yet; A records it")
    bad = tuple(row for row in seen.steps if row.step == 1750)
    assert "none of them whole" in resume(survey=replace(seen, resume=None, steps=bad))
    gone = scenes.mirror_gone().survey
    assert gone is not None
    assert "mirror cannot be read" in resume(survey=replace(gone, resume=None))


def test_a_save_that_does_not_come_is_said() -> None:
    seen = scenes.survey()
    quiet = replace(seen, primary=replace(seen.primary, inventory=replace(seen.primary.inventory, in_flight=())))
    assert resume(survey=quiet).endswith("next save in about 7m")
    late = look(scenes.snapshot(survey=quiet), scenes.NOW + 3600, None, Lock.LOCKED)
    assert text_of(resume_line(late, 100)).strip().endswith("no save for 1h 4m (usual 11m)")


def test_both_volume_lines_are_aligned_at_every_width() -> None:
    for width in (60, 70, 80, 100, 140, 200):
        first, second = (text_of(line) for line in volume_lines(view_of(), width))
        assert first.index("free") == second.index("free")
        assert len(first) == len(second) == width


def test_a_side_that_does_not_answer_says_since_when() -> None:
    view = view_of(activity={Role.MIRROR: SideActivity(silent_since=scenes.NOW - 32)})
    assert "does not answer for 32s; ? marks what it said last" in text_of(volume_lines(view, 80)[1])


def test_what_a_silent_side_said_is_marked_and_quiet_and_the_other_side_is_not() -> None:
    heard, unheard = view_of(), view_of(activity={Role.MIRROR: SideActivity(silent_since=scenes.NOW - 32)})
    for step, word in ((2500, "verified"), (1750, "TRUNCATED"), (1650, "verified")):
        row = entry(scenes.name_of(step))
        assert cell_of(row, Role.MIRROR, heard).word == word
        cell = cell_of(row, Role.MIRROR, unheard)
        assert (cell.word, cell.mark.ink, cell.note_ink) == (f"{word}?", Ink.MUTED, Ink.MUTED)
        assert cell_of(row, Role.PRIMARY, unheard) == cell_of(row, Role.PRIMARY, heard)
