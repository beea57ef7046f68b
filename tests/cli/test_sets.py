"""init, pin, unpin and config: what a set is told, and what it tells back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckptdeck.core.policy import POLICY_TEMPLATE
from tests.cli.deck import Deck, cut, data_of


def test_init_says_what_it_found_and_what_to_do_next(deck: Deck) -> None:
    deck.put("step_0800.pt", data_of("a"))
    deck.put("step_0810.pt", data_of("b"))
    deck.put("notes.txt", b"hello")
    ran = deck.run("init", deck.primary, deck.mirror)
    assert ran.code == 0
    assert f"control directory {deck.control} (made)" in ran.out
    assert "2 checkpoints single-file, 40.0 kB, steps 800 to 810, like step_0810.pt" in ran.out
    assert "1 other name, never touched, like notes.txt" in ran.out
    assert f"ckptdeck adopt {deck.primary} {deck.mirror}" in ran.out
    assert (deck.control / "ckptdeck.toml").read_text() == POLICY_TEMPLATE
    assert {path.name for path in deck.primary.iterdir()} == {"step_0800.pt", "step_0810.pt", "notes.txt"}


def test_init_again_changes_nothing(deck: Deck) -> None:
    deck.init()
    before = {path: state for path, state in deck.tree().items() if not path.endswith("log.jsonl")}
    ran = deck.run("init", deck.primary, deck.mirror)
    assert ran.code == 0
    assert "(was there already)" in ran.out
    assert {path: state for path, state in deck.tree().items() if not path.endswith("log.jsonl")} == before


def test_init_as_a_document(deck: Deck) -> None:
    deck.put("step_0800.pt", data_of("a"))
    document = deck.run("init", deck.primary, deck.mirror, "--run-id", "llama", "--json").document
    assert document["schema"] == "ckptdeck.init/1"
    assert document["run_id"] == "llama"
    assert document["sides"]["primary"]["control_path"] == str(deck.control)
    assert document["sides"]["mirror"]["created"] is True
    assert document["families"] == {"primary": {"single-file": 1}, "mirror": {}}
    assert document["next"][0]["command"] == f"ckptdeck adopt {deck.primary} {deck.mirror}"


def test_a_new_mirror_must_be_typed(deck: Deck) -> None:
    deck.init()
    other = deck.base / "other"
    other.mkdir()
    ran = deck.run("init", deck.primary, other)
    assert (ran.code, "--new-mirror" in ran.err) == (7, True)
    assert deck.run("init", deck.primary, other, "--new-mirror").code == 0
    assert deck.run("status", deck.primary, "--json").document["sides"]["mirror"]["path"] == str(other)
    assert deck.run("init", deck.primary, "--forget-mirror").code == 0
    assert deck.run("status", deck.primary, "--json").document["sides"]["mirror"] is None


def test_init_takes_one_change_of_the_pairing_at_a_time(deck: Deck) -> None:
    assert deck.run("init", deck.primary, "--new-mirror", "--forget-mirror").code == 2


def test_init_of_a_directory_that_is_not_there_is_7(deck: Deck) -> None:
    assert deck.run("init", deck.base / "nowhere").code == 7


def test_init_inside(deck: Deck) -> None:
    assert deck.run("init", deck.primary, "--inside").code == 0
    assert (deck.primary / ".ckptdeck" / "set.json").exists()


def test_a_pin_is_written_to_both_sides_and_taken_back(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    ran = deck.run("pin", deck.primary, "step_0810.pt", "--reason", "best so far")
    assert (ran.code, ran.out) == (0, "step_0810.pt pinned on primary and mirror\n")
    for control in (deck.control, deck.mirror / ".ckptdeck"):
        assert "best so far" in (control / "pins" / "step_0810.pt").read_text()
    document = deck.run("unpin", deck.primary, "step_0810.pt", "--json").document
    assert document == {
        "schema": "ckptdeck.unpin/1",
        "checkpoints": [{"name": "step_0810.pt", "sides": ["primary", "mirror"]}],
    }
    assert deck.run("unpin", deck.primary, "step_0810.pt").code == 2


def test_a_pin_stops_a_repair(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    deck.run("pin", deck.primary, "step_0810.pt")
    cut(deck.mirror / "step_0810.pt", 5)
    ran = deck.run("repair", deck.primary, "--yes")
    assert ran.code == 4
    assert "pinned" in ran.out


def test_a_pin_of_what_is_gone_can_be_taken_back(deck: Deck) -> None:
    deck.recorded("step_0810.pt")
    deck.run("pin", deck.primary, "step_0810.pt")
    (deck.primary / "step_0810.pt").unlink()
    (deck.control / "manifest" / "step_0810.pt.json").unlink()
    assert deck.run("unpin", deck.primary, "step_0810.pt").code == 0


def test_config_tells_what_is_in_force_and_from_where(deck: Deck, tmp_path: Path) -> None:
    deck.init()
    (deck.control / "ckptdeck.toml").write_text("[prune]\nkeep_last = 5\n")
    mine = tmp_path / "config" / "ckptdeck" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text('[console]\nmouse = false\n[keys]\n"overview.mirror" = ["f6", "D"]\n')
    ran = deck.run("config", deck.primary)
    assert ran.code == 0
    assert f"policy: {deck.control}/ckptdeck.toml" in ran.out
    rows = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line.startswith("  ")}
    assert rows["prune.keep_last"] == ["5", "set"]
    assert rows["prune.min_age"] == ['"5m"', "default"]
    assert rows["console.mouse"] == ["false", "set"]
    assert rows["keys.overview.mirror"] == ["f6", "D", "set"]
    assert f"your file: {mine}" in ran.out
    document = deck.run("config", deck.primary, "--json").document
    assert document["policy"]["values"]["prune.keep_last"] == {"value": "5", "default": False}
    assert document["user"]["console.mouse"] is False
    assert document["user"]["keys.overview.mirror"] == ["f6", "D"]
    mine.write_text('[keys]\n"overview.mirrror" = "D"\n')
    wrong = deck.run("config", deck.primary)
    assert (wrong.code, "there is no action mirrror" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [("[prune]\nkeep_lats = 5\n", "keep_lats"), ("[prune]\nmin_age = '10s'\n", "min_age"), ("[prune\n", "TOML")],
)
def test_a_wrong_policy_stops_every_command(deck: Deck, text: str, says: str) -> None:
    deck.init()
    (deck.control / "ckptdeck.toml").write_text(text)
    for command in ("status", "mirror", "resume", "config"):
        ran = deck.run(command, deck.primary)
        assert ran.code == 2, command
        assert f"{deck.control}/ckptdeck.toml" in ran.err
        assert says in ran.err


def test_init_in_place_of_a_dead_primary_sends_to_restore(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    new = deck.base / "new"
    new.mkdir()
    shutil.rmtree(deck.primary)
    shutil.rmtree(deck.control)
    steps = deck.run("init", new, deck.mirror, "--replace-primary", "--json").document["next"]
    assert [step["command"] for step in steps] == [
        f"ckptdeck restore {new} --newest",
        f"ckptdeck resume {new}",
    ]
    assert deck.run(*steps[0]["command"].split()[1:], "--yes").code == 0
    assert (new / "step_0810.pt").read_bytes() == data_of("step_0810.pt")


def test_what_only_a_lost_receipt_proved_is_verified_before_it_comes_back(deck: Deck) -> None:
    deck.mirrored("step_0800.pt")
    deck.forget_receipts()
    new = deck.base / "new"
    new.mkdir()
    shutil.rmtree(deck.primary)
    shutil.rmtree(deck.control)
    steps = deck.run("init", new, deck.mirror, "--replace-primary", "--json").document["next"]
    for step in steps[:2]:
        assert deck.run(*step["command"].split()[1:], *(["--yes"] if "restore" in step["command"] else [])).code == 0
    assert (new / "step_0800.pt").read_bytes() == data_of("step_0800.pt")
