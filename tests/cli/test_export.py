"""The manifest as xxhsum reads it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import xxhash

from tests.cli.deck import Deck, data_of, flip


def test_lines_are_those_of_xxhsum(deck: Deck) -> None:
    deck.recorded("step_2.pt", "step_10.pt", "with blank_step_3.pt")
    ran = deck.run("export", deck.primary)
    names = ["step_10.pt", "with blank_step_3.pt", "step_2.pt"]
    assert ran.out == "".join(f"{xxhash.xxh3_128(data_of(name)).hexdigest()}  {name}\n" for name in names)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.skipif(shutil.which("xxhsum") is None, reason="needs xxhsum")
def test_xxhsum_agrees_and_finds_damage(deck: Deck) -> None:
    deck.mirrored("step_2.pt", "back\\slash_step_3.pt", " lead_step_4.pt")
    for side, root in (("primary", deck.primary), ("mirror", deck.mirror)):
        sums = deck.base / f"{side}.sums"
        sums.write_text(deck.run("export", deck.primary, "--side", side).out)
        check = ["xxhsum", "--check", "--strict", str(sums)]
        assert subprocess.run(check, cwd=root, capture_output=True, check=False).returncode == 0
        flip(root / "step_2.pt")
        assert subprocess.run(check, cwd=root, capture_output=True, check=False).returncode != 0


def test_a_name_with_a_newline_is_left_out_and_named(deck: Deck) -> None:
    deck.recorded("step_1.pt", "two\nlines_step_2.pt")
    ran = deck.run("export", deck.primary)
    assert ran.code == 3
    assert ran.out.splitlines() == [f"{xxhash.xxh3_128(data_of('step_1.pt')).hexdigest()}  step_1.pt"]
    assert "two\\nlines_step_2.pt" in ran.err
    assert deck.run("export", deck.primary, "--json").document["left_out"] == [{"path": "two\nlines_step_2.pt"}]


def test_what_was_removed_on_purpose_is_not_asked_for(deck: Deck) -> None:
    deck.recorded("step_1.pt", "step_2.pt")
    (deck.primary / "step_1.pt").unlink()
    assert [line.split("  ")[1] for line in deck.run("export", deck.primary).out.splitlines()] == ["step_2.pt"]
    (deck.primary / "step_2.pt").unlink()
    assert "step_2.pt" in deck.run("export", deck.primary).out, "but what is missing is"


def test_without_a_manifest_it_is_refused(deck: Deck) -> None:
    assert deck.run("export", deck.primary).code == 4
    assert deck.run("export", deck.primary, "--side", "mirror").code == 2
