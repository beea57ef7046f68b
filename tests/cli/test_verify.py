"""Hashing: what is read in which order, what is found, and what it is worth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.cli.deck import Deck, cut, data_of, flip


def test_newest_first_primary_before_mirror(deck: Deck) -> None:
    deck.mirrored("step_9.pt", "step_10.pt")
    ran = deck.run("verify", deck.primary)
    assert ran.code == 0
    lines = [line for line in ran.out.splitlines() if line.startswith("+ ")]
    assert [line.split()[1:4:2] for line in lines] == [
        ["step_10.pt", "primary"],
        ["step_10.pt", "mirror"],
        ["step_9.pt", "primary"],
        ["step_9.pt", "mirror"],
    ]
    assert "verify: 4 verified; 80.0 kB read" in ran.out


def test_damage_is_a_finding(deck: Deck) -> None:
    deck.mirrored("step_1.pt", "step_2.pt")
    flip(deck.mirror / "step_1.pt")
    cut(deck.mirror / "step_2.pt", 5)
    ran = deck.run("verify", deck.primary, "--json")
    assert ran.code == 1
    assert ran.document["schema"] == "ckptdeck.verify/1"
    states = {(one["name"], one["side"]): one["state"] for one in ran.document["results"]}
    assert states == {
        ("step_1.pt", "primary"): "verified",
        ("step_1.pt", "mirror"): "corrupt",
        ("step_2.pt", "primary"): "verified",
        ("step_2.pt", "mirror"): "truncated",
    }


def test_what_the_trainer_wrote_again_is_changed(deck: Deck) -> None:
    deck.recorded("step_1.pt")
    deck.put("step_1.pt", data_of("other"))
    assert deck.run("verify", deck.primary, "--json").document["results"][0]["state"] == "changed"


def test_older_than_leaves_fresh_receipts_alone(deck: Deck) -> None:
    deck.recorded("step_1.pt", "step_2.pt")
    (deck.control / "receipts" / "step_1.pt.json").unlink()
    document = deck.run("verify", deck.primary, "--older-than", "1h", "--json").document
    assert [one["name"] for one in document["results"]] == ["step_1.pt"]
    assert "nothing to hash" in deck.run("verify", deck.primary, "--older-than", "1h").out


@pytest.mark.parametrize("words", [("--older-than", "soon"), ("--rate", "fast"), ("--rate", "0B/s")])
def test_what_is_no_age_or_rate_is_a_usage_error(deck: Deck, words: tuple[str, ...]) -> None:
    deck.recorded("step_1.pt")
    assert deck.run("verify", deck.primary, *words).code == 2


def test_nothing_is_recorded_that_has_no_record(deck: Deck) -> None:
    deck.recorded("step_1.pt")
    deck.put("step_2.pt", data_of("b"))
    ran = deck.run("verify", deck.primary)
    assert (ran.code, "step_2.pt" in ran.out) == (0, False)
    assert "1 checkpoint without a record" in ran.err
    named = deck.run("verify", deck.primary, "step_2.pt", "--json").document
    assert [(one["state"], one["bytes_read"]) for one in named["results"]] == [("unrecorded", 0)]
    assert not (deck.control / "manifest" / "step_2.pt.json").exists()


def test_a_side_that_is_away_is_7_and_the_other_is_hashed(deck: Deck) -> None:
    deck.mirrored("step_1.pt")
    deck.mirror.rename(deck.base / "unplugged")
    ran = deck.run("verify", deck.primary, "--json")
    assert ran.code == 7
    assert [one["side"] for one in ran.document["results"]] == ["primary"]


def test_progress_with_json_is_json_lines_on_stderr(deck: Deck) -> None:
    deck.recorded("step_1.pt")
    ran = deck.run("verify", deck.primary, "--json")
    first = json.loads(ran.err.splitlines()[0])
    assert (first["schema"], first["phase"], first["name"]) == ("ckptdeck.progress/1", "hash", "step_1.pt")
    assert deck.run("verify", deck.primary, "--json", "--quiet").err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_it_at_a_safe_point(deck: Deck, number: signal.Signals) -> None:
    deck.init()
    deck.put("step_1.pt", data_of("a", 40_000_000))
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "ckptdeck", "verify", str(deck.primary), "--rate", "1MB/s", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()  # the first progress line: it hashes
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=30)  # to the end it would take longer
    assert process.returncode == 130
    assert json.loads(out)["code"] == "cancelled"
    assert "Traceback" not in err


def test_a_damaged_record_is_a_finding_and_no_missing_record(deck: Deck) -> None:
    deck.mirrored("step_1.pt", "step_2.pt")
    (deck.control / "manifest" / "step_1.pt.json").write_text("{")
    ran = deck.run("verify", deck.primary)
    assert ran.code == 1
    assert "damaged record" in ran.err
    assert "without a record" not in ran.err


@pytest.mark.parametrize("command", ["verify", "mirror"])
@pytest.mark.parametrize("damage", ["two control directories", "damaged set.json", "nested set.json"])
def test_a_set_that_cannot_be_told_is_a_suspect_volume(deck: Deck, command: str, damage: str) -> None:
    deck.mirrored("step_1.pt")
    document = deck.control / "set.json"
    if damage == "two control directories":
        (deck.primary / ".ckptdeck").mkdir()
        (deck.primary / ".ckptdeck" / "set.json").write_bytes(document.read_bytes())
    else:
        document.write_text("{" if damage == "damaged set.json" else "[" * 100_000)
    ran = deck.run(command, deck.primary)
    assert ran.code == 7
    assert "bug" not in ran.err
