"""A console whose every key is another one: they work, the old ones do not, and no sentence names an old one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.widgets import OptionList

from ckptdeck.core.plans.mend import plan_mend
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.states import Role, State
from ckptdeck.core.survey import ResumePoint
from ckptdeck.monitor.snapshot import Snapshot
from ckptdeck.tui.actions import BY_ID, REGISTRY, Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_names import shown_key
from ckptdeck.tui.key_words import binding_id
from ckptdeck.tui.rebinding import key_map_of
from ckptdeck.tui.view_model.keys import help_lines
from ckptdeck.tui.view_model.line import Ink, Line, text_of
from ckptdeck.tui.view_model.view import Lock
from ckptdeck.tui.widgets.painted import Painted
from tests.tui import aftermath, scenes
from tests.tui.console import Console, open_console
from tests.tui.run_in_trouble import in_trouble

LETTERS = [chr(code) for code in (*range(0x410, 0x450), *range(0x10D0, 0x10FB), *range(0x561, 0x587))]
BINDINGS = [binding_id(action, place) for action in REGISTRY for place in action.places]
OTHER = {**dict(zip(BINDINGS, LETTERS, strict=False)), "planning.give_up": "f9"}
"""Letters that no sentence of the console holds."""
KEYS: KeyMap = key_map_of({binding: (key,) for binding, key in OTHER.items()}, "config.toml")
OLD = {word for action in REGISTRY for word in action.shown.split()} | {"ctrl+p"}
NUMBERS = {"68"}
"""What has to be typed is shown in the ink of keys too."""
ALSO_WORDS = {"a", "space", "home", "end", "!", "?", "/", "*", "0", ":", "→", "←", "↑"}
"""Old keys that stand for something else too, in plain ink: articles, glyphs, paths, and the arrows of a text field."""


@asynccontextmanager
async def rebound(
    snapshot: Snapshot | None = None, size: tuple[int, int] = (120, 40), *, locked: bool = False
) -> AsyncIterator[Console]:
    async with open_console(snapshot, size, start_locked=locked, keys=KEYS) as console:
        yield console


async def press(console: Console, *bindings: str) -> None:
    await console.press(*(OTHER[binding] for binding in bindings))


def names_no_old_key(console: Console) -> None:
    """What is shown in the ink of keys is one of the new, and no word of the rest is an old one. A plot has letters for
    its lines."""
    screen = console.app.screen
    painted = [each for each in screen.query(Painted) if each.id not in ("legend", "plot-first", "plot-second")]
    lines = [row.line for each in painted for row in each._rows]
    offers = [str(option.prompt) for offered in screen.query(OptionList) for option in offered.options]
    no_old_key_in(lines, (*offers, console.said))


def no_old_key_in(lines: Iterable[Line], sentences: Iterable[str] = ()) -> None:
    new = {shown_key(key) for key in OTHER.values()} | NUMBERS
    for line in lines:
        keys = {word for piece in line if piece.ink is Ink.KEY for word in piece.text.split()}
        assert keys <= new, line
    for told in (*map(text_of, lines), *sentences):
        words = {word.strip("().;,:") or word for word in told.split()}
        assert words.isdisjoint(OLD - ALSO_WORDS), told


def test_every_action_has_another_key() -> None:
    assert len(LETTERS) >= len(BINDINGS)
    assert len(set(OTHER.values())) == len(BINDINGS)
    assert not {key for action in REGISTRY for key in action.keys} & set(OTHER.values())


async def test_every_screen_names_the_keys_in_force() -> None:
    ways = {
        "overview.zoom": "DetailScreen", "overview.activity": "ActivityScreen", "overview.in_flight": "InFlightScreen",
        "overview.jobs": "JobsScreen", "overview.quarantined": "QuarantineScreen", "overview.space": "SpaceScreen",
        "overview.recovery": "RecoveryScreen",
    }  # fmt: skip
    async with rebound(in_trouble()) as console:
        for way, screen in ways.items():
            await press(console, "list.down", way)
            assert console.at == screen
            names_no_old_key(console)
            place = console.app.screen.PLACE  # type: ignore[attr-defined]
            await press(console, f"{place.name.lower()}.{'close' if place is Place.DETAIL else 'back'}")
            assert console.at == "Overview"
        await press(console, "overview.jobs", "jobs.zoom")
        assert console.at == "StoryReader"
        names_no_old_key(console)


async def test_the_help_page_names_the_keys_in_force() -> None:
    async with rebound() as console:
        await press(console, "everywhere.help")
        moving = f"{OTHER['dialog.down']} {OTHER['dialog.up']} scroll  {OTHER['help.close_help']} close"
        assert moving in console.text
        names_no_old_key(console)
        await press(console, "dialog.last")
        assert "Text selection" in console.text
        await console.press("escape", "q")
        assert console.at == "HelpScreen"
        await press(console, "help.close_help")
        assert console.at == "Overview"
    for place in Place:
        no_old_key_in(help_lines(place, Lock.UNLOCKED, 100, KEYS))
    text = "\n".join(map(text_of, help_lines(Place.RECOVERY, Lock.UNLOCKED, 200, KEYS)))
    assert f"its name is missing; {OTHER['recovery.recover']} finishes it" in text


async def test_every_way_of_looking_names_the_keys_in_force() -> None:
    async with rebound(in_trouble(), (100, 40)) as console:
        await press(console, "overview.problems", "overview.choose", "overview.choose", "overview.pause_view")
        assert f"{OTHER['overview.pause_view']} goes on" in console.text
        assert f"{OTHER['overview.verify']} Verify 1" in console.text
        names_no_old_key(console)
        await press(console, "overview.clear", "overview.filter")
        await console.press(*"zzz")
        assert f" {OTHER['overview.filter']} zzz" in console.text
        assert f"No row matches.  {OTHER['overview.clear']} shows all again." in console.text
        await console.press("enter")
        names_no_old_key(console)
        await press(console, "overview.clear", "everywhere.palette")
        await console.app.workers.wait_for_complete()
        await console.settle()
        assert f"Mirror all  ({OTHER['overview.mirror_kept']})" in console.text
        names_no_old_key(console)


async def test_what_is_said_of_a_lock_and_of_a_way_out_names_the_keys_in_force() -> None:
    async with rebound(in_trouble(), locked=True) as console:
        await press(console, "overview.mirror")
        assert f"Press {OTHER['everywhere.unlock']} to unlock" in console.said
        await console.press("ctrl+c")
        assert f"{OTHER['overview.leave']} quits." in console.said
        await press(console, "everywhere.palette")
        await console.app.workers.wait_for_complete()
        await console.settle()
        assert f"(locked: {OTHER['everywhere.unlock']} unlocks)" in console.text
        names_no_old_key(console)


async def test_the_first_line_names_the_keys_in_force() -> None:
    for point, action in ((State.STRUCTURE_OK, "adopt"), (State.SIZE_ONLY, "verify")):
        survey = scenes.survey()
        resume = ResumePoint(scenes.name_of(2500), 2500, Role.PRIMARY, "/data/ckpt/a", point, None, None, certain=False)
        snapshot = scenes.snapshot(survey=replace(survey, resume=resume))
        async with rebound(snapshot) as console:
            assert f"; {OTHER[f'overview.{action}']} " in console.text
            await press(console, "overview.recovery")
            assert f"; {OTHER[f'recovery.{action}']} " in console.text
            names_no_old_key(console)
    for snapshot in (scenes.day_one(), aftermath.after_reboot(), aftermath.kept_everything()):
        async with rebound(snapshot) as console:
            names_no_old_key(console)


async def test_reviews_and_the_question_at_the_end_name_the_keys_in_force_and_obey_them() -> None:
    async with rebound(aftermath.kept_everything(), (100, 30)) as console:
        plan = console.engine.plans["prune"] = aftermath.prune_plan()
        await press(console, "overview.prune")
        assert f"then {OTHER['review.confirm']}:" in console.text
        assert f"{OTHER['review.copy']} Copy command" in console.text
        names_no_old_key(console)
        await console.press("6", "8", "y", "c", OTHER["overview.prune"])
        assert (console.at, console.engine.submitted) == ("PlanReview", [])
        names_no_old_key(console)
        await press(console, "review.confirm")
        assert console.engine.submitted == [plan]
    async with rebound(scenes.busy_snapshot(), (100, 30)) as console:
        await press(console, "overview.leave")
        assert f"{OTHER['quit.stop_and_quit']} Stop them and quit   {OTHER['quit.stay']} Stay" in console.text
        names_no_old_key(console)
        await console.press("y", "escape", "n")
        assert console.at == "QuitGuard"
        await press(console, "quit.stay")
        assert console.at == "Overview"


async def test_enter_confirms_nothing_and_a_review_stays_deaf_at_first() -> None:
    async with rebound() as console:
        await press(console, "overview.mirror")
        await console.press("enter")
        assert (console.at, console.engine.submitted) == ("Overview", [])
    async with open_console(start_locked=False, keys=KEYS, monotonic=lambda: 5.0) as console:
        await press(console, "overview.mirror", "review.confirm")
        assert (console.at, console.engine.submitted) == ("PlanReview", [])


async def test_a_plan_that_is_being_made_is_given_up_with_the_key_in_force() -> None:
    async with rebound(in_trouble()) as console:
        console.engine.thinking = True
        await press(console, "overview.prune")
        await console.update()
        assert "f9 Give up" in console.text
        names_no_old_key(console)
        await console.press("escape")
        assert "planning" in console.text
        await console.press("f9")
        assert "planning" not in console.text


async def test_recovery_names_the_keys_in_force() -> None:
    snapshot = aftermath.after_reboot()
    async with rebound(snapshot) as console:
        assert snapshot.survey is not None
        console.engine.plans["mend"] = plan_mend(snapshot.survey)
        await press(console, "overview.recovery")
        assert f"{OTHER['recovery.recover']} reviews them, {OTHER['review.confirm']} takes them" in console.text
        for _ in range(6):
            names_no_old_key(console)
            await press(console, "list.down")
        await press(console, "recovery.recover", "review.confirm")
        assert len(console.engine.submitted) == 1


async def test_the_old_keys_do_nothing() -> None:
    async with rebound(in_trouble(), (80, 24)) as console:
        before = console.text
        await console.press(*dict.fromkeys(action.keys[0] for action in REGISTRY if action.plan or 0 < action.rank < 4))
        assert (console.at, console.text, console.engine.asked) == ("Overview", before, [])


async def test_a_key_of_the_operator_s_is_a_letter_like_others_in_the_filter() -> None:
    keys = key_map_of({"overview.mirror": ("1",), "everywhere.rescan": ("2",), "down": ("t",)}, "config.toml")
    async with open_console(start_locked=False, keys=keys) as console:
        await console.press("slash", "1", "2", "t")
        assert " / 12t" in console.text
        assert console.engine.asked == []
        await console.press("escape", "2", "t", "1")
        assert [asked[0] for asked in console.engine.asked] == ["rescan", "mirror"]


async def test_a_swap_of_two_keys_does_what_it_says() -> None:
    keys = key_map_of({"overview.mirror": ("P",), "overview.prune": ("m", "f6")}, "config.toml")
    item = PlanItem("a.pt", Role.MIRROR, Act.DELETE, "")
    async with open_console(start_locked=False, keys=keys) as console:
        console.engine.plans["prune"] = Plan("prune", (item,))
        for key, asked in (("P", "mirror"), ("m", "prune"), ("f6", "prune")):
            await console.press(key, "escape")
            assert console.engine.asked[-1][0] == asked
        assert " P Mirror" in console.text
        assert " m Prune" in console.text


def test_an_id_stands_for_one_action() -> None:
    assert len(BY_ID) == len(REGISTRY)
