"""What the Space screen says, without a screen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest

from ckptdeck.core.outlook import WhatIf
from ckptdeck.core.sides import Survey
from ckptdeck.core.states import Role
from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.tui.view_model import foresight as foresight_module
from ckptdeck.tui.view_model.foresight import Foresight
from ckptdeck.tui.view_model.line import Ink, text_of, width_of
from ckptdeck.tui.view_model.space import Scene, answer_lines, figure_lines, note_lines, plot_title, scene_of
from ckptdeck.tui.view_model.space_plot import legend_line, plot_lines
from ckptdeck.tui.view_model.view import Lock, View, look
from ckptdeck.tui.view_model.what_if import Knobs
from tests.tui import disks, scenes

NONE = Knobs()


def view_of(snapshot: Snapshot) -> View:
    return look(snapshot, scenes.NOW, UTC, Lock.LOCKED)


def shown(snapshot: Snapshot, knobs: Knobs = NONE) -> Scene:
    scene = scene_of(view_of(snapshot), knobs, Foresight())
    assert scene is not None
    return scene


def words(snapshot: Snapshot, knobs: Knobs = NONE, width: int = 80) -> str:
    view, scene = view_of(snapshot), shown(snapshot, knobs)
    lines = (*answer_lines(scene, knobs, view, width), *figure_lines(scene, view, width), *note_lines(scene, width))
    return "\n".join(text_of(line).rstrip() for line in lines)


def on(survey: Survey, **volume: object) -> Survey:
    there = survey.primary.inventory
    assert there.volume is not None
    changed = replace(there, volume=replace(there.volume, **volume))  # type: ignore[arg-type]
    return replace(survey, primary=replace(survey.primary, inventory=changed))


def test_the_answer_then_a_row_per_volume_then_what_to_do_and_the_basis() -> None:
    text = words(disks.filling()).splitlines()
    assert text[0] == " 5 more saves fit on the mirror: full in 1h02m (2026-03-02 15:34 UTC)"
    assert text[1].split() == ["fit", "full", "in", "prune", "frees", "then", "full", "keep", "12", "at", "most"]
    assert text[2].split() == ["primary", "49", "9h", "6m", "4.94G", "9h", "28m", "32.1G", "fits", "64"]
    assert text[3].split() == ["mirror", "5", "1h", "2m", "84.0G", "7h", "16m", "32.1G", "fits", "50"]
    rest = " ".join("\n".join(text[4:]).split())
    assert "`ckptdeck prune` frees 4.94 GB on the primary and 84.0 GB on the mirror" in rest
    assert "others add 12.0 GB a day (over 1d23h)" in rest
    assert "nothing else grows there" in rest


def test_what_is_assumed_is_called_so() -> None:
    text = words(disks.filling(), Knobs(keep_last=3, size=5_000_000_000))
    assert text.startswith(" WHAT IF 2 more saves fit on the mirror")
    assert "keep 3" in text.splitlines()[1]
    assert "20.0G fits" in text
    assert "--keep-last 3` frees" in text
    assert "assumed: 5.00 GB a save" in text


def test_little_room_is_loud() -> None:
    view, scene = view_of(disks.filling()), shown(disks.filling())
    mirror = figure_lines(scene, view, 80)[2]
    assert [piece.ink for piece in mirror if piece.text.strip() in ("5", "1h 2m")] == [Ink.WARN, Ink.WARN]
    full = scenes.snapshot(survey=on(disks.filling_survey(), free=5_000_000_000))
    primary = figure_lines(shown(full), view_of(full), 80)[1]
    assert any(piece.text.strip() == "0" and piece.ink is Ink.BAD for piece in primary)
    assert "The next save does not fit on the primary" in words(full)


def test_a_figure_is_never_cut_into_another_one() -> None:
    huge = scenes.snapshot(survey=on(disks.filling_survey(), free=10**17, total=10**17))
    narrow = text_of(figure_lines(shown(huge), view_of(huge), 40)[1]).split()
    assert narrow[:2] == ["primary", "many"]


def test_where_blocks_may_be_shared_it_is_at_most() -> None:
    shared = scenes.snapshot(survey=on(disks.filling_survey(), fs_type="btrfs"))
    assert "≤4.94G" in words(shared)
    assert "frees up to 4.94 GB" in words(shared)


def test_one_device_is_one_row_and_one_picture() -> None:
    one = shown(scenes.snapshot(survey=replace(disks.filling_survey(), shared_device=True)))
    assert list(one.courses) == list(one.volumes) == ["both"]
    assert text_of(plot_title(one, "both", 40)).strip() == "both"


def test_a_side_that_is_away_and_one_without_figures_say_so() -> None:
    assert "mirror  NOT MOUNTED" in words(scenes.mirror_gone())
    survey = disks.filling_survey()
    blind = replace(survey.primary, inventory=replace(survey.primary.inventory, volume=None))
    assert "primary NO VOLUME FIGURES" in words(scenes.snapshot(survey=replace(survey, primary=blind)))


def test_before_the_first_scan_and_when_there_is_none() -> None:
    view = view_of(scenes.first_look())
    assert scene_of(view, NONE, Foresight()) is None
    assert text_of(answer_lines(None, NONE, view, 80)[0]) == " scanning …"
    assert figure_lines(None, view, 80) == note_lines(None, 80) == ()
    failed = view_of(replace(scenes.first_look(), error="It is no directory."))
    assert text_of(answer_lines(None, NONE, failed, 80)[0]) == " It is no directory."


@pytest.mark.parametrize("width", [20, 30, 40, 69, 70, 80, 160])
def test_every_width_is_kept(width: int) -> None:
    for snapshot in (disks.filling(), scenes.mirror_gone(), scenes.day_one(), scenes.hostile()):
        view, scene = view_of(snapshot), shown(snapshot)
        assert all(width_of(line) <= width for line in answer_lines(scene, NONE, view, width))
        assert all(width_of(line) == width for line in figure_lines(scene, view, width))
        assert all(width_of(line) <= width for line in note_lines(scene, width))
        assert width_of(legend_line(12, width)) == width


# --- the picture


def picture(width: int = 60, height: int = 12, who: str = "mirror") -> list[str]:
    return [text_of(line) for line in plot_lines(shown(disks.filling()).courses[who], width, height)]


def test_the_picture_has_its_size_axes_and_all_lines() -> None:
    drawn = picture()
    assert len(drawn) == 12
    assert {len(line) for line in drawn} == {60}
    assert drawn[0].startswith(" 101G │")
    assert drawn[9].startswith("    0 │")
    assert drawn[10].startswith("      └")
    assert drawn[11].split() == ["-4h", "32m", "now", "+4h", "32m"]
    assert drawn[10].index("┴") in range(drawn[11].index("now"), drawn[11].index("now") + 3)
    for letter in "APK":
        assert sum(line.count(letter) for line in drawn) == 1
    assert drawn[0].rstrip().endswith("K"), "the retention stays at its height"
    assert "A" in drawn[8] + drawn[9], "as things are it ends near the floor"


def test_history_comes_before_now_and_forecasts_after_it() -> None:
    drawn = picture(100, 20)
    now = drawn[18].index("┴")
    before = [line[7:now] for line in drawn[:18]]
    assert any("⠀" < char < "⣿" for char in "".join(before))
    assert not any(letter in "".join(before) for letter in "APK")
    short = replace(shown(disks.filling()).courses["mirror"], past=(), since=scenes.NOW - 1)
    assert text_of(plot_lines(short, 100, 20)[19]).split() == ["now", "+4h", "32m"]
    without = replace(shown(disks.filling()).courses["mirror"], past=(), since=scenes.NOW)
    assert "┴" in text_of(plot_lines(without, 100, 20)[18])[:8]


@pytest.mark.parametrize(("width", "height"), [(10, 20), (23, 20), (60, 4), (60, 0), (0, 0)])
def test_where_there_is_no_room_there_is_no_picture(width: int, height: int) -> None:
    assert picture(width, height) == []


@pytest.mark.parametrize("height", [5, 6, 9, 30])
@pytest.mark.parametrize("width", [24, 39, 40, 160])
def test_every_size_is_kept(width: int, height: int) -> None:
    for who in ("primary", "mirror"):
        drawn = picture(width, height, who)
        assert len(drawn) == height
        assert {len(line) for line in drawn} == {width}


# --- what is worked out, and how often


def test_a_prune_is_planned_once_per_survey_and_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(_survey: Survey, keep_last: int) -> dict[Role, int]:
        asked.append(keep_last)
        return {}

    monkeypatch.setattr(foresight_module, "freed_by_prune", counted)
    ahead, view = Foresight(), view_of(disks.filling())
    first = ahead.of(view, WhatIf())
    assert ahead.of(view, WhatIf()) == first
    ahead.of(view, WhatIf(interval=60.0))
    ahead.of(view, WhatIf(keep_last=3))
    ahead.of(view, WhatIf(keep_last=3, size=5))
    assert asked == [12, 3]
    ahead.of(view_of(disks.filling()), WhatIf())
    assert asked == [12, 3, 12]
    assert ahead.of(view_of(scenes.first_look()), WhatIf()) == {}


def test_of_very_many_rows_it_is_planned_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def counted(survey: Survey, _keep_last: int) -> dict[Role, int]:
        asked.append(survey.taken_at)
        return {}

    monkeypatch.setattr(foresight_module, "freed_by_prune", counted)
    monkeypatch.setattr(foresight_module, "MANY", 10)
    ahead = Foresight()
    for later in (0.0, 2.0, 59.0, 61.0, 62.0):
        survey = replace(disks.filling_survey(), taken_at=scenes.NOW + later)
        ahead.of(view_of(scenes.snapshot(survey=survey)), WhatIf())
    assert [at - scenes.NOW for at in asked] == [0.0, 61.0]
