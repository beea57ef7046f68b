from __future__ import annotations

import base64
import re
from dataclasses import replace

import pytest

from ckptdeck.core.states import Role, Verdict
from ckptdeck.tui.view_model.alarm import notification
from ckptdeck.tui.widgets.pair_table import PairTable
from tests.tui import scenes
from tests.tui.console import Console, open_console

STEP = scenes.name_of


def table_of(console: Console) -> PairTable:
    return console.app.screen_stack[0].query_one(PairTable)


async def test_the_first_second_answers_everything() -> None:
    async with open_console() as console:
        lines = console.text.splitlines()
        assert len(lines) == 24
        assert lines[0].split() == ["ckptdeck", "llama-ft-07", "LOCKED", "1", "trouble", "14:32:07"]
        assert lines[1].startswith(" RESUME 2500  whole on both sides, verified 3m ago")
        assert lines[1].endswith("saving now")
        assert "free 131G" in lines[2]
        assert "full in 3d 4h" in lines[2]
        assert "full in 1h 10m  ! 6 fit" in lines[3]
        assert lines[2].index("free") == lines[3].index("free")
        assert "~ part 71%" in lines[5]
        assert "in-flight" in lines[5]
        assert "✗ TRUNCATED   1.82/2.47G  repair" in console.text
        assert lines[23].endswith("q Quit  ? Help")


async def test_it_paints_before_the_first_scan_and_starts_the_engine_once() -> None:
    async with open_console(scenes.first_look()) as console:
        assert "Looking at /data/ckpt and /mnt/d/ckpt" in console.text
        assert "scanning /data/ckpt" in console.text
        assert console.engine.started == 1
        await console.update(survey=scenes.survey())
        assert "RESUME 2500" in console.text
        assert console.engine.started == 1


async def test_a_failed_scan_says_why() -> None:
    snapshot = replace(scenes.first_look(), error="Permission denied (EACCES): /data/ckpt. Run it as the owner.")
    async with open_console(snapshot) as console:
        assert "Nothing could be looked at." in console.text
        assert "Run it as the owner." in console.text


async def test_every_size_keeps_the_answer_the_rows_and_the_way_out() -> None:
    async with open_console(scenes.busy_snapshot()) as console:
        for width, height in ((160, 45), (120, 30), (80, 24), (40, 12), (30, 8), (20, 4), (200, 60)):
            await console.resize(width, height)
            lines = console.text.splitlines()
            assert len(lines) == height
            assert "RESUME 2500" in lines[1] + lines[2]
            assert "?" in lines[-1]
            assert "q " in lines[-1]
            assert height < 8 or "2500" in "\n".join(lines[4:])


async def test_a_wide_terminal_has_more_columns_and_a_pane() -> None:
    async with open_console(size=(160, 45)) as console:
        await console.press("G", "k", "k", "k", "k")
        for word in ("size", "saved", "410M/s", "2,470,000,000 bytes", "published 47h ago on node07", "failed finding"):
            assert word in console.text


async def test_the_screen_follows_a_resize() -> None:
    async with open_console(size=(160, 45)) as console:
        await console.resize(60, 14)
        assert len(console.text.splitlines()) == 14
        assert "✓✓" in console.text
        await console.resize(80, 24)
        assert "✓ verified" in console.text


async def test_the_cursor_stays_on_its_checkpoint() -> None:
    async with open_console() as console:
        table = table_of(console)
        await console.press("j", "j", "down")
        assert table.cursor_key == STEP(2400)
        rows = scenes.survey().steps
        newer = scenes.step_row(scenes.verified(2600, 1, 1), None, Verdict.MIRROR_ME, "")
        await console.update(survey=scenes.survey([newer, *rows]))
        assert table.cursor_key == STEP(2400)
        await console.press("o", "o")
        assert table.cursor_key == STEP(2400)
        await console.update(survey=scenes.survey(row for row in rows if row.step != 2400))
        assert table.cursor_key in {STEP(2350), STEP(2450)}


