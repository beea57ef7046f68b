"""An operator's keys: what is refused before the console opens, and how the rest comes together."""

from __future__ import annotations

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.tui.actions import BY_ID, REGISTRY, Place
from ckptdeck.tui.key_map import AS_BUILT
from ckptdeck.tui.key_words import key_word, shown_keys, with_keys
from ckptdeck.tui.rebinding import key_map_of

FILE = "/home/op/config.toml"


def test_one_place_says_more_than_all_of_them_whatever_comes_first() -> None:
    keys = key_map_of({"detail.mirror": ("f7",), "mirror": ("d", "f6", "d")}, FILE)
    assert keys.rebound == {"overview.mirror": ("d", "f6"), "recovery.mirror": ("d", "f6"), "detail.mirror": ("f7",)}


def test_keys_may_change_places_and_what_is_given_up_is_free() -> None:
    keys = key_map_of({"overview.mirror": ("P",), "overview.prune": ("m",), "zoom": ("z",), "jobs.pause": ("l",)}, FILE)
    assert keys.rebound["jobs.pause"] == ("l",)
    assert key_map_of({}, FILE) == AS_BUILT


def test_the_words_are_those_of_the_place() -> None:
    keys = key_map_of({"adopt": ("d",), "recovery.adopt": ("question_mark", "f7"), "help": ("f1",)}, FILE)
    assert key_word(keys, Place.OVERVIEW, "adopt") == "d"
    assert key_word(keys, Place.RECOVERY, "adopt") == "?"
    assert key_word(keys, Place.JOBS, "adopt") == "d", "not at home there: as at its first place"
    assert key_word(keys, Place.JOBS, "help") == "f1"
    assert shown_keys(keys, BY_ID["adopt"], Place.RECOVERY) == "? f7"
    assert shown_keys(keys, BY_ID["down"], Place.OVERVIEW) == "j ↓"
    assert with_keys("{recovery|recover} {adopt}", keys, Place.RECOVERY) == "R ?"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"overview.mirrror": "d"}, "there is no action mirrror. Actions of overview are mirror,"),
        ({"over.mirror": "d"}, "there is no place over. Places are overview, in_flight, jobs,"),
        ({"jobs.mirror": "d"}, "mirror is no action of jobs. Write overview.mirror or recovery.mirror or"),
        ({"miror": "d"}, "keys.miror: there is no action miror. Actions are recover, mirror,"),
        ({"mirror": "ctrl+i"}, "keys.mirror: ctrl+i cannot be bound: terminals send the same for tab"),
        ({"mirror": "shift+m"}, "shift and a letter is no key of its own: write M"),
        ({"mirror": "strg+m"}, "keys.mirror: 'strg+m' is no key that every terminal has. Allowed: a letter"),
        ({"mirror": "V"}, "keys.mirror: V is the key of overview.verify already"),
        ({"overview.mirror": "V"}, "or choose another here. Letters that are free: b d f h m n"),
        ({"overview.mirror": "j"}, "j is the key of list.down already"),
        ({"overview.mirror": "?"}, "? is the key of everywhere.help already"),
        ({"everywhere.help": "p"}, "keys.everywhere.help: p is the key of jobs.pause already"),
        ({"space.reset": "j"}, "j is the key of space.down already"),
        ({"overview.mirror": "d", "overview.verify": "d"}, "verify: d is the key of overview.mirror already"),
        ({"review.confirm": "c"}, "keys.review.confirm: c is the key of review.copy already"),
        ({"review.confirm": "j"}, "keys.review.confirm: j is the key of dialog.down already"),
        ({"review.confirm": "enter"}, "enter is not free here: enter presses the button that changes nothing"),
        ({"quit.stop_and_quit": "enter"}, "keys.quit.stop_and_quit: enter is not free here"),
        ({"review.confirm": "1"}, "1 is not free here: a review takes a number"),
        ({"dialog.down": "backspace"}, "keys.dialog.down: backspace is not free here"),
        ({"mirror": "y"}, "keys.mirror: y would both ask, as "),
        ({"quit.stop_and_quit": "Q", "overview.leave": "Q", "quarantined": "O"}, "Q would both ask, as overview.leave"),
        ({"give_up": "d"}, "keys.give_up: d writes into a line that is being typed"),
        ({"give_up": "f5"}, "keys.give_up: f5 would be the key of both everywhere.rescan and planning.give_up"),
        ({"overview.mirror": "escape", "clear": "f8"}, "esc would be the key of both overview.mirror"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_said_with_the_file_and_the_entry(written: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError) as error:
        key_map_of({entry: (key,) for entry, key in written.items()}, FILE)
    assert str(error.value).startswith(f"{FILE}: keys.")
    assert says in str(error.value)


def test_no_key_that_asks_says_yes() -> None:
    for asks in (one for one in REGISTRY if one.plan):
        for key in asks.keys:
            with pytest.raises(UsageError, match=r"keys\.confirm: .* (would both ask|is the key of dialog)"):
                key_map_of({"confirm": (key,)}, FILE)
