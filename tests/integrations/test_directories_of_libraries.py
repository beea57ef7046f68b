"""Real checkpoints of real libraries: saved through us or found, copied, loaded again, damaged and repaired."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.deck import Deck, cut
from tests.integrations.extra import require_extra

require_extra()

from tests.integrations.libraries.contract import NAMES, Library, library  # noqa: E402

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
SHORT = 777
"""Bytes that a cut takes from the end of a file."""


@pytest.fixture
def deck(hour_ahead: None, deck: Deck) -> Deck:
    deck.init()
    return deck


@pytest.fixture(params=NAMES)
def saver(request: pytest.FixtureRequest) -> Library:
    return library(request.param)


def states(deck: Deck) -> dict[str, tuple[str, str]]:
    """State on the primary and on the mirror by name, as `status` says."""
    document = deck.run("status", deck.primary, "--json").document
    found: dict[str, dict[str, str]] = {}
    for side in ("primary", "mirror"):
        for one in document["sides"][side]["checkpoints"]:
            found.setdefault(one["name"], {})[side] = one["state"]
    return {name: (on.get("primary", "absent"), on.get("mirror", "absent")) for name, on in found.items()}


def test_what_was_saved_through_us_is_verified_copied_and_loads(deck: Deck, saver: Library) -> None:
    saved = saver.publish(deck.primary)
    assert states(deck) == {saver.checkpoint: ("verified", "absent")}
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    assert states(deck) == {saver.checkpoint: ("verified", "verified")}
    assert saver.load(deck.primary) == saved
    assert saver.load(deck.mirror) == saved


def test_what_was_found_fits_is_recorded_copied_and_loads(deck: Deck, saver: Library) -> None:
    saved = saver.save(deck.primary)
    assert states(deck) == {saver.checkpoint: ("structure-ok", "absent")}
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    assert states(deck) == {saver.checkpoint: ("verified", "absent")}
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    assert saver.load(deck.primary) == saved
    assert saver.load(deck.mirror) == saved
    assert states(deck) == {saver.checkpoint: ("verified", "verified")}


def test_a_copy_that_was_cut_is_told_and_repaired(deck: Deck, saver: Library) -> None:
    saved = saver.publish(deck.primary)
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    copy = deck.mirror / saver.checkpoint
    victim = largest_file(copy)
    size = victim.stat().st_size
    cut(victim, size - SHORT)
    inside = victim.relative_to(copy)
    which = f"{inside}: " if saver.is_directory else ""
    assert what_verify_says(deck) == ("truncated", f"{which}{size - SHORT} of {size} bytes, {SHORT} are missing")
    repair(deck, saver)
    assert saver.load(deck.mirror) == saved
    (bad,) = (entry for entry in (deck.mirror / ".ckptdeck" / "quarantine").iterdir() if entry.suffix != ".json")
    assert (bad / inside).stat().st_size == size - SHORT


def test_a_copy_that_lost_a_file_is_told_and_repaired(deck: Deck, saver: Library) -> None:
    if not saver.is_directory:
        return
    saved = saver.publish(deck.primary)
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    victim = deck.mirror / saver.checkpoint / saver.lost
    victim.unlink()
    state, reason = what_verify_says(deck)
    assert state == "incomplete"
    assert reason.startswith(f"{saver.lost} (")
    assert reason.endswith(") is not there")
    repair(deck, saver)
    assert saver.load(deck.mirror) == saved


def what_verify_says(deck: Deck) -> tuple[str, str]:
    """State and reason of the copy on the mirror; the primary's has to be verified."""
    ran = deck.run("verify", deck.primary, "--json", "--quiet")
    assert ran.code == 1
    found = {one["side"]: one for one in ran.document["results"]}
    assert found["primary"]["state"] == "verified"
    return found["mirror"]["state"], found["mirror"]["reason"]


def repair(deck: Deck, saver: Library) -> None:
    assert states(deck)[saver.checkpoint][0] == "verified"
    assert deck.run("repair", deck.primary, "--yes").code == 0
    assert states(deck) == {saver.checkpoint: ("verified", "verified")}


def largest_file(path: Path) -> Path:
    """The path itself if it is a file."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return max(files, key=lambda each: (each.stat().st_size, each))