async def test_all_ways_to_move() -> None:
    async with open_console(scenes.many(200)) as console:
        table = table_of(console)
        for keys, place in (
            (("G",), 201), (("k", "up"), 199), (("g",), 0), (("pagedown",), table.page), (("pageup",), 0),
            (("end",), 201), (("home",), 0), (("ctrl+d",), table.page), (("ctrl+u",), 0),
        ):  # fmt: skip
            await console.press(*keys)
            assert table.cursor_index == min(place, len(table.keys) - 1), keys
            assert "▸" in console.text


async def test_ten_thousand_rows_filter_and_scroll() -> None:
    async with open_console(scenes.many(10_000)) as console:
        table = table_of(console)
        await console.press("slash", *"99", "enter")
        assert 0 < len(table.keys) < 400
        assert f"{len(table.keys)} of 10,001" in console.text
        await console.press("escape", "G")
        assert len(table.keys) == 10_001
        assert table.cursor_index == 10_000


async def test_a_filter_takes_and_leaves_out() -> None:
    async with open_console() as console:
        table = table_of(console)
        await console.press("slash", *"-safe")
        assert STEP(2500) not in table.keys
        assert STEP(1750) in table.keys
        await console.press("enter", "j")
        assert "/ -safe" in console.text
        await console.press("escape")
        assert STEP(2500) in table.keys
        await console.press("slash", *"zz", "enter")
        assert "No row matches." in console.text


async def test_letters_typed_into_a_filter_act_on_nothing() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("slash", *"mARVq")
        assert console.engine.asked == []
        assert len(console.app.screen_stack) == 1


async def test_problems_shows_only_those_and_the_trouble_in_words() -> None:
    async with open_console() as console:
        await console.press("exclamation_mark")
        assert table_of(console).keys == (STEP(1750),)
        assert scenes.TROUBLE[0] in console.text
        await console.press("exclamation_mark")
        assert STEP(2500) in table_of(console).keys


async def test_chosen_rows_survive_a_sort_and_a_scan_and_are_what_is_acted_on() -> None:
    async with open_console(start_locked=False) as console:
        await console.press("j", "v", "v", "o")
        await console.update(survey=scenes.survey())
        assert "●" in console.text
        await console.press("V")
        assert console.engine.asked == [("verify", (STEP(2500), STEP(2450)))]
        assert not table_of(console).chosen


async def test_choose_all_takes_only_what_is_shown() -> None:
    async with open_console() as console:
        await console.press("slash", *"2450", "enter", "asterisk")
        assert table_of(console).chosen == {STEP(2450)}
        await console.press("asterisk")
        assert not table_of(console).chosen


async def test_copying_never_claims_more_than_it_knows() -> None:
    async with open_console() as console:
        await console.press("c")
        assert console.app.clipboard == "python train.py --resume /data/ckpt/step_2500.pt"
        assert "Sent to the terminal" in console.said
        await console.press("j", "j", "C")
        assert console.app.clipboard == "/data/ckpt/step_2450.pt"


async def test_hostile_names_are_shown_escaped_everywhere() -> None:
    async with open_console(scenes.hostile(), start_locked=False) as console:
        for _ in scenes.HOSTILE[:5]:
            await console.press("j", "C")
        await console.press("asterisk", "m")
        assert "\\e]0;owned" in console.text
        await console.press("escape", "V", "i", "q")
        await console.resize(160, 45)
        text = console.text
        assert "step_1000[best].pt" in text
        assert "\\e]0;owned" in text
        assert "bad\\xff\\xfe.pt" in text
        assert all(char.isprintable() for line in text.splitlines() for char in line)
        assert all(char.isprintable() or char == "\n" for char in console.said)
        base64.b64encode(console.app.clipboard.encode("utf-8"))
        assert "owned" in console.app.export_screenshot()


async def test_a_mirror_that_is_not_there_says_why_and_what_to_do() -> None:
    async with open_console(scenes.mirror_gone()) as console:
        assert "NOT MOUNTED" in console.text
        assert "Mount it; it is looked at again by" in console.text
        assert "? not seen" in console.text
        assert "absent" not in console.text


async def test_an_empty_run_says_what_it_waits_for() -> None:
    bare = scenes.survey([], resume=None)
    primary = replace(bare.primary, inventory=replace(bare.primary.inventory, in_flight=()), checkpoints=())
    async with open_console(scenes.snapshot(survey=replace(bare, primary=primary), trouble=())) as console:
        assert "No checkpoint yet." in console.text
        assert "RESUME none  nothing saved yet: a fresh run" in console.text
        await console.press("m", "V", "C", "c", "v", "space", "z", "j", "G")
        assert console.engine.asked == []


