"""mark-bad and unmark-bad: what a person knows about a content, kept in both records."""

from __future__ import annotations

from tests.cli.deck import Deck, data_of


def test_a_mark_makes_both_copies_bad_and_can_be_taken_back(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    ran = deck.run("mark-bad", deck.primary, "step_0810.pt")
    assert ran.code == 0
    assert "+ mark-bad step_0810.pt on primary  marked bad" in ran.out
    assert "+ mark-bad step_0810.pt on mirror  marked bad" in ran.out
    status = deck.run("status", deck.primary, "--json").document
    assert status["resume"]["name"] == "step_0800.pt"
    ran = deck.run("unmark-bad", deck.primary, "step_0810.pt", "--json")
    assert ran.document == {
        "schema": "ckptdeck.unmark-bad/1",
        "checkpoints": [{"name": "step_0810.pt", "sides": ["primary", "mirror"]}],
    }
    assert deck.run("status", deck.primary, "--json").document["resume"]["name"] == "step_0810.pt"


def test_what_was_verified_while_it_was_marked_is_judged_by_its_hash_again(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    assert deck.run("mark-bad", deck.primary, "step_0810.pt").code == 0
    assert deck.run("verify", deck.primary, "step_0810.pt").code == 1
    assert deck.run("unmark-bad", deck.primary, "step_0810.pt").code == 0
    assert deck.run("quarantine", deck.primary, "step_0810.pt", "--dry-run").out.count("not bad") == 2
    assert deck.run("verify", deck.primary, "step_0810.pt").code == 0
    assert deck.run("status", deck.primary, "--json").document["resume"]["name"] == "step_0810.pt"


def test_what_has_no_record_cannot_be_marked(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    deck.put("step_0810.pt", data_of("new"))
    ran = deck.run("mark-bad", deck.primary, "step_0810.pt")
    assert (ran.code, "ckptdeck adopt step_0810.pt" in ran.out) == (4, True)
    assert deck.run("mark-bad", deck.primary).code == 2
    assert deck.run("mark-bad", deck.primary, "nowhere.pt").code == 2


def test_a_mark_that_is_there_already_is_well(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    assert deck.run("mark-bad", deck.primary, "step_0800.pt").code == 0
    again = deck.run("mark-bad", deck.primary, "step_0800.pt")
    assert (again.code, "marked bad already" in again.out) == (0, True)
