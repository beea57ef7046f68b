"""The path and nothing else; an exit code of 0 exactly when there is a path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.cli.deck import Deck, cut, data_of, flip


def test_the_path_of_the_newest_whole_checkpoint_and_nothing_else(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out, ran.err) == (0, f"{deck.primary}/step_0810.pt\n", "")


def test_a_recorded_one_without_receipt_is_hashed_now(deck: Deck) -> None:
    deck.recorded("step_0800.pt", "step_0810.pt")
    deck.forget_receipts(deck.control)
    assert deck.run("resume", deck.primary).out == f"{deck.primary}/step_0810.pt\n"
    assert os.listdir(deck.control / "receipts") == ["step_0810.pt.json"], "what was hashed is kept, the older not read"


def test_a_damaged_newest_is_passed_over_with_a_warning(deck: Deck) -> None:
    deck.recorded("step_0800.pt", "step_0810.pt")
    deck.forget_receipts(deck.control)
    flip(deck.primary / "step_0810.pt")
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (0, f"{deck.primary}/step_0800.pt\n")
    assert ran.err.startswith("warning: step_0810.pt on the primary is corrupt")
    assert deck.run("resume", deck.primary, "--json").document["warnings"]


def test_the_mirror_s_copy_of_the_newest_step_comes_before_an_older_one(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    cut(deck.primary / "step_0810.pt", 100)
    assert deck.run("resume", deck.primary).out == f"{deck.mirror}/step_0810.pt\n"
    assert deck.run("resume", deck.primary, "--primary-only").out == f"{deck.primary}/step_0800.pt\n"


def test_a_swapped_mirror_keeps_no_run_from_going_on(deck: Deck) -> None:
    """Only what the primary has is answered; given by hand, the two are no pair and nothing is."""
    deck.mirrored("step_0800.pt")
    other = Deck(deck.base / "other", deck.capsys)
    other.primary.mkdir(parents=True)
    other.mirror.mkdir()
    other.mirrored("step_9999.pt")
    deck.mirror.rename(deck.base / "away")
    other.mirror.rename(deck.mirror)
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (0, f"{deck.primary}/step_0800.pt\n"), ran.err
    assert "another disk is mounted there" in ran.err
    assert deck.run("resume", deck.primary, deck.mirror).code == 7


def test_restore_brings_it_to_the_primary_first(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    (deck.primary / "step_0810.pt").unlink()
    ran = deck.run("resume", deck.primary, "--restore", "--json")
    assert ran.code == 0
    assert ran.document["resume"]["path"] == f"{deck.primary}/step_0810.pt"
    assert ran.document["resume"]["side"] == "primary"
    assert (deck.primary / "step_0810.pt").read_bytes() == data_of("step_0810.pt")


def test_restore_replaces_a_bad_copy(deck: Deck) -> None:
    deck.mirrored("step_0800.pt", "step_0810.pt")
    cut(deck.primary / "step_0810.pt", 100)
    ran = deck.run("resume", deck.primary, "--restore")
    assert (ran.code, ran.out) == (0, f"{deck.primary}/step_0810.pt\n"), ran.err
    assert (deck.primary / "step_0810.pt").read_bytes() == data_of("step_0810.pt")


def test_no_record_is_never_taken(deck: Deck) -> None:
    deck.put("step_0810.pt", data_of("a"))
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (8, "")
    assert "best candidate is step_0810.pt" in ran.err
    assert f"`ckptdeck adopt --primary {deck.primary} step_0810.pt`" in ran.err


def test_nothing_saved_is_9_and_says_so_in_json_too(deck: Deck) -> None:
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (9, "")
    assert deck.run("resume", deck.primary, "--json").document["code"] == "fresh-run"


def test_a_file_of_nobody_s_family_is_no_checkpoint(deck: Deck) -> None:
    deck.put("notes.txt", b"hello")
    assert deck.run("resume", deck.primary).code == 9


def test_the_hash_of_every_copy_failing_is_8(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    deck.forget_receipts()
    flip(deck.primary / "step_0810.pt")
    flip(deck.mirror / "step_0810.pt")
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (8, "")


def test_a_mirror_that_is_away_is_a_warning(deck: Deck) -> None:
    deck.mirrored("step_0810.pt")
    deck.mirror.rename(deck.base / "unplugged")
    ran = deck.run("resume", deck.primary)
    assert (ran.code, ran.out) == (0, f"{deck.primary}/step_0810.pt\n")
    assert "warning: the mirror" in ran.err


def test_an_empty_primary_beside_an_absent_mirror_is_no_fresh_run(deck: Deck) -> None:
    deck.init()
    deck.mirror.rename(deck.base / "unplugged")
    assert deck.run("resume", deck.primary).code == 7


def test_a_primary_that_is_away_with_a_newer_record_is_7(deck: Deck) -> None:
    deck.mirrored("step_0800.pt")
    deck.put("step_0810.pt", data_of("b"))
    assert deck.run("adopt", deck.primary, "--yes").code == 0
    deck.primary.rename(deck.base / "unplugged")
    ran = deck.run("resume", deck.primary, deck.mirror)
    assert (ran.code, ran.out) == (7, "")
    assert "step_0810.pt" in ran.err


def test_a_primary_that_is_away_but_recorded_nothing_newer_lets_the_mirror_answer(deck: Deck) -> None:
    deck.mirrored("step_0800.pt")
    deck.primary.rename(deck.base / "unplugged")
    ran = deck.run("resume", deck.primary, deck.mirror)
    assert (ran.code, ran.out) == (0, f"{deck.mirror}/step_0800.pt\n")
    assert "warning: the primary" in ran.err


def test_a_primary_of_which_nothing_is_known_is_7(deck: Deck) -> None:
    deck.mirrored("step_0800.pt")
    deck.primary.rename(deck.base / "unplugged")
    shutil.rmtree(deck.control)
    assert deck.run("resume", deck.primary, deck.mirror).code == 7


def test_the_exact_bytes_of_a_name_reach_a_script(deck: Deck) -> None:
    deck.recorded(os.fsdecode(b"bad\xff_step_5.pt"))
    command = [sys.executable, "-m", "ckptdeck", "resume", str(deck.primary)]
    printed = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout
    assert printed == os.fsencode(deck.primary) + b"/bad\xff_step_5.pt\n"


def test_restore_and_primary_only_contradict(deck: Deck) -> None:
    assert deck.run("resume", deck.primary, "--restore", "--primary-only").code == 2