async def test_without_a_mirror_there_is_one_column_and_a_warning() -> None:
    seen = scenes.survey()
    rows = [replace(row, mirror=None, verdict=Verdict.AT_RISK) for row in seen.steps if row.primary]
    alone = replace(seen, mirror=None, steps=tuple(rows), space={Role.PRIMARY: seen.space[Role.PRIMARY]})
    async with open_console(scenes.snapshot(survey=alone, mirror=None)) as console:
        assert "one disk is all there is" in console.text
        assert "absent" not in console.text
        assert "at-risk" in console.text


async def test_new_trouble_rings_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_console() as console:
        rung: list[bool] = []
        notified: list[str] = []
        monkeypatch.setattr(console.app, "bell", lambda: rung.append(True))
        monkeypatch.setattr(console.app, "write_to_terminal", notified.append)
        await console.update()
        assert rung == []
        await console.update(trouble=(*scenes.TROUBLE, "The primary is full in 12m."))
        await console.update(trouble=(*scenes.TROUBLE, "The primary is full in 11m."))
        assert len(rung) == 1
        assert notified == ["\x1b]9;ckptdeck: The primary is full in 12m.\x07"]
        assert "full in 12m" in console.said
    async with open_console(bell=False) as console:
        monkeypatch.setattr(console.app, "bell", lambda: rung.append(True))
        monkeypatch.setattr(console.app, "write_to_terminal", notified.append)
        await console.update()
        await console.update(trouble=(*scenes.TROUBLE, "The primary is full in 12m."))
        assert (len(rung), len(notified)) == (1, 1)
        assert "full in 12m" in console.said


async def test_trouble_rings_once_for_each_copy_whatever_its_reason() -> None:
    def writes(step: int, how: str) -> str:
        return f"step_{step}.pt on primary is being written under its final name: {how}"

    async with open_console() as console:
        await console.update()
        await console.update(trouble=(writes(2550, "pid 5 writes directly"),))
        await console.update(trouble=(writes(2550, "its size changed between two looks"),))
        assert console.said == writes(2550, "pid 5 writes directly")
        await console.update(trouble=(writes(2550, "pid 6 writes directly"), writes(2600, "pid 5 writes directly")))
        assert console.said.endswith(writes(2600, "pid 5 writes directly"))


def test_no_name_ends_a_notification_or_acts_on_the_terminal() -> None:
    for name in scenes.HOSTILE:
        told = notification(f"{name} is cut")
        assert told.startswith("\x1b]9;ckptdeck: ")
        assert told.endswith("\x07")
        assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", told[2:-1])
        assert len(told) < 250


async def test_a_click_and_the_wheel_move_the_cursor() -> None:
    async with open_console() as console:
        await console.click("PairTable", 5, 4)
        assert table_of(console).cursor_key == STEP(2400)
        await console.click("#footer", 12, 0)
        assert console.engine.asked == [("adopt", ())]


async def test_settings_of_the_view_are_handed_back() -> None:
    async with open_console() as console:
        await console.press("o", "T")
        assert console.app.view_state.order == "oldest"
        assert console.app.view_state.theme == "light"


async def test_unknown_remembered_settings_are_ignored() -> None:
    from ckptdeck.monitor.view_state import ViewState

    async with open_console(view_state=ViewState(order="sideways", theme="mauve")) as console:
        assert console.app.view_state == ViewState()


async def test_no_colour_means_no_colour_and_a_visible_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_console(no_colour=True) as console:
        strips = console.app.screen._compositor.render_strips()
        table_top = 5
        assert any(segment.style and segment.style.reverse for segment in strips[table_top])
        assert not any(segment.style and segment.style.reverse for segment in strips[table_top + 1])
        await console.press("T")
        assert "NO_COLOR" in console.said


async def test_ascii_terminals_get_ascii() -> None:
    async with open_console(scenes.hostile(), ascii=True) as console:
        assert console.text.isascii()
        assert "+ verified" in console.text
