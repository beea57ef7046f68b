from __future__ import annotations

from collections import Counter

import pytest

from ckptdeck.monitor.core_calls import PLANNERS
from ckptdeck.tui.actions import REGISTRY, Place, offered, refused
from ckptdeck.tui.app import ConsoleApp
from ckptdeck.tui.key_map import AS_BUILT
from ckptdeck.tui.rebinding import MEETINGS
from ckptdeck.tui.screens.activity import ActivityScreen
from ckptdeck.tui.screens.detail import DetailScreen
from ckptdeck.tui.screens.help import HelpScreen
from ckptdeck.tui.screens.in_flight import InFlightScreen
from ckptdeck.tui.screens.jobs import JobsScreen
from ckptdeck.tui.screens.modal import ScrollingModal
from ckptdeck.tui.screens.overview import Overview
from ckptdeck.tui.screens.plan_review import PlanReview
from ckptdeck.tui.screens.quarantine import QuarantineScreen
from ckptdeck.tui.screens.quit_guard import QuitGuard
from ckptdeck.tui.screens.reader import StoryReader
from ckptdeck.tui.screens.recovery import RecoveryScreen
from ckptdeck.tui.screens.space import SpaceScreen
from ckptdeck.tui.view_model.keys import footer_line, help_lines
from ckptdeck.tui.view_model.line import text_of, width_of
from ckptdeck.tui.view_model.view import Lock
from ckptdeck.tui.widgets.keyed_list import KeyedList

SCREENS = (
    Place.OVERVIEW, Place.IN_FLIGHT, Place.JOBS, Place.QUARANTINE, Place.RECOVERY, Place.SPACE, Place.ACTIVITY,
    Place.DETAIL, Place.STORY,
)  # fmt: skip
CHANGING = {
    "mirror", "mirror_kept", "repair", "restore", "prune", "quarantine", "rollback", "mark_bad", "unmark_bad",
    "put_back", "purge", "purge_all",
}  # fmt: skip
HANDLERS = {
    Place.OVERVIEW: Overview,
    Place.IN_FLIGHT: InFlightScreen,
    Place.JOBS: JobsScreen,
    Place.QUARANTINE: QuarantineScreen,
    Place.RECOVERY: RecoveryScreen,
    Place.SPACE: SpaceScreen,
    Place.ACTIVITY: ActivityScreen,
    Place.DETAIL: DetailScreen,
    Place.STORY: StoryReader,
    Place.LIST: KeyedList,
    Place.EVERYWHERE: ConsoleApp,
    Place.PLANNING: ConsoleApp,
    Place.DIALOG: ScrollingModal,
    Place.REVIEW: PlanReview,
    Place.QUIT: QuitGuard,
    Place.HELP: HelpScreen,
}


def test_no_key_is_dead() -> None:
    for action in REGISTRY:
        for place in action.places:
            assert hasattr(HANDLERS[place], f"action_{action.id}"), (action.id, place)


def test_every_place_meets_those_whose_keys_it_shares() -> None:
    assert {place for places in MEETINGS for place in places} == set(Place) - {Place.PLANNING}
    assert {places[0] for places in MEETINGS} == {*SCREENS, Place.REVIEW, Place.QUIT, Place.HELP}


@pytest.mark.parametrize("places", MEETINGS)
def test_no_key_means_two_things(places: tuple[Place, ...]) -> None:
    reachable = [a for a in REGISTRY if set(places) & set(a.places)]
    keys = Counter(key for action in reachable for key in action.keys)
    assert [key for key, number in keys.items() if number > 1] == []


def test_no_key_that_opens_a_review_confirms_one_and_none_needs_ctrl() -> None:
    for action in REGISTRY:
        assert "y" not in action.keys or set(action.places) <= {Place.REVIEW, Place.QUIT}
        assert any(not key.startswith("ctrl+") for key in action.keys)


@pytest.mark.parametrize("place", SCREENS)
@pytest.mark.parametrize("lock", Lock)
def test_the_footer_always_fits_and_keeps_help_and_the_way_out(place: Place, lock: Lock) -> None:
    for width in range(18, 200):
        footer = footer_line(place, lock, width, AS_BUILT)
        assert width_of(footer) == width
        assert " ? Help" in text_of(footer)
        assert " q " in text_of(footer)


def test_more_room_never_takes_a_key_away() -> None:
    seen: set[str] = set()
    for width in range(18, 200):
        shown = {piece.action for piece in footer_line(Place.OVERVIEW, Lock.UNLOCKED, width, AS_BUILT) if piece.action}
        assert seen <= shown
        seen = shown
    assert "screen.mirror" in seen


def test_what_changes_files_is_refused_while_locked_and_gone_when_read_only() -> None:
    free = {action.id for action in REGISTRY if not refused(action, Lock.LOCKED)}
    assert {"verify", "filter", "help", "adopt", "unlock", "recover"} <= free
    assert free.isdisjoint(CHANGING)
    left = {action.id for place in SCREENS for action in offered(place, Lock.READ_ONLY)}
    assert left.isdisjoint(CHANGING | {"adopt", "unlock", "recover"})
    assert {"recovery", "quarantined"} <= left
    assert not any(refused(action, Lock.UNLOCKED) for action in REGISTRY)
    assert {action.id for action in REGISTRY if refused(action, Lock.READ_ONLY)}.isdisjoint(left)


def test_every_plan_of_the_registry_is_one_of_the_engine() -> None:
    assert {action.plan for action in REGISTRY if action.plan} == set(PLANNERS) - {"start", "recover"}
    assert all(action.changes for action in REGISTRY if action.plan)


@pytest.mark.parametrize("place", SCREENS)
def test_no_two_hints_of_a_screen_have_one_rank(place: Place) -> None:
    ranks = Counter(action.rank for action in offered(place, Lock.UNLOCKED) if action.rank)
    assert [rank for rank, number in ranks.items() if number > 1] == []


def test_help_names_every_action_of_the_screen() -> None:
    text = "\n".join(text_of(line) for line in help_lines(Place.OVERVIEW, Lock.UNLOCKED, 200, AS_BUILT))
    for action in offered(Place.OVERVIEW, Lock.UNLOCKED):
        assert action.help in text
    assert "`" not in text
    assert text.index("Overview") < text.index("In every list") < text.index("Everywhere") < text.index("States")
