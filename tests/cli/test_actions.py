"""adopt, mirror, repair and recover: plan, confirm, do; what a dry run leaves alone; what a saved plan allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.deck import Deck, cut, data_of, flip


def _outcomes(document: dict[str, Any]) -> dict[str, str | None]:
    return {item["name"]: item["outcome"] for item in document["items"]}


def test_adopt_records_what_is_there(deck: Deck) -> None:
    deck.init()
    deck.put("step_0810.pt", data_of("a"))
    ran = deck.run("adopt", deck.primary, "--yes")
    assert ran.code == 0
    assert "+ record step_0810.pt on primary" in ran.out
    assert "adopt: 1 done" in ran.out
    assert deck.run("status", deck.primary, "--json").document["resume"]["step"] == 810


def test_mirror_copies_and_proves(deck: Deck) -> None:
    deck.recorded("step_0800.pt", "step_0810.pt")
    ran = deck.run("mirror", deck.primary, "--yes", "--json")
    assert ran.code == 0
    assert ran.document["schema"] == "ckptdeck.plan/1"
    assert ran.document["exit_code"] == 0
    assert _outcomes(ran.document) == {"step_0810.pt": "done", "step_0800.pt": "done"}
    assert (deck.mirror / "step_0810.pt").read_bytes() == (deck.primary / "step_0810.pt").read_bytes()
    assert all(json.loads(line)["schema"].startswith("ckptdeck.") for line in ran.err.splitlines())
    again = deck.run("mirror", deck.primary, "--yes")
    assert (again.code, "nothing to do" in again.out) == (0, True)


def test_mirror_takes_names_and_all(deck: Deck) -> None:
    deck.recorded(*(f"step_{number:02}.pt" for number in range(1, 16)))
    assert deck.run("mirror", deck.primary, "step_01.pt", "--yes").code == 0
    assert {path.name for path in deck.mirror.glob("*.pt")} == {"step_01.pt"}
    assert deck.run("mirror", deck.primary, "--yes").code == 0
    assert len(list(deck.mirror.glob("*.pt"))) == 13, "the twelve the retention keeps, and the one that was named"
    assert deck.run("mirror", deck.primary, "--all", "--yes").code == 0
    assert len(list(deck.mirror.glob("*.pt"))) == 15


def test_repair_takes_the_whole_side_s(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    cut(deck.mirror / "step_0800.pt", 100)
    ran = deck.run("repair", deck.primary, "--yes")
    assert ran.code == 0, ran.out
    assert (deck.mirror / "step_0800.pt").read_bytes() == data_of("step_0800.pt")
    (entry,) = deck.run("status", deck.primary, "--json").document["sides"]["mirror"]["quarantine"]
    assert entry["name"] == "step_0800.pt"


def test_a_repair_that_a_guard_stops_is_not_well(deck: Deck) -> None:
    deck.mirrored("step_0800.pt")
    flip(deck.mirror / "step_0800.pt")
    flip(deck.primary / "step_0800.pt")
    assert deck.run("verify", deck.primary).code == 1
    ran = deck.run("repair", deck.primary, "--yes")
    assert ran.code == 4
    assert "no good copy" in ran.out


@pytest.mark.parametrize("action", ["adopt", "mirror", "recover"])
def test_without_yes_and_a_terminal_nothing_happens(deck: Deck, action: str) -> None:
    deck.recorded("step_0800.pt")
    deck.put("step_0810.pt", data_of("b"))
    if action == "recover":
        deck.put("step_0820.pt.part", data_of("c"))
    before = deck.tree()
    ran = deck.run(action, deck.primary)
    assert ran.code == 4
    assert f"`ckptdeck {action} {deck.primary} {deck.mirror} --yes`" in ran.err
    assert deck.tree() == before
    refused = deck.run(action, deck.primary, "--json")
    assert (refused.document["code"], refused.document["guard"]) == ("refused", "not-confirmed")


@pytest.mark.parametrize("action", ["adopt", "mirror", "repair", "recover"])
def test_a_dry_run_writes_nothing(deck: Deck, action: str) -> None:
    deck.mirrored("step_0790.pt", "step_0800.pt")
    cut(deck.mirror / "step_0790.pt", 10)
    deck.put("step_0810.pt", data_of("b"))
    deck.put("step_0820.pt.part", data_of("c"))
    before = deck.tree()
    ran = deck.run(action, deck.primary, "--dry-run", "--json")
    assert ran.code == 0
    document = ran.document
    assert document["schema"] == "ckptdeck.plan/1"
    assert document["action"] == action
    assert set(document) == {
        "schema",
        "action",
        "confirm_count",
        "digest",
        "answer",
        "names",
        "options",
        "refused",
        "items",
        "frees",
        "frees_at_most",
        "needs",
    }
    assert document["items"]
    for item in document["items"]:
        assert {"name", "side", "action", "reason", "guard", "size"} <= set(item)
    assert deck.run(action, deck.primary, "--dry-run").code == 0
    assert deck.tree() == before


def test_a_name_a_guard_stops_is_a_refusal(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    deck.put("step_0810.pt", data_of("b"), age=3)
    for words in (("--dry-run",), ("--yes",)):
        ran = deck.run("mirror", deck.primary, "step_0810.pt", *words)
        assert ran.code == 4, words
        assert "age-guard" in ran.out
    assert deck.run("mirror", deck.primary, "--yes").code == 0, "without names a young file is the normal course"


NOW_CUT, YOUNG = "step_0800.pt", "step_0810.pt"


@pytest.mark.parametrize("how", ["--dry-run", "--yes"])
@pytest.mark.parametrize(
    ("words", "code", "waits"),
    [
        (("mirror", YOUNG), 4, True),
        (("adopt", YOUNG), 4, True),
        (("quarantine", NOW_CUT), 4, True),
        (("quarantine", YOUNG, "--side", "primary"), 4, True),
        (("repair", NOW_CUT), 4, True),
        (("mirror",), 0, True),
        (("mirror", "--all"), 0, True),
        (("adopt",), 0, True),
        (("quarantine",), 0, True),
        (("repair",), 0, True),
        (("prune",), 0, False),
        (("recover",), 0, False),
    ],
)
def test_what_was_named_and_is_held_back_is_a_refusal_and_what_was_not_waits(
    deck: Deck, words: tuple[str, ...], code: int, waits: bool, how: str
) -> None:
    """One young checkpoint on the primary, and one that was cut on the mirror a moment ago."""
    deck.mirrored(NOW_CUT)
    deck.put(YOUNG, data_of("b"), age=3)
    (deck.mirror / NOW_CUT).write_bytes(b"cut")
    ran = deck.run(words[0], deck.primary, *words[1:], how)
    assert ran.code == code
    assert ("held back for now (age-guard). Come back when nothing has written there for 5m" in ran.out) == waits


def test_some_names_done_and_some_stopped_is_3(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    deck.put("step_0810.pt", data_of("b"), age=3)
    ran = deck.run("mirror", deck.primary, "step_0810.pt", "step_0800.pt", "--yes", "--json")
    assert ran.code == 3
    assert _outcomes(ran.document) == {"step_0800.pt": "done", "step_0810.pt": "skipped"}


def test_a_saved_plan_does_what_was_reviewed_and_no_more(deck: Deck, tmp_path: Path) -> None:
    deck.recorded("step_0800.pt", "step_0810.pt")
    saved = tmp_path / "plan.json"
    saved.write_text(deck.run("mirror", deck.primary, "--dry-run", "--json").out)
    deck.put("step_0820.pt", data_of("new"))
    assert deck.run("adopt", deck.primary, "step_0820.pt", "--yes").code == 0
    (deck.primary / "step_0800.pt").unlink()
    deck.put("step_0800.pt", data_of("rewritten"))
    ran = deck.run("mirror", deck.primary, "--only-plan", saved, "--yes", "--json")
    assert ran.code == 0, ran.err
    assert {path.name for path in deck.mirror.glob("*.pt")} == {"step_0810.pt"}
    guards = {item["name"]: item["guard"] for item in ran.document["items"]}
    assert guards["step_0820.pt"] == "not-in-plan"


def test_a_saved_plan_brings_its_names_and_options(deck: Deck, tmp_path: Path) -> None:
    deck.recorded(*(f"step_{number:02}.pt" for number in range(1, 16)))
    saved = tmp_path / "plan.json"
    saved.write_text(deck.run("mirror", deck.primary, "--all", "--dry-run", "--json").out)
    assert deck.run("mirror", deck.primary, "--only-plan", saved, "--yes").code == 0
    assert len(list(deck.mirror.glob("*.pt"))) == 15


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not a saved plan"),
        ("[]", "not a saved plan"),
        ('{"schema": "ckptdeck.status/1"}', "not a saved plan"),
        ('{"schema": "ckptdeck.plan/1", "action": "adopt"}', "a plan of `adopt`"),
        ('{"schema": "ckptdeck.plan/1", "action": "mirror", "names": [], "options": {}, "items": [{}]}', "not a saved"),
    ],
)
def test_what_is_no_saved_plan_is_a_usage_error(deck: Deck, tmp_path: Path, content: str, says: str) -> None:
    deck.recorded("step_0800.pt")
    saved = tmp_path / "plan.json"
    saved.write_text(content)
    ran = deck.run("mirror", deck.primary, "--only-plan", saved, "--yes")
    assert ran.code == 2
    assert says in ran.err
    assert list(deck.mirror.glob("*.pt")) == []


def test_a_saved_plan_takes_no_names(deck: Deck, tmp_path: Path) -> None:
    deck.recorded("step_0800.pt")
    saved = tmp_path / "plan.json"
    saved.write_text(deck.run("mirror", deck.primary, "--dry-run", "--json").out)
    assert deck.run("mirror", deck.primary, "step_0800.pt", "--only-plan", saved, "--yes").code == 2


def test_an_uninitialised_set_is_refused_with_the_command_that_helps(deck: Deck) -> None:
    deck.put("step_0810.pt", data_of("a"))
    ran = deck.run("adopt", deck.primary, deck.mirror, "--yes")
    assert ran.code == 4
    assert f"`ckptdeck init {deck.primary} {deck.mirror}`" in ran.err


def test_mirror_without_a_mirror_is_a_usage_error(deck: Deck) -> None:
    assert deck.run("init", deck.primary).code == 0
    ran = deck.run("mirror", deck.primary, "--yes")
    assert ran.code == 2
    assert "init" in ran.err


def test_a_mirror_that_is_not_mounted_is_7_and_nothing_is_written_there(deck: Deck) -> None:
    deck.recorded("step_0810.pt")
    deck.mirror.rename(deck.base / "unplugged")
    deck.mirror.mkdir()
    ran = deck.run("mirror", deck.primary, "--yes")
    assert ran.code == 7
    assert list(deck.mirror.iterdir()) == []


def test_a_rotten_source_is_found_and_the_rest_goes_on(deck: Deck) -> None:
    deck.recorded("step_0800.pt", "step_0810.pt")
    flip(deck.primary / "step_0810.pt")
    ran = deck.run("mirror", deck.primary, "--yes")
    assert ran.code == 3
    assert "x copy step_0810.pt on mirror FAILED" in ran.out
    assert {path.name for path in deck.mirror.glob("*.pt")} == {"step_0800.pt"}


def test_what_was_done_is_written_down_with_its_command(deck: Deck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ckptdeck", "mirror", "./my run", "--yes"])
    deck.mirrored("step_0810.pt")
    lines = [json.loads(line) for line in (deck.mirror / ".ckptdeck" / "log.jsonl").read_text().splitlines()]
    assert lines[-1]["text"] == "mirror: 1 done"
    assert lines[-1]["command"] == "ckptdeck mirror './my run' --yes"
    assert lines[-1]["outcome"] == "done"


def test_recover_answers_first_and_a_second_run_changes_nothing(deck: Deck) -> None:
    deck.recorded("step_0800.pt")
    part = deck.put("step_0810.pt.part", data_of("c"))
    ran = deck.run("recover", deck.primary, "--yes")
    assert ran.code == 0
    assert f"resume from {deck.primary}/step_0800.pt, proven whole" in ran.out
    assert not part.exists()
    before = deck.tree()
    again = deck.run("recover", deck.primary, "--yes", "--json")
    assert again.code == 0
    assert again.document["resume"]["step"] == 800
    assert deck.tree() == before


def test_recover_says_8_when_nothing_is_whole_and_9_when_nothing_was_saved(deck: Deck) -> None:
    deck.init()
    for words in (("--yes",), ("--dry-run",)):
        assert deck.run("recover", deck.primary, *words).code == 9, words
    deck.put("step_0810.pt", data_of("a"))
    for words in (("--yes",), ("--dry-run",)):
        ran = deck.run("recover", deck.primary, *words)
        assert ran.code == 8, words
        assert "step_0810.pt" in ran.err
    document = deck.run("recover", deck.primary, "--yes", "--json").document
    assert (document["resume"], document["error"]["code"]) == (None, "nothing-whole")
